"""Stores: what runs put there, and `results`, `show` and `merge-results`."""

import ctypes
import os
import shutil
import subprocess
import unittest

from program import PROGRAM, Case

TASKS = """family = "small"
model = "none"
[relu2]
op = "relu2"
axes = { K = 1, N = 512 }
verify = { T = [1, 3] }
bench = { T = [1] }
[wide]
op = "relu2"
axes = { K = 2, N = 512 }
verify = { T = [1] }
bench = { T = [1] }
"""
FIELDS = ("run", "task", "digest", "outcome", "device", "median_ns", "comparisons", "when")


class Stores(Case):
    def setUp(self):
        super().setUp()
        self.write("small.toml", TASKS)

    def words(self, out, *words, task="relu2", count=2):
        return ["run", "--task", f"small.toml#{task}", "--device", "vgpu", "--preset", "offline", "--seed", 5,
                "--out-dir", out, "--num-candidates", count, *words]

    def sql(self, path, statement):
        """Runs a statement on a store with DuckDB itself."""
        found = [tool["path"] for tool in self.json("inspect-env") if tool["name"] == "DuckDB" and tool["state"] == "ok"]
        duckdb = ctypes.CDLL(found[0])
        database, connection = ctypes.c_void_p(), ctypes.c_void_p()
        self.assertEqual(duckdb.duckdb_open(os.fsencode(path), ctypes.byref(database)), 0)
        self.assertEqual(duckdb.duckdb_connect(database, ctypes.byref(connection)), 0)
        self.assertEqual(duckdb.duckdb_query(connection, statement.encode(), None), 0)
        duckdb.duckdb_disconnect(ctypes.byref(connection))
        duckdb.duckdb_close(ctypes.byref(database))

    def test_two_runs_at_a_time_lose_nothing(self):
        runs = [self.start(*self.words(out, "--json", task=task)) for out, task in (("a", "relu2"), ("b", "wide"))]
        for run in runs:
            out, err = run.communicate(timeout=120)
            self.assertEqual(run.returncode, 0, err)
        rows = self.json("results")
        self.assertEqual({row["task"] for row in rows}, {"small.toml#relu2", "small.toml#wide"})
        self.assertEqual(len({row["digest"] for row in rows if row["task"] == "small.toml#relu2"}), 2)

    def test_results_are_correct_ones_best_first(self):
        best = self.json(*self.words("out", count=4))["best"]
        rows = self.json("results", "--task", "small.toml#relu2")
        self.assertEqual(rows[0]["digest"], best["digest"])
        for row in rows:
            self.assertEqual([key for key in FIELDS if key not in row], [])
            self.assertEqual((row["outcome"], row["median_ns"]), ("correct", None))
            self.assertRegex(row["when"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(self.json("results", "--task", "small.toml#wide"), [])
        self.assertIn(best["digest"][:12], self.run_program("results").stdout)

    def test_show_gives_one_candidate_whole(self):
        best = self.json(*self.words("out"))["best"]
        shown = self.json("show", best["digest"][:10])
        self.assertEqual((shown["digest"], shown["outcome"], shown["tunables"]), (best["digest"], "correct", best["tunables"]))
        self.assertIn("relu2", shown["source"])
        self.assertIn("global_load", {fact["kind"] for fact in shown["facts"]["ptx"]})
        self.assertIn(shown["source"], self.run_program("show", best["digest"]).stdout)
        self.refused("show", "0123456789abcdef", code=1, saying=["0123456789abcdef"])

    def test_a_missing_store_is_an_empty_one(self):
        self.assertEqual(self.json("results"), [])
        self.assertEqual(self.json("results", "--db", "none.duckdb"), [])
        self.assertEqual({file.name for file in self.folder.iterdir()}, {"small.toml"})

    def test_an_unknown_task_is_wrong_usage(self):
        self.refused("results", "--task", "nano30b_rmsnrm", code=2, saying=["nano30b_rmsnrm", "did you mean nano30b_rmsnorm?"])
        self.assertEqual(self.json("results", "--task", "cuda_rlm.tasks.nano30b_rmsnorm"), [])

    def test_the_store_is_chosen_by_option_then_variable(self):
        self.run_program(*self.words("a", "--db", "one.duckdb"), env={"RECUDA_DB": "two.duckdb"})
        self.run_program(*self.words("b"), env={"RECUDA_DB": "two.duckdb"})
        self.assertEqual(sorted(file.name for file in self.folder.glob("*.duckdb")), ["one.duckdb", "two.duckdb"])
        self.assertEqual(len(self.json("results", env={"RECUDA_DB": "two.duckdb"})), len(self.json("results", "--db", "one.duckdb")))

    def test_merging_adds_each_row_once(self):
        self.run_program(*self.words("runs/a", "--db", "main.duckdb"))
        self.run_program(*self.words("runs/b", "--db", "main.duckdb", task="wide"))
        os.symlink("a", self.folder / "runs/again")
        dry = self.json("merge-results", "runs", "--into", "all.duckdb", "--dry-run")
        self.assertFalse((self.folder / "all.duckdb").exists())
        merged = self.json("merge-results", "runs", "--into", "all.duckdb")
        self.assertEqual((len(dry["found"]), len(merged["found"]), len(merged["merged"]), merged["skipped"]), (2, 2, 2, []))
        self.assertEqual(dry["rows"], merged["rows"])
        self.assertGreaterEqual(merged["rows"]["added"], 4)
        self.assertEqual(merged["rows"]["present"], 0)
        self.assertEqual(self.json("merge-results", "runs", "--into", "all.duckdb")["rows"], {"added": 0, "present": merged["rows"]["added"]})
        self.assertEqual(self.json("results", "--db", "all.duckdb"), self.json("results", "--db", "main.duckdb"))

    def test_the_target_is_no_source(self):
        self.run_program(*self.words("out"))
        merged = self.json("merge-results")
        self.assertEqual([path.endswith("out/results.duckdb") for path in merged["found"]], [True])
        self.assertEqual(merged["rows"]["added"], 0)
        self.refused("merge-results", "absent", code=1, saying=["absent"])

    def test_what_is_no_store_is_skipped_and_untouched(self):
        self.run_program(*self.words("out", count=1))
        store = (self.folder / "out/results.duckdb").read_bytes()
        (self.folder / "bad").mkdir()
        self.write("bad/text.duckdb", "a text of some length, " * 1000)
        self.write("bad/empty.duckdb", "")
        (self.folder / "bad/torn.duckdb").write_bytes(store[:len(store) // 2])
        self.sql(self.folder / "bad/foreign.duckdb", "CREATE TABLE other (a INTEGER)")
        shutil.copy(self.folder / "out/results.duckdb", self.folder / "bad/newer.duckdb")
        self.sql(self.folder / "bad/newer.duckdb", "UPDATE meta SET value = '99' WHERE key = 'schema'")
        before = {file.name: file.read_bytes() for file in (self.folder / "bad").iterdir()}
        self.assertEqual(len(before), 5)
        merged = self.json("merge-results", "bad", "out", "--into", "all.duckdb")
        self.assertEqual({os.path.basename(one["path"]) for one in merged["skipped"]}, set(before))
        self.assertTrue(all(one["why"] for one in merged["skipped"]))
        self.assertEqual(len(merged["merged"]), 1)
        for name in before:
            self.refused("results", "--db", f"bad/{name}", code=1, saying=[name])
            self.refused("merge-results", "out", "--into", f"bad/{name}", code=1, saying=[name])
            self.refused(*self.words("new", "--db", f"bad/{name}"), code=1, saying=[name])
        self.assertFalse((self.folder / "new").exists())
        self.assertEqual({file.name: file.read_bytes() for file in (self.folder / "bad").iterdir()}, before)

    def test_damage_anywhere_in_a_store_gives_one_line(self):
        self.run_program(*self.words("out", count=1, task="relu2"), env={"RECUDA_DB": "good.duckdb"})
        whole = (self.folder / "good.duckdb").read_bytes()
        digest = self.json("results", "--db", "good.duckdb")[0]["digest"]
        store = self.folder / "bad.duckdb"
        refused = 0
        for at in range(0, len(whole), 4096):
            damaged = whole[:at] + b"\xff" * 64 + whole[at + 64:]
            store.write_bytes(damaged)
            reading = (["results", "--db", "bad.duckdb"], ["show", digest, "--db", "bad.duckdb"],
                       ["merge-results", "bad.duckdb", "--into", "all.duckdb"])[at // 4096 % 3]
            refused += self.run_free(*reading).returncode
            self.assertEqual(store.read_bytes(), damaged, f"{reading} at {at}")
            if self.run_free("merge-results", "good.duckdb", "--into", "bad.duckdb").returncode == 1:
                self.assertEqual(store.read_bytes(), damaged, f"merging into it, damaged at {at}")
        self.assertGreater(refused, 0)

    def run_free(self, *words):
        """Runs the program, which must succeed or say in one line why it does not."""
        done = subprocess.run([str(PROGRAM), *map(str, words)], cwd=self.folder, env=self.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertIn(done.returncode, (0, 1), f"{words}: {done.stderr[-600:]}")
        if done.returncode == 1:
            self.assertRegex(done.stderr, r"\Acuda-rlm: error: [^\n]*bad\.duckdb[^\n]*\n\Z")
            self.assertEqual(done.stdout, "")
        return done

    def test_a_run_whose_store_cannot_be_made_is_refused_at_the_start(self):
        self.write("file", "")
        for db in ("file/new.duckdb", "/proc/new.duckdb"):
            self.refused(*self.words("out", "--db", db), code=1, saying=[db, "--db"])
        self.assertFalse((self.folder / "out").exists())


if __name__ == "__main__":
    unittest.main()

"""`index`: kernels, candidates of earlier runs and notes, made searchable."""

import shutil
import subprocess
import time
import unittest

from program import PROGRAM, ROOT, Case

TASKS = """family = "small"
model = "none"
[relu2]
op = "relu2"
axes = { K = 1, N = 64 }
verify = { T = [1] }
bench = { T = [1] }
"""


class Index(Case):
    def query(self, *words, **options):
        return self.json("index", "query", *words, **options)

    def test_finds_kernels_by_words_and_by_task(self):
        made = self.json("index", "build")
        self.assertEqual(made["documents"], made["added"])
        self.assertEqual(made["skipped"], [])
        self.assertTrue((self.folder / "artifacts/kernel_index").is_dir())
        found = self.query("vectorised rmsnorm", "-k", 3)
        self.assertEqual(len(found), 3)
        self.assertTrue(any(one["document"].startswith("seed:ops/rmsnorm/") for one in found), found)
        self.assertEqual(set(found[0]), {"document", "kind", "score", "excerpt"})
        self.assertEqual([one["score"] for one in found], sorted((one["score"] for one in found), reverse=True))
        found = self.query("", "--task", "nano30b_router_topk", "-k", 3)
        self.assertTrue(all("topk_router" in one["document"] for one in found), found)

    def test_a_diagnostic_finds_its_note(self):
        self.json("index", "build")
        for text, note in (("CUDA error: misaligned address", "misaligned-address"),
                           ("rmsnorm.cu:12: out_of_bounds: read of 16 bytes beyond buffer x", "out-of-bounds"),
                           ("an illegal memory access was encountered", "out-of-bounds"),
                           ("k.cu:9: shared_race: written by thread, read by another, no barrier", "shared-race"),
                           ("k.cu:9: global_race: blocks write", "global-race"),
                           ("uninitialised: read of memory that nobody wrote", "uninitialised-read"),
                           ("divergent_barrier: lanes of one warp wait at different barriers", "divergent-barrier"),
                           ("deadlock: every thread waits", "divergent-barrier"),
                           ("absent_lane: a shuffle names a lane that does not come", "absent-lane"),
                           ("runaway: a loop never ends", "runaway-loop"),
                           ("illegal_instruction: trap", "illegal-instruction"),
                           ("launch_refused: too many resources requested for launch", "launch-refused"),
                           ('error: identifier "FLT_MAX" is undefined', "build-failed-nvrtc"),
                           ("ptxas error: entry function uses too much shared data", "build-failed-ptxas"),
                           ("ptxas info: 128 bytes spill stores, 96 bytes spill loads", "too-many-resources"),
                           ("outcome impossible: faster than the floor", "impossible-speed"),
                           ("outcome wrong: max error above the bound, rounding to bf16", "wrong-by-rounding"),
                           ("outcome refused: mutable device global", "refused-code")):
            found = [one["document"] for one in self.query(text, "--kind", "note", "-k", 3)]
            self.assertIn(f"note:{note}", found, text)

    def test_refresh_takes_in_a_run_and_drops_a_removed_one(self):
        self.write("small.toml", TASKS)
        before = self.json("index", "build")
        run = ["run", "--task", "small.toml#relu2", "--device", "vgpu", "--preset", "offline", "--seed", 5,
               "--out-dir", "artifacts/runs/one", "--num-candidates", 2, "--db", "main.duckdb"]
        digest = self.json(*run)["best"]["digest"]
        after = self.json("index", "refresh")
        self.assertEqual(after["added"], 2)
        self.assertEqual(after["sources_unchanged"], before["documents"])
        self.assertEqual(self.json("index", "refresh")["sources_read"], 0)
        found = self.query(digest)
        self.assertEqual([one["kind"] for one in found], ["candidate"])
        shutil.rmtree(self.folder / "artifacts/runs")
        self.assertEqual(self.json("index", "refresh", "--db", "main.duckdb")["removed"], 0)  # the store has them
        self.assertEqual(self.json("index", "refresh")["removed"], 2)

    def test_a_missing_index_a_foreign_and_a_damaged_one(self):
        self.refused("index", "query", "x", code=1, saying=("no kernel index", "index build"))
        index = self.folder / "artifacts/kernel_index"
        index.mkdir(parents=True)
        self.write("artifacts/kernel_index/letters.txt", "mine")
        self.refused("index", "build", code=1, saying=("letters.txt",))
        self.refused("index", "query", "x", code=1, saying=("letters.txt",))
        (index / "letters.txt").unlink()
        self.json("index", "build")
        for file in index.glob("g-*/*.glass"):
            file.write_bytes(b"")
        self.refused("index", "query", "x", code=1, saying=("damaged", "index build"))
        self.refused("index", "refresh", code=1, saying=("damaged", "index build"))
        self.json("index", "build")
        self.query("rmsnorm")

    def test_wrong_usage(self):
        for words in (["index"], ["index", "biuld"], ["index", "query"], ["index", "build", "text"],
                      ["index", "query", "x", "-k", 0], ["index", "query", "x", "-k", "many"]):
            self.refused(*words, code=2)
        self.refused("index", "query", "x", "--task", "nano30b_rmsnrom", code=2, saying=("nano30b_rmsnorm",))
        self.assertIn("index query", self.run_program("index", "--help").stdout)

    def test_a_long_diagnostic_comes_by_standard_input(self):
        self.json("index", "build")
        text = "misaligned address\n" + "".join(f"line {i} *( AND:: \n" for i in range(100_000))
        done = subprocess.run([str(PROGRAM), "index", "query", "-", "--kind", "note"], input=text, cwd=self.folder,
                              env=self.environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("note:misaligned-address", done.stdout)

    def test_a_killed_build_leaves_the_index_as_it_was(self):
        self.json("index", "build")
        for delay in (0.005, 0.02, 0.05, 0.1):
            for action in ("build", "refresh"):
                process = self.start("index", action)
                time.sleep(delay)
                process.kill()
                process.wait()
                self.assertTrue(self.query("rmsnorm"))
        self.assertEqual(self.json("index", "refresh")["added"], 0)
        self.assertEqual(len(list((self.folder / "artifacts/kernel_index").glob("g-*"))), 1)

    def test_without_xapian_it_says_what_to_install(self):
        bare = self.folder / "bare"
        bare.mkdir()
        shutil.copy(PROGRAM, bare / "cuda-rlm")
        done = subprocess.run([str(bare / "cuda-rlm"), "index", "build"], cwd=self.folder, capture_output=True, text=True,
                              env=self.environment(RECUDA_HOME=str(ROOT)), timeout=60)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("Xapian", done.stderr)
        self.assertEqual(len([line for line in done.stderr.splitlines() if "error" in line]), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()

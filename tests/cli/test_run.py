"""`run`: what it leaves behind, how it ends, how it goes on."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from program import Case

# Small enough that a run takes no longer than its compilations.
TASKS = """family = "small"
model = "none"
[relu2]
op = "relu2"
axes = { K = 1, N = 512 }
verify = { T = [1, 3] }
bench = { T = [1] }
[rmsnorm]
op = "rmsnorm"
axes = { H = 256 }
scalars = { eps = 1e-6 }
verify = { T = [1, 3] }
bench = { T = [1] }
"""
FACTS = ("task", "device", "out_dir", "preset", "candidates", "outcomes", "best", "stopped_by")


class Run(Case):
    def setUp(self):
        super().setUp()
        self.write("small.toml", TASKS)

    def words(self, out, *words, task="small.toml#relu2"):
        return ["run", "--task", task, "--device", "vgpu", "--preset", "offline", "--seed", 5, "--out-dir", out, *words]

    def search(self, out, *words, **options):
        return self.json(*self.words(out, *words), **options)

    def rows(self, out):
        return [json.loads(line) for line in (self.folder / out / "evaluations.jsonl").read_text().splitlines()]

    def digests(self, out):
        return {row["digest"] for row in self.rows(out)}

    def empty_cache(self):
        """With one, every candidate takes its compilation: a run cannot be over before it is stopped."""
        return {"RECUDA_CACHE": str(self.folder / "cache")}

    def begun(self, out, rows, *words):
        """A run in the background that has recorded so many evaluations."""
        process = self.start(*self.words(out, *words), "--json", env=self.empty_cache())
        file = self.folder / out / "evaluations.jsonl"
        deadline = time.monotonic() + 60
        while not (file.exists() and file.read_bytes().count(b"\n") >= rows):
            self.assertIsNone(process.poll(), "the run ended too early")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return process

    def test_the_folder_holds_all_of_it(self):
        result = self.search("out", "--num-candidates", 3, "--no-vgpu-filter")
        self.assertEqual([key for key in FACTS if key not in result], [])
        self.assertEqual((result["task"], result["preset"], result["out_dir"], result["candidates"], result["stopped_by"]),
                         ("small.toml#relu2", "offline", "out", 3, "candidates"))
        self.assertEqual((result["device"]["kind"], result["device"]["target"]), ("vgpu", "sm_90"))
        self.assertEqual(sum(result["outcomes"].values()), 3)
        out = self.folder / "out"
        for name in ("run.json", "evaluations.jsonl", "candidates", "prompts", "report.md", "results.duckdb"):
            self.assertTrue((out / name).exists(), name)
        run = json.loads((out / "run.json").read_text())
        self.assertEqual(run["result"]["best"], result["best"])
        self.assertEqual(run["starts"][-1]["environment"]["filter"], "none")
        for row in self.rows("out"):
            self.assertEqual(row["task"], "small.toml#relu2")
            self.assertTrue((out / row["file"]).is_file())
            self.assertIsNone(row["filter"])
            self.assertIn("global_load", {fact["kind"] for fact in row["facts"]["ptx"]})
        self.assertEqual({file.stem for file in (out / "candidates").iterdir()}, self.digests("out"))
        self.assertTrue((self.folder / "results.duckdb").exists())

    def test_the_best_file_is_the_winner(self):
        best = self.search("out", "--num-candidates", 5)["best"]
        self.assertEqual((best["median_ns"], best["origin"]), (None, "seed"))
        seen = self.json("check", best["file"], "--task", "small.toml#relu2", "--device", "vgpu")
        self.assertEqual((seen["outcome"], seen["digest"], seen["tunables"]), ("correct", best["digest"], best["tunables"]))
        self.assertIn(best["digest"], (self.folder / "out/report.md").read_text())

    def test_one_seed_gives_one_run(self):
        first, second = (self.search(out, "--num-candidates", 5) for out in ("a", "b"))
        self.assertEqual([(row["digest"], row["outcome"], row["estimate"]) for row in self.rows("a")],
                         [(row["digest"], row["outcome"], row["estimate"]) for row in self.rows("b")])
        self.assertEqual(first["best"]["digest"], second["best"]["digest"])

    def test_a_killed_run_goes_on(self):
        process = self.begun("out", 2, "--num-candidates", 200)
        process.kill()
        process.wait()
        file = self.folder / "out/evaluations.jsonl"
        kept = file.read_text().splitlines()
        with file.open("a") as torn:
            torn.write('{"digest": "abc')
        total = len(self.complete_digests(kept)) + 2
        result = self.search("out", "--num-candidates", total, "--resume")
        self.assertEqual((result["candidates"], result["stopped_by"]), (total, "candidates"))
        self.assertEqual(file.read_text().splitlines()[:len(self.whole(kept))], self.whole(kept))
        self.assertEqual(len(self.digests("out")), total)

    @staticmethod
    def whole(lines):
        """The lines without a last one that the kill tore."""
        return lines if lines and lines[-1].endswith("}") else lines[:-1]

    def complete_digests(self, lines):
        return {json.loads(line)["digest"] for line in self.whole(lines)}

    def test_a_finished_run_goes_on_with_more(self):
        self.search("out", "--num-candidates", 2)
        before = self.digests("out")
        self.assertEqual(self.search("out", "--num-candidates", 2, "--resume")["candidates"], 2)
        self.assertEqual(self.digests("out"), before)
        self.assertEqual(self.search("out", "--num-candidates", 4, "--resume")["candidates"], 4)
        self.assertLess(before, self.digests("out"))

    def test_a_folder_with_another_run_is_left_alone(self):
        self.search("out", "--num-candidates", 1)
        before = {file: file.read_bytes() for file in (self.folder / "out").rglob("*") if file.is_file()}
        self.refused(*self.words("out", "--resume", task="small.toml#rmsnorm"), code=1, saying=["out", "relu2", "rmsnorm"])
        self.refused(*self.words("out"), code=1, saying=["out", "--resume"])
        self.assertEqual({file: file.read_bytes() for file in (self.folder / "out").rglob("*") if file.is_file()}, before)

    def test_the_time_limit_ends_a_run(self):
        begin = time.monotonic()
        result = self.search("out", "--num-candidates", 100000, "--time-limit", 1, env=self.empty_cache())
        self.assertEqual(result["stopped_by"], "time")
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(result["candidates"], len(self.digests("out")))

    def test_a_space_that_is_exhausted_ends_a_run(self):
        self.write("one.toml", TASKS.replace("N = 512", "N = 510"))  # no seed but the plain one takes rows of 510
        result = self.json(*self.words("out", "--num-candidates", 100000, task="one.toml#relu2"))
        self.assertEqual(result["stopped_by"], "converged")
        self.assertLess(result["candidates"], 100)
        self.assertNotEqual(result["exhausted"], "")

    def test_an_interrupt_keeps_what_was_found(self):
        process = self.begun("out", 1, "--num-candidates", 100000)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        result = json.loads(out)
        self.assertEqual((result["stopped_by"], result["candidates"]), ("interrupt", len(self.digests("out"))))
        self.assertGreaterEqual(len(self.json("results", "--all")), 1)
        self.assertTrue((self.folder / "out/report.md").exists())

    def test_without_a_folder_it_makes_one(self):
        words = [word for word in self.words("out", "--num-candidates", 1) if word not in ("--out-dir", "out")]
        out = self.json(*words)["out_dir"]
        self.assertTrue(out.startswith("artifacts/runs/"), out)
        self.assertTrue((self.folder / out / "run.json").exists())

    def test_people_get_a_table(self):
        text = self.run_program(*self.words("out", "--num-candidates", 2)).stdout
        self.assertIn("out/best.", text)
        self.assertIn("2 candidates", text)
        for digest in self.digests("out"):
            self.assertIn(digest[:12], text)

    def test_wrong_words(self):
        self.refused("run", code=2, saying=["--task"])
        self.refused("run", "--task", "nano30b_rmsnom", code=2, saying=["did you mean nano30b_rmsnorm?"])
        for option, value, word in [("--num-candidates", 0, "--num-candidates"), ("--num-candidates", "many", "--num-candidates"),
                                    ("--time-limit", -1, "--time-limit"),
                                    ("--repair-attempts", -1, "--repair-attempts"), ("--baselines", "plane", "plane"),
                                    ("--preset", "ofline", "did you mean offline?"),
                                    ("--target", "sm_75", "sm_75"), ("--device", "vpgu", "did you mean vgpu?")]:
            words = ["run", "--task", "small.toml#relu2", "--device", "vgpu", "--num-candidates", 1, "--out-dir", "out"]
            if option in words:
                del words[words.index(option):words.index(option) + 2]
            self.refused(*words, option, value, code=2, saying=[word])
        self.assertFalse((self.folder / "out").exists())

    def test_what_cannot_be_used_says_so(self):
        self.write("p.json", "")
        self.refused(*self.words("out", "--program", "explore"), code=2, saying=["explore"])
        self.refused(*self.words("out", "--policy", "p.json"), code=1, saying=["p.json"])
        for preset in self.json("presets"):
            if not preset["usable"] and preset["name"] != "local":  # a run outlives a server that does not answer
                words = self.words("out")
                words[words.index("offline")] = preset["name"]
                self.refused(*words, code=1, saying=[preset["name"]])
        self.assertFalse((self.folder / "out").exists())

    def test_folders_that_cannot_be_written(self):
        self.write("file", "text")
        self.refused(*self.words("file/out", "--num-candidates", 1), code=1, saying=["file"])
        self.assertEqual((self.folder / "file").read_text(), "text")
        if os.geteuid() != 0:
            (self.folder / "closed").mkdir(mode=0o555)
            self.refused(*self.words("closed/out", "--num-candidates", 1), code=1, saying=["closed"])

    def test_a_full_disk_leaves_no_half_line(self):
        small = tempfile.mkdtemp(dir=self.folder)
        if os.geteuid() != 0 or shutil.which("mount") is None or \
                subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], capture_output=True).returncode != 0:
            self.skipTest("a small file system cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", small], capture_output=True)
        self.refused(*self.words(f"{small}/out", "--num-candidates", 8), code=1, saying=[small])
        for line in (self.folder / small / "out/evaluations.jsonl").read_text().splitlines():
            json.loads(line)


if __name__ == "__main__":
    unittest.main()

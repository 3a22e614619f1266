"""The main job on a real GPU: the card's bandwidth is measured, every time is held against it, the winner is proven and replayed."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("CUDA_RLM", str(ROOT / "build/release/cuda-rlm"))


class RunOnGpu(unittest.TestCase):
    def test_shares_of_the_measured_bandwidth(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "run"
            subprocess.run([PROGRAM, "run", "--task", "nano30b_rmsnorm", "--device", "cuda", "--preset", "offline",
                            "--num-candidates", "2", "--baselines", "plain,reference", "--out-dir", out, "--db",
                            pathlib.Path(folder) / "main.duckdb"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
            environment = json.loads((out / "run.json").read_text())["starts"][0]["environment"]
            lines = [json.loads(line) for line in (out / "evaluations.jsonl").read_text().splitlines()]
            report = (out / "report.md").read_text()
            again = json.loads(subprocess.run([PROGRAM, "replay", lines[-1]["id"], "--out-dir", out, "--device", "cuda", "--json"],
                                              check=True, cwd=folder, capture_output=True, text=True).stdout)
            table = subprocess.run([sys.executable, ROOT / "tools/keep_evidence", "--table", out], check=True,
                                   capture_output=True, text=True).stdout
        peaks = environment["memory_peaks"]
        self.assertNotIn("problem", peaks)
        sheet = re.search(r"memory (\d+) GB/s by its data sheet", environment["device"])
        for kind in ("read", "copy"):
            self.assertEqual(len(peaks[kind]["samples_ns"]), 15)
            if sheet:
                self.assertGreater(peaks[kind]["bytes_per_ns"], 0.6 * int(sheet[1]), kind)
                self.assertLess(peaks[kind]["bytes_per_ns"], 1.02 * int(sheet[1]), kind)
        proven = lines[-1]
        self.assertEqual(proven["outcome"], "correct")
        self.assertEqual([proof["baseline"] for proof in proven["proofs"]], ["plain", "reference"])
        for proof in proven["proofs"]:
            for workload in proof["workloads"]:
                self.assertEqual({len(session["candidate_ns"]) for session in workload["sessions"]}, {10})
                self.assertEqual(len({session["seed"] for session in workload["sessions"]}), 48)
        for comparison in proven["comparisons"]:
            self.assertTrue(comparison["proof"])
            self.assertLessEqual(comparison["low"], comparison["ratio"])
        self.assertEqual(len(proven["baseline_measurements"]), 2 * len(proven["measurements"]))
        for measurement in proven["measurements"] + [one["measurement"] for one in proven["baseline_measurements"]]:
            self.assertAlmostEqual(measurement["share_of_peak"], measurement["bytes_per_ns"] / peaks["bytes_per_ns"])
        self.assertEqual(again["agrees"], True, again["why"])
        self.assertIn("![sessions of the proof](ratios.svg)", report)
        mma = peaks["mma"]
        if mma.get("instruction", "").startswith("wgmma"):  # 4096 operations a cycle and SM
            sms = int(re.search(r"(\d+) SMs", environment["device"])[1])
            self.assertGreater(mma["flops_per_ns"], 0.7 * 4.096 * sms * mma["clock_mhz"])
            self.assertLess(mma["flops_per_ns"], 1.02 * 4.096 * sms * mma["clock_mhz"])
        whole = [line for line in lines if line["stage"] == "whole" and line["outcome"] == "correct"]
        self.assertTrue(whole)
        for line in whole:
            for measurement in line["measurements"]:
                self.assertEqual(measurement["floor_of"], "memory")
                self.assertGreater(measurement["median_ns"], 0.95 * measurement["floor_ns"])
                self.assertEqual(len(measurement["warm_samples_ns"]), 10)
                self.assertLess(measurement["warm_ns"], 1.05 * measurement["median_ns"])
                self.assertIn("outputs of every run hashed after each sample and wiped", measurement["method"])
        self.assertIn("- measured memory bandwidth, read: ", report)
        self.assertIn("| best |", report)
        self.assertIn("Measured bandwidth of this ", table)

    def test_an_access_beyond_a_buffer_faults(self):
        text = (ROOT / "tests/fixtures/kernels/plain.cu").read_text()
        store = "        y[(long long)blockIdx.x * H + i] ="
        for name, there in (("after", "w[H + 4096]"), ("before", "w[-1]")):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "far.cu"
                self.assertIn(store, text)
                file.write_text(text.replace(store, f"        if (__bfloat162float({there}) != 77777.f)\n{store}"))
                told = subprocess.run([PROGRAM, "check", file, "--task", "nano30b_rmsnorm", "--axes", "T=1", "--device",
                                       "cuda", "--json"], capture_output=True, text=True, cwd=folder)
                self.assertEqual(told.returncode, 3, told.stderr)
                found = json.loads(told.stdout)
                self.assertEqual(found["outcome"], "faulted")
                if not found["reports"]:  # of the card itself, not of a virtual GPU that was asked first
                    self.assertIn("CUDA_ERROR_ILLEGAL_ADDRESS", found["log"])
                    self.assertIn("it failed twice", found["log"])

    def test_baselines_of_a_projection(self):
        """What is installed is compared with, and verified; what is not is said and recorded."""
        names = ["plain", "reference", "cublaslt", "triton", "torch-eager", "torch-eager-graph", "torch-compile", "torch-compile-graph"]
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "run"
            pathlib.Path(folder, "mine.toml").write_text(
                'family = "mine"\n[projection]\nop = "linear"\naxes = { N = 1024, K = 2048 }\nverify = { T = [1, 8] }\n')
            done = subprocess.run([PROGRAM, "run", "--task", "mine.toml#projection", "--device", "cuda", "--preset", "offline",
                                   "--num-candidates", "2", "--baselines", ",".join(names), "--out-dir", out, "--db", "main.duckdb"],
                                  check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            environment = json.loads((out / "run.json").read_text())["starts"][0]["environment"]
            lines = [json.loads(line) for line in (out / "evaluations.jsonl").read_text().splitlines()]
        self.assertEqual(sorted(one["name"] for one in environment["baselines"]), sorted(names))
        used = [one["name"] for one in environment["baselines"] if one["used"]]
        for one in environment["baselines"]:
            if not one["used"]:
                self.assertIn(f'no baseline {one["name"]}: {one["about"]}', done.stderr)
        proven = lines[-1]
        self.assertEqual(proven["outcome"], "correct")
        for name in used:
            compared = [one for one in proven["comparisons"] if one["baseline"] == name]
            self.assertEqual(len(compared), 3, name)
            for one in compared:
                self.assertTrue(one["proof"])
                self.assertIsInstance(one["ratio"], float, f'{name}: {one["evidence"]}')
                self.assertGreater(one["ratio"], 0.01)


def works_here():
    """Whether there is a GPU that the program can use."""
    told = subprocess.run([PROGRAM, "inspect-env", "--json"], capture_output=True, text=True).stdout
    return any(tool["name"].startswith("GPU cuda:") and tool["state"] == "ok" for tool in json.loads(told))


if __name__ == "__main__":
    if not works_here():
        print("skipped: no GPU works here")
        sys.exit(77)
    unittest.main()

"""tools/keep_evidence keeps a run without paths of its machine and prints its numbers as a table."""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT_DIR = "/scratch/of me/nano30b_rmsnorm"


def evaluation(samples):
    measurement = {"axes": {"T": 128, "H": 2688}, "samples_ns": samples, "median_ns": 2250.0, "low_ns": 2240.0,
                   "high_ns": 2260.0, "bytes": 1381632, "bytes_per_ns": 614.06, "share_of_peak": 0.141}
    comparison = {"baseline": "plain", "outcome": "FASTER", "ratio": 3.01, "low": 3.0, "high": 3.02}
    return {"digest": "ab" * 32, "measurements": [measurement],
            "comparisons": [{**comparison, "axes": {}}, {**comparison, "axes": measurement["axes"]}],
            "baseline_measurements": [{"baseline": "plain", "measurement": {**measurement, "median_ns": 6780.0}}],
            "log": "best.cu(3): note: see /usr/local/cuda/include/cuda_bf16.h, 3/4 of http://x/y/z"}


def write_run(folder, samples, measured=True, out_dir=OUT_DIR):
    """A run folder as `cuda-rlm run` leaves it; gives its path."""
    run = folder / "run"
    run.mkdir()
    best = {"digest": "ab" * 32, "file": f"{out_dir}/best.cu"}
    line = evaluation(samples)
    if not measured:
        line["measurements"] = []
    environment = {"memory_peaks": {"read": {"bytes_per_ns": 4350.4}, "copy": {"bytes_per_ns": 4100.2}}}
    (run / "run.json").write_text(json.dumps({
        "started": "2026-11-30T12:14:47Z", "starts": [{"environment": environment}],
        "result": {"task": "nano30b_rmsnorm", "out_dir": out_dir, "best": best, "device": {"name": "NVIDIA H200"}}}))
    (run / "evaluations.jsonl").write_text(json.dumps({**line, "measurements": []}) + "\n" + json.dumps(line) + "\n{to")
    (run / "report.md").write_text(f"![candidates](plot.svg)\nall of {out_dir}, {out_dir}/report.md, 614 GB/s\n")
    (run / "plot.svg").write_text("<svg></svg>")
    (run / "best.cu").write_text("kernel")
    return run


class KeepEvidence(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def keep(self, *words):
        return subprocess.run([sys.executable, str(ROOT / "tools/keep_evidence"), *map(str, words)],
                              capture_output=True, text=True)

    def kept(self, run):
        done = self.keep("--into", self.folder / "kept", run)
        self.assertEqual(done.returncode, 0, done.stderr)
        return pathlib.Path(done.stdout.strip())

    def test_paths_of_the_machine_go(self):
        kept = self.kept(write_run(self.folder, [2250.0]))
        self.assertEqual(kept.name, "2026-11-30-nvidia-h200-nano30b_rmsnorm")
        self.assertEqual(sorted(path.name for path in kept.iterdir()),
                         ["best.cu", "evaluations.jsonl", "plot.svg", "report.md", "run.json"])
        self.assertEqual((kept / "report.md").read_text(),
                         "![candidates](plot.svg)\nall of ., report.md, 614 GB/s\n")
        result = json.loads((kept / "run.json").read_text())["result"]
        self.assertEqual((result["out_dir"], result["best"]["file"]), (".", "best.cu"))
        line = json.loads((kept / "evaluations.jsonl").read_text().splitlines()[1])
        self.assertEqual(line["log"], "best.cu(3): note: see cuda_bf16.h, 3/4 of http://x/y/z")
        self.assertEqual(line["measurements"][0]["samples_ns"], [2250.0])

    def test_a_folder_with_the_name_of_its_task(self):
        kept = self.kept(write_run(self.folder, [2250.0], out_dir="nano30b_rmsnorm"))
        result = json.loads((kept / "run.json").read_text())["result"]
        self.assertEqual((result["task"], result["best"]["file"]), ("nano30b_rmsnorm", "best.cu"))

    def test_prompts_and_answers_are_kept_as_they_are(self):
        run = write_run(self.folder, [2250.0])
        (run / "prompts").mkdir()
        (run / "prompts/0001.answer.md").write_text("see /usr/include\n")
        self.assertEqual((self.kept(run) / "prompts/0001.answer.md").read_text(), "see /usr/include\n")

    def test_large_evaluations_are_gzipped_and_read_again(self):
        run = write_run(self.folder, [2250.25] * 30000)
        kept = self.kept(run)
        self.assertFalse((kept / "evaluations.jsonl").exists())
        packed = (kept / "evaluations.jsonl.gz").read_bytes()
        line = json.loads(gzip.decompress(packed).splitlines()[1])
        self.assertEqual(line["measurements"][0]["samples_ns"], [2250.25] * 30000)
        self.kept(run)
        self.assertEqual((kept / "evaluations.jsonl.gz").read_bytes(), packed, "the same run gives the same bytes")
        self.assertEqual(self.keep("--table", kept).stdout, self.keep("--table", run).stdout)

    def test_table(self):
        lines = self.keep("--table", write_run(self.folder, [2250.0])).stdout.splitlines()
        self.assertEqual(lines[2], "| `nano30b_rmsnorm` | T=128, H=2688 | 1.4 MB | 2.25 µs (2.24 µs to 2.26 µs) | 614 | "
                                   "14 % | 6.78 µs | 3.01x (3.00 to 3.02) |")
        self.assertEqual(lines[-1], "Measured bandwidth of this NVIDIA H200: read 4350 GB/s, copy 4100 GB/s.")

    def test_a_run_without_times_or_an_end_is_refused(self):
        done = self.keep("--table", write_run(self.folder, [], measured=False))
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no times", done.stderr)
        (self.folder / "run/run.json").write_text("{}")
        for words in ([self.folder / "run"], ["--table", self.folder / "run"], [self.folder / "none"]):
            done = self.keep(*words)
            self.assertEqual(done.returncode, 1)
            self.assertTrue(done.stderr.startswith("keep_evidence: error: "), done.stderr)


if __name__ == "__main__":
    unittest.main()

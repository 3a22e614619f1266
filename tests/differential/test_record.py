"""The virtual GPU still gives what an H200 gave: every form of the differential suite that agreed bit by bit when
tests/goldens/differential-h200.json was recorded agrees today. New forms without a record must at least run."""
import json
import os
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import execute  # noqa: E402
import forms  # noqa: E402
import generate  # noqa: E402
import inputs  # noqa: E402
import run  # noqa: E402

ROOT = HERE.parents[1]
PROGRAM = pathlib.Path(os.environ.get("CUDA_RLM", ROOT / "build" / "release" / "cuda-rlm"))
GOLDEN = ROOT / "tests" / "goldens" / "differential-h200.json"


class Record(unittest.TestCase):
    def results(self, sm):
        """{form: bytes or text of a failure} of all forms but the dense samples."""
        chosen = generate.modules(sm, [form for form in forms.expand() if not form.domains[0].startswith("dense")])
        with tempfile.TemporaryDirectory(prefix="differential-") as folder:
            generate.write(folder, chosen)
            return execute.run_all(PROGRAM, ["vgpu"], chosen, folder, 2)["vgpu"]

    def test_agrees_with_an_h200(self):
        known, results = json.loads(GOLDEN.read_text())["forms"], self.results(90)
        failed = {name: data[:200] for name, data in results.items() if isinstance(data, str)}
        self.assertEqual(failed, {})
        differing = [name for name, data in results.items() if name in known and run.digest(data) != known[name]]
        self.assertEqual(differing, [])
        self.assertGreater(len(known), 3000)
        self.assertEqual(sorted(set(known) - set(results)), [])

    def test_forms_of_newer_gpus_run(self):
        failed = {name: data[:200] for name, data in self.results(100).items() if isinstance(data, str)}
        self.assertEqual(failed, {})

    def test_inputs_are_the_same_everywhere(self):
        """The record is of these inputs: a change of inputs.py needs a new one."""
        words = b"".join(values.tobytes() for domains in (("f32", "f32"), ("i64", "i64", "i64"), ("bf16x2", "bf16x2")) for values in inputs.make(domains))
        self.assertEqual(run.digest(words), "aa96b85249fe8370")


if __name__ == "__main__":
    unittest.main()

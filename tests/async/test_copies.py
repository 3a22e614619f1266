"""Cases of asynchronous copies on the virtual GPU: what must hold of each does, and buffers are those of an H200, bit by bit, where
docs/evidence has what one gave."""

import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import suite  # noqa: E402

ROOT = HERE.parents[1]
PROGRAM = os.environ.get("CUDA_RLM", str(ROOT / "build" / "release" / "cuda-rlm"))
RECORD = ROOT / "docs" / "evidence" / "2026-11-30-h200-async" / "h200.json.gz"


class Copies(unittest.TestCase):
    maxDiff = 2000

    def test_cases(self):
        record = suite.read_record(RECORD)
        cases = dict(suite.all_cases())
        self.assertEqual(record.keys() - cases.keys(), set())
        for label, case in cases.items():
            with self.subTest(label):
                seen = suite.run(case, PROGRAM, "vgpu", 0)
                self.assertEqual(suite.problems(case, seen, "vgpu"), [])
                if label in record:
                    self.assertEqual(suite.recorded(suite.kept(case, seen)), record[label])


if __name__ == "__main__":
    unittest.main()

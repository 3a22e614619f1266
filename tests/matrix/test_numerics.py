"""The virtual GPU's tensor-core sums are those of an H200, bit by bit: docs/evidence keeps what one gave for numerics.py."""

import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import numerics  # noqa: E402
import record  # noqa: E402

ROOT = HERE.parents[1]
PROGRAM = os.environ.get("CUDA_RLM", str(ROOT / "build" / "release" / "cuda-rlm"))
KEPT = ROOT / "docs" / "evidence" / "2026-11-30-h200-matrix" / "h200.json.gz"


class Numerics(unittest.TestCase):
    def test_agrees_with_an_h200(self):
        kept = record.read(KEPT)
        said = numerics.measure(PROGRAM, "vgpu", kept)
        shown = []
        for label, block, wanted, words in record.differing(kept, said):
            if block is None:
                shown.append(f"{label}: {words}")
                continue
            first = next((f", word {i} is {x:#x}, not {y:#x}" for i, (x, y) in enumerate(zip(words, wanted or [])) if x != y), "")
            shown.append(f"{label}: block {block} ({numerics.KINDS[block % len(numerics.KINDS)]}) differs{first}")
        self.assertEqual(shown, [])


if __name__ == "__main__":
    unittest.main()

"""bench/calibrate.py: rank correlation and the figures made of it, and that the kept figures are those of the kept variants."""

import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVIDENCE = ROOT / "docs" / "evidence" / "2026-11-30-h200-estimate"

spec = importlib.util.spec_from_file_location("calibrate", ROOT / "bench" / "calibrate.py")
calibrate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(calibrate)


def variants(times, workload="w"):
    return [{"id": f"{workload}{i}", "op": "o", "workload": workload, "median_ns": time} for i, time in enumerate(times)]


class Calibrate(unittest.TestCase):
    def test_ranks_share_ties(self):
        self.assertEqual(calibrate.ranks([3, 1, 3, 2]), [2.5, 0, 2.5, 1])

    def test_spearman(self):
        self.assertAlmostEqual(calibrate.spearman([1, 2, 3, 4], [10, 20, 30, 1000]), 1)
        self.assertAlmostEqual(calibrate.spearman([1, 2, 3, 4], [4, 3, 2, 1]), -1)
        # Of five pairs with rank differences 1, 1, 1, 1, 0: 1 - 6 * 4 / (5 * 24).
        self.assertAlmostEqual(calibrate.spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]), 0.8)
        self.assertEqual(calibrate.spearman([1, 1, 1], [1, 2, 3]), 0)

    def test_figures(self):
        seen = calibrate.figures(variants([100, 200, 300, 400]), {"w0": 220, "w1": 200, "w2": 330, "w3": 440})
        self.assertAlmostEqual(seen["spearman"], 0.8)
        self.assertAlmostEqual(seen["regret"], 1.0)  # the lowest estimate takes 200 where 100 is possible
        self.assertAlmostEqual(seen["error"], 0.1)
        self.assertEqual((seen["variants"], seen["workloads"]), (4, 1))

    def test_what_is_kept(self):
        kept = calibrate.read_variants(EVIDENCE)
        self.assertGreaterEqual(len(kept), 60)
        self.assertGreaterEqual(len({variant["op"] for variant in kept}), 20)
        self.assertIn(f"| all | {len(kept)} |", (EVIDENCE / "figures.md").read_text())
        self.assertEqual((EVIDENCE / "plot.svg").read_text().count("<circle"), len(kept))
        for variant in kept:
            self.assertGreaterEqual(len(variant["samples_ns"]), 20)


if __name__ == "__main__":
    unittest.main()

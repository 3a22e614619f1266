"""Every kernel of tests/async gets its verdict on the virtual GPU."""

import importlib.util
import unittest

from program import KERNELS, PROGRAM, ROOT, Case

spec = importlib.util.spec_from_file_location("suite", ROOT / "tests" / "async" / "suite.py")
suite = importlib.util.module_from_spec(spec)
spec.loader.exec_module(suite)


class AsynchronousCopies(Case):
    def check(self, stem):
        for case in suite.cases_of(suite.HERE / f"{stem}.cu"):
            with self.subTest(case=case.name):
                seen = suite.run(case, str(PROGRAM), "vgpu", 0)
                self.assertEqual(suite.problems(case, seen, "vgpu"), [])

    def test_tiles(self):
        self.check("tiles")

    def test_copies(self):
        self.check("copies")

    def test_faulty(self):
        self.check("faulty")

    def test_products(self):
        self.check("products")

    def test_a_kernel_file_passes_a_tensor_map(self):
        seen = self.json("check", KERNELS / "tensor_map.cu", "--device", "vgpu", "--axes", "T=3")
        self.assertEqual((seen["outcome"], seen["reports"]), ("correct", []))

    def test_a_deadlock_says_what_is_missing(self):
        case = next(case for case in suite.cases_of(suite.HERE / "faulty.cu") if case.name == "too_many_bytes")
        (report,) = suite.run(case, str(PROGRAM), "vgpu", 0)["reports"]
        self.assertIn("the mbarrier at byte 0 of full, in phase 0, where 0 of 1 arrivals are to come and 256 bytes", report["message"])


if __name__ == "__main__":
    unittest.main()

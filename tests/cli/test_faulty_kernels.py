"""Faulty kernels get the exact report that they must get."""

import unittest

from program import KERNELS, Case, line_of


class FaultyKernels(Case):
    def check(self, name, *words, code=3, axes="T=3"):
        self.text = (KERNELS / name).read_text()
        return self.json("check", KERNELS / name, "--device", "vgpu", "--axes", axes, *words, code=code)

    def only_report(self, name, check, marker="<- here"):
        """The one report there is: of this check, at the marked line."""
        seen = self.check(name)
        self.assertEqual(seen["outcome"], "faulted")
        places = [(report["check"], report["line"]) for report in seen["reports"]]
        self.assertEqual(places, [(check, line_of(self.text, marker))])
        report = seen["reports"][0]
        self.assertEqual((report["file"], report["kernel"]), (name, "rms"))
        return report

    def test_the_right_one_is_correct(self):
        seen = self.check("plain.cu", code=0)
        self.assertEqual((seen["outcome"], seen["reports"]), ("correct", []))
        self.assertGreater(seen["resources"]["registers"], 0)

    def test_off_by_one(self):
        report = self.only_report("off_by_one.cu", "out_of_bounds")
        self.assertEqual((report["buffer"], report["byte_offset"], report["bytes"]), ("x", 3 * 2688 * 2, 2))
        self.assertEqual((report["block"], report["thread"], report["other"]), ([2, 0, 0], [128, 0, 0], None))

    def test_misaligned(self):
        report = self.only_report("misaligned.cu", "misaligned")
        self.assertEqual((report["buffer"], report["bytes"], report["byte_offset"] % 16), ("x", 16, 2))

    def test_uninitialised_shared(self):
        report = self.only_report("uninitialised_shared.cu", "uninitialised")
        self.assertEqual((report["buffer"], report["byte_offset"], report["bytes"]), ("partial", 32, 4))

    def test_missing_barrier(self):
        seen = self.check("missing_barrier.cu")
        self.assertEqual({report["check"] for report in seen["reports"]}, {"shared_race"})
        both = {line_of(self.text, "<- write"), line_of(self.text, "<- read")}
        for report in seen["reports"]:
            self.assertEqual({report["line"], report["other"]["line"]}, both)
            self.assertNotEqual(report["thread"], report["other"]["thread"])
            self.assertEqual(report["buffer"], "partial")

    def test_endless_loop(self):
        seen = self.check("endless_loop.cu")
        self.assertEqual(seen["outcome"], "faulted")
        (report,) = seen["reports"]
        self.assertIn(report["check"], ("runaway", "deadlock"))
        self.assertEqual(report["line"], line_of(self.text, "<- here"))

    def test_wrong_last_row(self):
        self.assertEqual(self.check("wrong_last_row.cu", axes="T=1", code=0)["outcome"], "correct")
        seen = self.check("wrong_last_row.cu", axes="T=128")
        self.assertEqual((seen["outcome"], seen["reports"]), ("wrong", []))
        (workload,) = seen["workloads"]
        self.assertGreater(workload["max_error"], workload["bound"])

    def test_unwritten_output(self):
        self.assertIn(self.check("unwritten.cu")["outcome"], ("wrong", "faulted"))

    def test_people_get_the_source_line(self):
        text = self.run_program("check", KERNELS / "off_by_one.cu", "--device", "vgpu", "--axes", "T=3", code=3).stdout
        self.assertIn("off_by_one.cu:11: out_of_bounds", text)
        self.assertIn("const float v = __bfloat162float(row[i]);", text)


if __name__ == "__main__":
    unittest.main()

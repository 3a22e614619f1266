"""`selftest`: every known cheat and seeded fault is tried, and none that should be caught is missed."""

import re
import unittest

from program import ROOT, Case

UNCATCHABLE = {"secret_input", "unseen_shape", "another_gpu"}


class Selftest(Case):
    def test_misses_nothing(self):
        answer = self.json("selftest", "--device", "vgpu", timeout=300)
        cases = {case["name"]: case for case in answer["cases"]}
        self.assertEqual(len(cases), len(answer["cases"]))
        self.assertEqual([case for case in answer["cases"] if case["expect"] == "caught" and case["got"] == "missed"], [])
        self.assertEqual((answer["missed"], answer["device"]["kind"]), (0, "vgpu"))
        self.assertEqual(sorted(case["number"] for case in cases.values() if case["number"]), list(range(1, 36)))
        self.assertGreaterEqual(sum(case["kind"] == "fault" for case in cases.values()), 40)
        self.assertGreaterEqual(sum(case["got"] == "caught" for case in cases.values() if case["number"]), 20)
        self.assertEqual({name for name, case in cases.items() if case["expect"] == "uncatchable"}, UNCATCHABLE)
        for name, case in cases.items():
            with self.subTest(name):
                self.assertTrue(case["what"].endswith("."))
                self.assertEqual(case["got"] == "caught", bool(case["by"]))
                self.assertEqual(case["got"] != "caught", bool(case["why"]))
        self.assertTrue(answer["right"])
        for kernel in answer["right"]:
            self.assertTrue(kernel["accepted"] or kernel["kernel"].endswith(".py"), kernel)

    def test_documents_name_them(self):
        text = (ROOT / "docs" / "verification.md").read_text()
        for file in sorted((ROOT / "selftest" / "cases").glob("*.toml")):
            for name in re.findall(r"^\[([a-z0-9_]+)\]$", file.read_text(), re.M):
                self.assertIn(f"`{name}`", text)
        shown = self.json("selftest", "--source")
        readme = (ROOT / "README.md").read_text()
        cheats = 7 + sum("cheat" == one["kind"] for one in shown)  # seven attacks have no source
        self.assertIn(f"{cheats} in all, and\n{sum('fault' == one['kind'] for one in shown)} honest mistakes", readme)
        uncatchable = sum(len(re.findall(r'^expect\s*= "uncatchable"$', file.read_text(), re.M))
                          for file in (ROOT / "selftest" / "cases").glob("*.toml"))
        self.assertIn(f"\n{uncatchable} cannot be caught", readme)

    def test_one_case_with_its_right_kernel(self):
        answer = self.json("selftest", "--only", "missing_barrier", "--device", "vgpu")
        (case,) = answer["cases"]
        self.assertEqual((case["name"], case["kind"], case["got"], case["device"]), ("missing_barrier", "fault", "caught", "vgpu"))
        self.assertIn("shared_race", case["by"])
        self.assertEqual([(kernel["kernel"], kernel["accepted"]) for kernel in answer["right"]], [("rmsnorm.cu", True)])

    def test_people_get_a_table(self):
        text = self.run_program("selftest", "--only", "tie_order", "--only", "swapped_file", "--device", "vgpu").stdout
        self.assertRegex(text, r"31 +swapped_file +caught +")
        self.assertRegex(text, r"tie_order +caught +wrong: ")
        self.assertIn("2 caught", text)

    def test_unknown_case(self):
        self.refused("selftest", "--only", "missing_barier", code=2, saying=("missing_barier", "missing_barrier"))

    def test_source_shows_what_is_tried(self):
        shown = self.json("selftest", "--source")
        self.assertGreater(len(shown), 90)
        (one,) = self.json("selftest", "--source", "--only", "half_a_percent")
        self.assertIn("1.005f * v", one["source"])

    def test_a_missed_one_is_exit_3(self):
        """With a right kernel in the place of a cheat there is something to miss."""
        for part in ("ops", "tasks", "presets", "python", "selftest"):
            (self.folder / "home").mkdir(exist_ok=True)
            if part != "selftest":
                (self.folder / "home" / part).symlink_to(ROOT / part)
        selftest = self.folder / "home" / "selftest"
        (selftest / "cases").mkdir(parents=True)
        (selftest / "right").symlink_to(ROOT / "selftest" / "right")
        (selftest / "tasks.toml").symlink_to(ROOT / "selftest" / "tasks.toml")
        (selftest / "cases" / "one.toml").write_text(
            '[harmless]\nkind = "cheat"\nwhat = "Nothing."\nkernel = "rmsnorm.cu"\nchanges = []\ncaught_by = ["wrong"]\n')
        answer = self.json("selftest", "--device", "vgpu", code=3, env={"RECUDA_HOME": str(self.folder / "home")})
        self.assertEqual((answer["missed"], answer["cases"][0]["got"]), (1, "missed"))


if __name__ == "__main__":
    unittest.main()

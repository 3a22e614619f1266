"""The judgement of every op of the catalogue rejects what is wrong and accepts what is honest."""

import unittest

from program import ROOT, Case


class Oracles(Case):
    def test_of_every_op(self):
        tasks = {task["op"]: task["name"] for task in reversed(self.json("tasks"))}
        self.assertEqual(set(tasks), {folder.name for folder in (ROOT / "ops").iterdir()})
        for op, task in tasks.items():
            with self.subTest(op=op):
                seen = self.json("tasks", task, "--test-oracle", "--seed", "3", timeout=300)
                self.assertEqual((seen["op"], seen["seed"], seen["failed"]), (op, 3, 0))
                self.assertGreaterEqual(len(seen["changes"]), 20)
                applied = [change for change in seen["changes"] if change["got"] != "not_applicable"]
                for change in applied:
                    self.assertTrue(change["passed"], change)
                    if change["expect"] == "rejected":
                        self.assertEqual(change["got"], "rejected", change)
                self.assertGreaterEqual(sum(change["expect"] == "rejected" for change in applied), 12)
                self.assertGreaterEqual(sum(change["expect"] == "accepted" for change in applied), 2)

    def test_the_catalogue_has_no_single_oracle(self):
        self.refused("tasks", "--test-oracle", code=2, saying=["NAME"])


if __name__ == "__main__":
    unittest.main()

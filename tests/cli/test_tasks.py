"""The catalogue and users' own task files."""

import unittest

from program import Case

OWN = """family = "mine"
model = "a small network"
[small]
op = "rmsnorm"
axes = { H = 256 }
scalars = { eps = 1e-6 }
options = { rounding = "two" }
verify = { T = [1, 5] }
bench = { T = [1] }
"""


class Tasks(Case):
    def test_bytes_and_flops_are_those_that_one_computes_by_hand(self):
        task = self.json("tasks", "nano30b_rmsnorm")
        for workload in task["workloads"]:
            tokens = workload["axes"]["T"]
            self.assertEqual(workload["bytes"], 2 * (2 * tokens * 2688 + 2688))
            self.assertEqual(workload["flops"], 4 * tokens * 2688)
        for name, size in [("qwen35_silu_mul", 73728), ("nano30b_relu2", 44544), ("nano30b_router_topk", 1072),
                           ("nemotron3_rope", 17920), ("qwen35_partial_rope", 5376), ("qwen35_mrope", 5888)]:
            at_one = next(w for w in self.json("tasks", name)["workloads"] if w["axes"]["T"] == 1)
            self.assertEqual(at_one["bytes"], size, name)

    def test_an_inout_tensor_is_in_both_lists(self):
        task = self.json("tasks", "nano30b_add_rmsnorm")
        for side in ("inputs", "outputs"):
            res = next(tensor for tensor in task[side] if tensor["name"] == "res")
            self.assertEqual((res["inout"], res["dtype"], res["shape"]), (True, "bf16", ["T", "H"]))

    def test_every_task_has_seeds_and_workloads(self):
        tasks = self.json("tasks")
        self.assertGreaterEqual(len(tasks), 35)
        for task in tasks:
            self.assertGreaterEqual(len(task["kernels"]), 2, task["name"])
        self.assertEqual({task["family"] for task in tasks}, {"nano30b", "nemotron3", "nemotron9b", "nemotron4b", "qwen35", "qwen35moe"})

    def test_a_file_of_ones_own(self):
        self.write("my tasks.toml", OWN)
        task = self.json("tasks", "my tasks.toml#small")
        self.assertEqual(task["options"], {"rounding": "two"})
        self.assertEqual([(w["axes"]["T"], w["bytes"]) for w in task["workloads"]], [(1, 1536), (5, 5632)])

    def test_what_is_wrong_in_a_file_is_named_with_its_place(self):
        for old, new, words in [("axes = { H = 256 }", "axes = { H = ", ["own.toml:5"]),
                                ('op = "rmsnorm"', 'op = "rmsnorn"', ["own.toml:4", "did you mean rmsnorm?"]),
                                ("axes = { H = 256 }", "axes = { K = 256 }", ["own.toml:5", "no axis K"]),
                                ("verify =", "verfy =", ["own.toml:8", "did you mean verify?"]),
                                ("eps = 1e-6", "epsilon = 1e-6", ["own.toml:6", "no scalar epsilon"]),
                                ('"two"', '"three"', ["own.toml:7", "one, two"]),
                                ("T = [1, 5]", "T = []", ["own.toml:8", "nothing to judge"]),
                                ("T = [1, 5]", "T = [1, 3000000000]", ["own.toml:8", "32-bit"]),
                                ("eps = 1e-6", "eps = nan", ["own.toml:6", "finite"]),
                                ('op = "rmsnorm"', "op = 3", ["own.toml:4", "must be a text"]),
                                ("T = [1, 5]", "T = [1, -5]", ["own.toml:8", "from 1 on"])]:
            self.write("own.toml", OWN.replace(old, new))
            self.refused("tasks", "own.toml#small", code=1, saying=words)
        self.write("own.toml", OWN)
        self.refused("tasks", "own.toml#smal", code=2, saying=["own.toml", "small"])
        self.refused("tasks", "missing.toml#x", code=1, saying=["missing.toml"])


if __name__ == "__main__":
    unittest.main()

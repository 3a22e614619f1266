"""Kernels that a judge must not fall for, nor fall over: each is a right rmsnorm with one change."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import ROOT, Case  # noqa: E402

RIGHT = (ROOT / "selftest" / "right" / "rmsnorm.cu").read_text()
TASK = f"{ROOT}/selftest/tasks.toml#rmsnorm"
STORE = "        y[i] = __float2bfloat16(v);"


class HostileKernels(Case):
    def judged(self, old, new, code=3):
        self.assertEqual(RIGHT.count(old), 1)
        self.write("kernel.cu", RIGHT.replace(old, new))
        return self.json("check", "kernel.cu", "--task", TASK, "--device", "vgpu", code=code)

    def test_an_input_is_not_written_with_what_it_holds_either(self):
        again = "\n        *reinterpret_cast<volatile unsigned short*>(const_cast<__nv_bfloat16*>(x + i)) = __bfloat16_as_ushort(x[i]);"
        seen = self.judged(STORE, STORE + again)
        self.assertEqual(seen["outcome"], "wrong")
        self.assertIn("the input x was overwritten", seen["log"])

    def test_a_workspace_that_fits_nowhere_ends_the_candidate_alone(self):
        for shape in ("T, 999999999", "T, 9999999999", "T, 500000, 500000"):
            seen = self.judged("//! launch", f"//! scratch part : f32[{shape}]\n//! launch")
            self.assertEqual(seen["outcome"], "unsupported", shape)
            self.assertIn("bytes of scratch", seen["log"])
        self.judged("//! launch", "//! scratch part : f32[T, 1000000]\n//! launch", code=0)

    def test_the_graph_of_a_launch_is_not_read(self):
        old = "    x += row * H;\n"
        seen = self.judged(old, """    unsigned long long graph;
    asm volatile("mov.u64 %0, %%current_graph_exec;" : "=l"(graph));
    if (graph != 0)
        return;
""" + old)
        self.assertEqual(seen["outcome"], "refused")


if __name__ == "__main__":
    unittest.main()

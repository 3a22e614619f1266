"""A correct kernel gets no report where its compiler widens loads: `part[11]`, aligned to 16 bytes, is read 16 bytes at a
time, and the last element's neighbour is read with it and never used."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import ROOT, Case  # noqa: E402

KERNEL = """extern "C" __global__ void sums(const float* x, float* y) {
    alignas(16) __shared__ float part[11];
    alignas(8) __shared__ unsigned char small[3];
    alignas(16) __shared__ unsigned short half[5];
    int t = threadIdx.x;
    if (t < 11) part[t] = x[t];
    if (t < 3) small[t] = t;
    if (t < 5) half[t] = t;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < LAST; ++i) sum += part[i];  // <- here
    y[t] = sum + small[0] + small[1] + small[2] + half[0] + half[1] + half[2] + half[3] + half[4];
}
"""


class WidenedLoads(Case):
    def sums(self, last, code):
        self.write("sums.cu", KERNEL)
        return self.json("exec", "sums.cu", "--launch", "sums<<<1, 32>>>(x, y)", "--buffer", "x:f32[11]=iota", "--buffer",
                         "y:f32[32]=uninit", "--define", f"LAST={last}", "--device", "vgpu", code=code)

    def test_what_nobody_uses_is_no_access(self):
        seen = self.sums(11, code=0)
        self.assertEqual((seen["outcome"], seen["reports"]), ("completed", []))

    def test_what_is_used_still_is(self):
        seen = self.sums(12, code=3)
        self.assertEqual([report["check"] for report in seen["reports"]], ["out_of_bounds"])
        self.assertEqual(seen["reports"][0]["buffer"], "part")

    def test_a_seed_of_an_odd_number_of_warps(self):
        seed = ROOT / "ops" / "rmsnorm" / "seeds" / "vector.cu"
        seen = self.json("check", seed, "--task", "nano30b_rmsnorm", "--device", "vgpu", "--axes", "T=3", "--all",
                         code=0)
        self.assertEqual(seen["outcome"], "correct")
        self.assertEqual({point["outcome"] for point in seen["points"]}, {"correct"})


if __name__ == "__main__":
    unittest.main()

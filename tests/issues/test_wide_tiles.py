"""Tiles of cooperative_groups that are wider than a warp run on the virtual GPU: they meet in shared memory that is the
system's, at an offset that a special register names."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import Case  # noqa: E402

KERNEL = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void sums(const int* x, int* y) {
    __shared__ int row[256];
    auto tile = cg::tiled_partition<WIDTH>(cg::this_thread_block());
    row[threadIdx.x] = x[threadIdx.x];
    tile.sync();
    y[threadIdx.x] = cg::reduce(tile, row[threadIdx.x ^ 32], cg::plus<int>());
    y[256 + threadIdx.x] = tile.shfl(x[threadIdx.x], 35) + 1000 * tile.any(x[threadIdx.x] == 70);
}
"""


class WideTiles(Case):
    def test_they_reduce_shuffle_and_vote(self):
        self.write("sums.cu", KERNEL)
        for width in (64, 128, 256):
            with self.subTest(width):
                seen = self.json("exec", "sums.cu", "--launch", "sums<<<1, 256>>>(x, y)", "--buffer", "x:i32[256]=iota",
                                 "--buffer", "y:i32[512]=uninit", "--define", f"WIDTH={width}", "--print", "y",
                                 "--schedules", "3", "--device", "vgpu", code=0)
                self.assertEqual((seen["outcome"], seen["reports"]), ("completed", []))
                first = [i // width * width for i in range(256)]
                sums = [sum(range(i, i + width)) for i in first]
                others = [i + 35 + 1000 * (i <= 70 < i + width) for i in first]
                self.assertEqual(seen["buffers"]["y"], sums + others)


if __name__ == "__main__":
    unittest.main()

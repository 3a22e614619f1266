"""What nvcc's users write without a thought: the standard library's headers, #line, float files for buffers of halves, a grid barrier in an
ordinary launch, a date."""
import pathlib
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import Case  # noqa: E402

HEADERS = "stdint.h cstdint stddef.h cstddef limits.h climits float.h cfloat math.h cmath assert.h cassert stdio.h cstdio stdlib.h".split()
KERNEL = """%s
extern "C" __global__ void k(int* y) { y[threadIdx.x] = %s; }
"""


class Habits(Case):
    def run_kernel(self, source, *more, launch="k<<<1, 32>>>(y)", code=0):
        self.write("k.cu", source)
        return self.json("exec", "k.cu", "--launch", launch, "--buffer", "y:i32[32]=uninit", "--print", "y", "--device", "vgpu", *more,
                         code=code)

    def value(self, includes, expression):
        return self.run_kernel(KERNEL % (includes, expression))["buffers"]["y"][0]

    def test_standard_headers(self):
        everything = "\n".join(f"#include <{name}>" for name in HEADERS + ["cuda_bf16.h", "cuda_fp16.h", "cooperative_groups.h",
                                                                           "cuda/std/cstdint", "cub/block/block_reduce.cuh"])
        self.assertEqual(self.value(everything, "sizeof(std::int64_t) + sizeof(uint16_t) + sizeof(size_t)"), 18)
        for include, expression, wanted in (
                ("stdint.h", "INT32_MAX == 2147483647 && UINT64_C(1) << 40 > UINT32_MAX", 1), ("cstdint", "sizeof(std::uint8_t)", 1),
                ("limits.h", "INT_MIN + INT_MAX", -1), ("float.h", "FLT_MAX + FLT_MAX > FLT_MAX && FLT_EPSILON + 1 > 1", 1),
                ("math.h", "isinf(INFINITY) && isnan(NAN) && sinf(float(M_PI_2)) == 1", 1), ("cmath", "std::sqrt(16.0f) + std::fabs(-2.0)", 6),
                ("cstddef", "sizeof(std::ptrdiff_t)", 8), ("cassert", "(assert(true), 3)", 3), ("cuda.h", "CUDA_VERSION / 1000 + sizeof(CUtensorMap)", 141)):
            self.assertEqual(self.value(f"#include <{include}>", expression), wanted, include)

    def test_lines_are_those_of_the_file(self):
        source = ('#line 5000 "zz.h"\nextern "C" __global__ void k(int* y) {\n# 7 "other.h"\n  y[threadIdx.x] = 1;\n#line 1\n'
                  "  y[threadIdx.x + 1] = 2;\n}\n")
        (report,) = self.run_kernel(source, code=3)["reports"]
        self.assertEqual((report["check"], report["file"], report["line"]), ("out_of_bounds", "k.cu", 6))
        self.assertIn("k.cu(3)", self.run_kernel("#line 90\n\nint x = y;\n", code=3)["log"])

    def test_float_files_are_rounded(self):
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
        header += " " * (117 - len(header)) + "\n"
        (self.folder / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                                            + struct.pack("<4f", 1.00390625, 1.01171875, 3e38, -0.0))
        for dtype, wanted in (("bf16", [0x3f80, 0x3f82, 0x7f62, 0x8000]), ("f16", [0x3c04, 0x3c0c, 0x7c00, 0x8000])):
            seen = self.run_kernel('extern "C" __global__ void k(const unsigned short* x, int* y) { y[threadIdx.x] = x[threadIdx.x]; }\n',
                                   "--buffer", f"x:{dtype}[4]=@x.npy", launch="k<<<1, 4>>>(x, y)")
            self.assertEqual(seen["buffers"]["y"][:4], wanted, dtype)

    def test_a_grid_barrier_says_what_it_needs(self):
        source = ("#include <cooperative_groups.h>\n"
                  'extern "C" __global__ void k(int* y) { y[threadIdx.x] = 1; cooperative_groups::this_grid().sync(); }\n')
        (report,) = self.run_kernel(source, code=3)["reports"]
        self.assertIn("cooperative", report["message"])
        self.run_kernel(source, launch="k<<<1, 32, 0, cooperative>>>(y)")

    def test_read_only_data_is_not_written(self):
        source = ('extern "C" __global__ void k(int* y) { y[threadIdx.x] = 5; __syncthreads(); int v;\n'
                  'asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(v) : "l"(y + (threadIdx.x ^ SHIFT)));\n'
                  "__syncthreads(); y[threadIdx.x] = v + 1; }\n")
        for shift in (0, 1):
            (report,) = self.run_kernel(source, "--define", f"SHIFT={shift}", code=3)["reports"]
            self.assertEqual((report["check"], report["line"]), ("global_race", 2))
            self.assertIn("read-only", report["message"])

    def test_a_flood_of_prints_is_cut(self):
        self.write("k.cu", 'extern "C" __global__ void k(int* y) { for (int i = 0; i < 2000; ++i) printf("%d %s\\n", i, "0123456789"); y[threadIdx.x] = 1; }\n')
        done = self.run_program("exec", "k.cu", "--launch", "k<<<8, 32>>>(y)", "--buffer", "y:i32[32]=uninit", "--device", "vgpu")
        self.assertEqual(done.returncode, 0)
        self.assertLess(len(done.stderr), (1 << 20) + 1000)
        self.assertIn("left out", done.stderr)


if __name__ == "__main__":
    unittest.main()

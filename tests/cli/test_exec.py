"""`exec`: buffers, literals and launches as the command line spells them, and what comes back."""

import ast
import math
import struct
import unittest

from program import Case, line_of

KERNELS = r"""template <typename T> __device__ void copy(const T* x, T* y) { y[threadIdx.x] = x[threadIdx.x]; }
extern "C" __global__ void copy1(const unsigned char* x, unsigned char* y) { copy(x, y); }
extern "C" __global__ void copy2(const unsigned short* x, unsigned short* y) { copy(x, y); }
extern "C" __global__ void copy4(const unsigned* x, unsigned* y) { copy(x, y); }
extern "C" __global__ void copy8(const unsigned long long* x, unsigned long long* y) { copy(x, y); }
extern "C" __global__ void literals(double* y, int i, long long l, float f, double d, unsigned u) {
    y[0] = i; y[1] = double(l - 9007199254740992ll); y[2] = f; y[3] = d; y[4] = u;
}
extern "C" __global__ void places(int* y) {
    const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    y[block * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x] = 100 * block + 10 * threadIdx.y + threadIdx.x;
}
extern "C" __global__ void wide(int* y) {
    extern __shared__ int line[];
    line[1000 * threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = line[1000 * (blockDim.x - 1 - threadIdx.x)];
}
extern "C" __global__ void say(int* y) { printf("thread %d of %s\n", threadIdx.x, "one"); y[threadIdx.x] = 1; }
#ifdef N
extern "C" __global__ void defined(int* y, int n) { y[0] = N; y[1] = n; }
#endif
extern "C" __global__ void outside(float* y) {
    y[threadIdx.x + 2] = 1.f;  // <- here
}
"""

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry iota(.param .u64 y)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [y];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
"""


def read_npy(path):
    """(type, shape, bytes) of an NPY file."""
    data = path.read_bytes()
    (size,) = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + size].decode())
    return header["descr"], header["shape"], data[10 + size:]


def npy(descr, shape, body):
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


class Exec(Case):
    def setUp(self):
        super().setUp()
        self.write("k.cu", KERNELS)

    def exec(self, launch, *buffers, words=(), code=0, file="k.cu"):
        named = [word for buffer in buffers for word in ("--buffer", buffer)]
        return self.json("exec", file, "--device", "vgpu", "--launch", launch, *named, *words, code=code)

    def copied(self, dtype, fill, count):
        """What the device gives back of a buffer, copied there by its size."""
        size = {"bf16": 2, "e4m3": 1, "e5m2": 1}.get(dtype) or int(dtype[1:]) // 8
        seen = self.exec(f"copy{size}<<<1, {count}>>>(x, y)", f"x:{dtype}[{count}]={fill}", f"y:{dtype}[{count}]=uninit", words=["--print", "y"])
        self.assertEqual((seen["outcome"], seen["reports"]), ("completed", []), dtype)
        return seen["buffers"]["y"]

    def test_integers_of_every_type_are_whole(self):
        for dtype, values in [("i8", [-128, 127]), ("u8", [0, 255]), ("i16", [-32768, 32767]), ("u16", [0, 65535]), ("i32", [-2**31, 2**31 - 1]),
                              ("u32", [0, 2**32 - 1]), ("i64", [-2**63, 2**63 - 1, 2**53 + 1]), ("u64", [0, 2**64 - 1, 2**53 + 1])]:
            seen = self.copied(dtype, str(values).replace(" ", ""), len(values))
            self.assertEqual((seen, {type(value) for value in seen}), (values, {int}), dtype)

    def test_floats_round_trip(self):
        single = struct.unpack("<f", struct.pack("<f", 0.1))[0]
        for dtype, given, values in [("f32", "[0.1,-0.0]", [single, -0.0]), ("f64", "[0.1,1e300]", [0.1, 1e300]),
                                     ("bf16", "[3.140625,1.00390625]", [3.140625, 1.0]),
                                     ("f16", "[65504,6e-8]", [65504.0, 2.0**-24]),
                                     ("e4m3", "[448,0.001953125]", [448.0, 2.0**-9]), ("e5m2", "[57344,-1.25]", [57344.0, -1.25])]:
            self.assertEqual(self.copied(dtype, given, 2), values, dtype)

    def test_what_is_not_finite_is_a_string(self):
        for dtype in ("f32", "f64", "f16", "bf16", "e5m2"):
            self.assertEqual(self.copied(dtype, "[nan,inf,-inf]", 3), ["nan", "inf", "-inf"], dtype)
        self.assertEqual(self.copied("e4m3", "[nan]", 1), ["nan"])

    def test_fills(self):
        self.assertEqual(self.copied("f32", "iota", 3), [0, 1, 2])
        self.assertEqual(self.copied("i32", "const(-7)", 2), [-7, -7])
        self.assertEqual(self.copied("f16", "zeros", 2), [0, 0])
        uniform = self.copied("f32", "uniform(2,3)", 64)
        self.assertTrue(all(2 <= value <= 3 for value in uniform))
        self.assertGreater(len(set(uniform)), 32)
        normal = self.copied("f64", "normal(5,0.1)", 256)
        self.assertLess(abs(sum(normal) / 256 - 5), 0.05)

    def test_literals(self):
        seen = self.exec("literals<<<1, 1>>>(y, 0x10, 9007199254740993ll, 1.5f, 0.1, 4294967295u)", "y:f64[5]=uninit", words=["--print", "y"])
        self.assertEqual(seen["buffers"]["y"], [16, 1, 1.5, 0.1, 4294967295])
        for arguments in ["y, 1, 1, 1.5f, 0.1, 1u", "y, 1ll, 1ll, 1.5f, 0.1, 1u", "y, 1, 1ll, 1.5, 0.1, 1u",
                          "y, 1, 1ll, 1.5f, 0.1f, 1u", "y, 1, 1ll, 1.5f, 0.1", "1, 1, 1ll, 1.5f, 0.1, 1u"]:
            self.assertEqual(self.exec(f"literals<<<1, 1>>>({arguments})", "y:f64[5]=uninit", code=3)["outcome"], "launch_refused", arguments)

    def test_grids_and_blocks_of_three_dimensions(self):
        seen = self.exec("places<<<(2, 1, 2), (2, 3)>>>(y)", "y:i32[24]=uninit", words=["--print", "y"])
        self.assertEqual(seen["buffers"]["y"], [100 * block + 10 * y + x for block in range(4) for y in range(3) for x in range(2)])

    def test_definitions_are_macros_and_sizes(self):
        seen = self.exec("defined<<<N - 6, 1>>>(y, N * 2)", "y:i32[2]=uninit", words=["--print", "y", "--define", "N=7"])
        self.assertEqual(seen["buffers"]["y"], [7, 14])

    def test_much_shared_memory(self):
        seen = self.exec("wide<<<1, 20, 80000>>>(y)", "y:i32[20]=uninit", words=["--print", "y"])
        self.assertEqual(seen["buffers"]["y"], list(range(19, -1, -1)))

    def test_files_in_and_out(self):
        (self.folder / "in.npy").write_bytes(npy("<f4", (2, 2), struct.pack("<4f", 1.5, -2, math.inf, 4)))
        self.exec("copy4<<<1, 4>>>(x, y)", "x:f32[2,2]=@in.npy", "y:f32[2,2]=uninit", words=["--save", "y=out.npy"])
        self.assertEqual(read_npy(self.folder / "out.npy"), ("<f4", (2, 2), struct.pack("<4f", 1.5, -2, math.inf, 4)))
        self.exec("copy8<<<1, 2>>>(x, y)", "x:i64[2]=[9007199254740993,-1]", "y:i64[2]=uninit", words=["--save", "y=long.npy"])
        self.assertEqual(read_npy(self.folder / "long.npy"), ("<i8", (2,), struct.pack("<2q", 2**53 + 1, -1)))

    def test_files_that_are_none(self):
        launch = ["--launch", "copy4<<<1, 4>>>(x, x)"]
        self.refused("exec", "k.cu", *launch, "--buffer", "x:f32[4]=@absent.npy", code=1, saying=["absent.npy"])
        self.write("text.npy", "no numbers")
        self.refused("exec", "k.cu", *launch, "--buffer", "x:f32[4]=@text.npy", code=1, saying=["text.npy"])
        (self.folder / "short.npy").write_bytes(npy("<f4", (3,), bytes(12)))
        self.refused("exec", "k.cu", *launch, "--buffer", "x:f32[4]=@short.npy", code=1, saying=["12", "16"])
        self.refused("exec", "absent.cu", *launch, code=1, saying=["absent.cu"])

    def test_reading_what_nobody_wrote_is_a_fault(self):
        seen = self.exec("copy4<<<1, 4>>>(x, y)", "x:f32[4]=uninit", "y:f32[4]=uninit", code=3)
        (report,) = seen["reports"]
        self.assertEqual((seen["outcome"], report["check"], report["buffer"], report["byte_offset"], report["bytes"], report["count"]),
                         ("faulted", "uninitialised", "x", 0, 4, 4))
        self.assertEqual((report["file"], report["kernel"], report["line"]), ("k.cu", "copy4", line_of(KERNELS, "void copy4")))

    def test_a_fault_is_named_with_its_place(self):
        (report,) = self.exec("outside<<<1, 4>>>(y)", "y:f32[4]=zeros", code=3)["reports"]
        self.assertEqual((report["check"], report["buffer"], report["byte_offset"], report["line"], report["thread"], report["count"]),
                         ("out_of_bounds", "y", 16, line_of(KERNELS, "<- here"), [2, 0, 0], 2))

    def test_ptx(self):
        self.write("iota.ptx", PTX)
        seen = self.exec("iota<<<1, 4>>>(y)", "y:i32[4]=uninit", words=["--print", "y"], file="iota.ptx")
        self.assertEqual(seen["buffers"]["y"], [0, 1, 2, 3])
        (report,) = self.exec("iota<<<1, 4>>>(y)", "y:i32[3]=uninit", file="iota.ptx", code=3)["reports"]
        self.assertEqual((report["check"], report["line"], report["byte_offset"]), ("out_of_bounds", line_of(PTX, "st.global"), 12))

    def test_what_is_not_ptx_does_not_build(self):
        for text in ["this is not PTX\n", "", PTX.replace("st.global.u32 [%rd3]", "st.global.u32 [%rd3")]:
            self.write("bad.ptx", text)
            self.assertEqual(self.exec("iota<<<1, 4>>>(y)", "y:i32[4]=uninit", file="bad.ptx", code=3)["outcome"], "build_failed", text[:20])

    def test_what_the_virtual_gpu_lacks_is_unsupported(self):
        text = PTX.replace("ret;", "frobnicate.b32 %r1, %r1;\n    ret;").replace(".version 8.0", ".version 99.0")  # newer than any ptxas
        self.write("odd.ptx", text)
        seen = self.exec("iota<<<1, 4>>>(y)", "y:i32[4]=uninit", file="odd.ptx", code=3)
        self.assertEqual((seen["outcome"], seen["reports"]), ("unsupported", []))
        self.assertIn("frobnicate", seen["log"])
        self.assertIn(str(line_of(text, "frobnicate")), seen["log"])

    def test_what_does_not_compile(self):
        text = 'extern "C" __global__ void k() {\n    nothing();  // <- here\n}\n'
        self.write("bad.cu", text)
        seen = self.exec("k<<<1, 1>>>()", file="bad.cu", code=3)
        self.assertEqual((seen["outcome"], seen["reports"], seen["buffers"]), ("build_failed", [], {}))
        self.assertIn("bad.cu(2)", seen["log"])

    def test_launches_that_cannot_be(self):
        for launch, words in [("wide<<<1, 20, 1000000>>>(y)", ["1000000"]), ("wide<<<1, 2000>>>(y)", ["2000"]), ("wide<<<0, 20>>>(y)", ["empty"]),
                              ("wide<<<(1, 70000), 20>>>(y)", ["70000"]),
                              ("wild<<<1, 20>>>(y)", ["did you mean wide?"]), ("wide<<<1, 20>>>(y, y)", ["1", "2"])]:
            seen = self.exec(launch, "y:i32[20]=uninit", code=3)
            self.assertEqual(seen["outcome"], "launch_refused", launch)
            for word in words:
                self.assertIn(word, seen["log"])

    def test_words_that_are_no_launch(self):
        for launch, column, word in [("wide<<<1, 20>>(y)", 5, ">>>"), ("wide<<<1,, 20>>>(y)", 10, "block"),
                                     ("wide<<<1, 20>>>(z)", 17, "z"), ("wide<<<M, 20>>>(y)", 8, "M")]:
            line = self.refused("exec", "k.cu", "--device", "vgpu", "--launch", launch, "--buffer", "y:i32[20]=uninit", code=2, saying=[word])
            self.assertIn(f"column {column}:", line)
        self.refused("exec", "k.cu", code=2, saying=["--launch"])

    def test_words_that_are_no_buffer(self):
        for buffer, word in [("y:i23[4]=zeros", "did you mean"), ("y:i32[4]=zeroes", "zeroes"),
                             ("y:i32[x]=zeros", "x"), ("y:i32=zeros", "NAME:TYPE[N]=FILL"),
                             ("2y:i32[4]=zeros", "2y"), ("y:i32[3]=[1,2]", "3")]:
            self.refused("exec", "k.cu", "--launch", "wide<<<1, 20>>>(y)", "--buffer", buffer, code=2, saying=[word])
        self.refused("exec", "k.cu", "--launch", "wide<<<1, 20>>>(y)", "--buffer", "y:i32[4]=zeros", "--print", "z", code=2, saying=["z"])
        self.refused("exec", "k.cu", "--launch", "wide<<<1, 20>>>(y)", "--buffer", "y:i32[4]=zeros",
                     "--buffer", "y:i32[4]=zeros", code=2, saying=["y"])

    def test_printf_goes_to_stderr(self):
        done = self.run_program("exec", "k.cu", "--device", "vgpu", "--launch", "say<<<1, 2>>>(y)", "--buffer", "y:i32[2]=uninit", "--json")
        self.assertEqual(sorted(line for line in done.stderr.splitlines() if line.startswith("thread")), ["thread 0 of one", "thread 1 of one"])
        self.assertNotIn("of one", done.stdout)

    def test_endless_loops_end(self):
        self.write("loop.cu", 'extern "C" __global__ void k(volatile int* y) {\n    while (y[0] == 0) y[1] = y[1] + 1;\n}\n')
        seen = self.exec("k<<<1, 1>>>(y)", "y:i32[2]=zeros", words=["--deadline", 1], file="loop.cu", code=3)
        self.assertIn(seen["outcome"], ("timed_out", "faulted"))

    def test_other_orders_of_blocks_give_the_same_buffers_or_it_is_said(self):
        self.write("order.cu", """
extern "C" __global__ void tickets(int* drawn, int* y) { if (threadIdx.x == 0) y[blockIdx.x] = atomicAdd(drawn, 1); }
extern "C" __global__ void square(int* y) { y[blockIdx.x] = blockIdx.x * blockIdx.x; }
""")
        words = ["exec", "order.cu", "--device", "vgpu", "--schedules", 4, "--buffer", "y:i32[64]=zeros"]
        seen = self.json(*words, "--launch", "square<<<64, 1>>>(y)", "--print", "y")
        self.assertEqual(seen["schedules"], {"run": 4, "different": 0, "first": None, "bitwise": True})
        self.assertEqual(seen["buffers"]["y"][:4], [0, 1, 4, 9])
        seen = self.json(*words, "--buffer", "drawn:i32[1]=zeros", "--launch", "tickets<<<64, 32>>>(drawn, y)", code=3)
        self.assertEqual((seen["outcome"], seen["schedules"]["different"]), ("completed", 3))
        self.assertRegex(seen["schedules"]["first"], r"seed 1: y\[\d+\] is \d+, was \d+")

    def test_the_listing(self):
        self.write("third.cu", """extern "C" __global__ void third(const float* x, float* y, int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = 2 * x[3 * i];
}
""")
        words = ["exec", "third.cu", "--device", "vgpu", "--launch", "third<<<400, 256>>>(x, y, 102400)",
                 "--buffer", "x:f32[307200]=iota", "--buffer", "y:f32[102400]=uninit"]
        story = self.run_program(*words).stdout
        for line in ("  global reads   409600 bytes in 3200 requests, 12.0 sectors of 32 bytes each",
                     "  global writes  409600 bytes in 3200 requests, 4.0 sectors of 32 bytes each",
                     "  occupancy      third: 64 of 64 warps an SM (100 %), 8 blocks of 256 threads",
                     "  line 3: 12.0 sectors a request where 4.0 would do: neighbouring threads read about 12 bytes apart; let them take "
                     "neighbouring elements, or bring the tile through shared memory (it reads 75 % of the kernel's sectors)"):
            self.assertIn(line + "\n", story)
        self.assertRegex(story, r"\n +\d+\.\d % +100\.0 % +32\.0 +8\.0 \(4\.0\) +3 \|     if \(i < n\) y\[i\] = 2 \* x\[3 \* i\];\n")
        seen = self.json(*words, "--gpu", "rtx4090")
        self.assertEqual([(advice["line"], advice["kind"]) for advice in seen["advice"] if advice["kind"] == "sectors"], [(3, "sectors")])
        self.assertEqual((seen["occupancy"][0]["most_warps_per_sm"], seen["occupancy"][0]["blocks_per_sm"]), (48, 6))

    def test_people_get_values_and_traffic(self):
        text = self.run_program("exec", "k.cu", "--device", "vgpu", "--launch", "copy4<<<1, 3>>>(x, y)", "--buffer", "x:i32[3]=iota",
                                "--buffer", "y:i32[3]=uninit", "--print", "y").stdout
        self.assertIn("completed\n", text)
        self.assertIn("y = [0,1,2]", text)
        self.assertIn("global reads   12 bytes", text)


if __name__ == "__main__":
    unittest.main()

"""What a reader's own kernels had found: undefined guards that happen to be false, atomics of a block's scope between blocks of a
cluster, operands that many warpgroups share, %is_explicit_cluster, a grid as dim3(…), and a variable that is itself misaligned."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import Case  # noqa: E402

PTX = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {{
    .reg .pred p, q, r;
    .reg .b64 at;
    ld.param.u64 at, [out];
    setp.eq.s32 p, 2, {two};
    and.pred r, p, q;
    @r bra END;
    st.global.u32 [at], 1;
END:
    ret;
}}
"""

SUM = """#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(int* out) {
    __shared__ int sum;
    auto cluster = cooperative_groups::this_cluster();
    if (threadIdx.x == 0) sum = 0;
    cluster.sync();
    if (threadIdx.x == 0) ADD(cluster.map_shared_rank(&sum, 0), 1);
    cluster.sync();
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
"""

SHARED_OPERAND = r"""
__device__ unsigned long long descriptor(const void* at) {
    return (__cvta_generic_to_shared(at) >> 4 & 0x3fff) | 128ull >> 4 << 16 | 256ull >> 4 << 32;
}
extern "C" __global__ void k(float* y) {
    __shared__ alignas(128) unsigned short a[64 * 16], b[8 * 16];
    const int group = threadIdx.x / 128;
    for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) a[i] = 0x3f80;
    for (int i = threadIdx.x; i < 8 * 16; i += blockDim.x) b[i] = 0x4000;
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    float d[4] = {};
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3},%4,%5,1,1,1,0,0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(descriptor(a)), "l"(descriptor(b)));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
    if (group != LEFT_OUT) asm volatile("bar.sync 1, %0;" :: "r"(int(blockDim.x) - (LEFT_OUT < 9 ? 128 : 0)) : "memory");
    if (group == WRITER && threadIdx.x % 128 < 8) b[threadIdx.x % 128] = 0;
    for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = d[i];
}
"""


class ReadersKernels(Case):
    def outcome(self, file, source, launch, code, *more):
        self.write(file, source)
        return self.json("exec", file, "--launch", launch, "--buffer", "out:i32[32]=zeros", "--print", "out", "--device", "vgpu", *more,
                         code=code)

    def test_a_guard_that_nobody_set_is_reported_where_it_is_false(self):
        (report,) = self.outcome("k.ptx", PTX.format(two=2), "k<<<1, 1>>>(out)", 3)["reports"]
        self.assertEqual((report["check"], report["line"]), ("uninitialised", 9))

    def test_what_a_defined_operand_settles_is_defined(self):
        self.assertEqual(self.outcome("k.ptx", PTX.format(two=3), "k<<<1, 1>>>(out)", 0)["buffers"]["out"][0], 1)

    def test_a_block_scope_does_not_reach_another_block_of_the_cluster(self):
        for seed in "0", "1":
            more = "--seed", seed, "--define"
            self.assertEqual(self.outcome("k.cu", SUM, "k<<<2, 32>>>(out)", 0, *more, "ADD=atomicAdd")["buffers"]["out"][:2], [2, 0])
            (report,) = self.outcome("k.cu", SUM, "k<<<2, 32>>>(out)", 3, *more, "ADD=atomicAdd_block")["reports"]
            self.assertEqual((report["check"], report["line"]), ("shared_race", 7))

    def test_all_warpgroups_that_read_an_operand_are_known(self):
        self.write("k.cu", SHARED_OPERAND)
        for groups, writer, left_out in ((4, 3, 9), (4, 3, 0), (4, 3, 1), (4, 3, 2), (5, 0, 2), (5, 2, 3), (3, 2, 1), (8, 0, 6)):
            for seed in "0", "1":
                seen = self.json("exec", "k.cu", "--launch", f"k<<<1, {groups * 128}>>>(y)", "--buffer", f"y:f32[{groups * 512}]=uninit",
                                 "--device", "vgpu", "--target", "sm_90a", "--seed", seed, "--define", f"WRITER={writer}", "--define",
                                 f"LEFT_OUT={left_out}", code=0 if left_out == 9 else 3)
                self.assertEqual([report["check"] for report in seen["reports"]], [] if left_out == 9 else ["shared_race"])
                for report in seen["reports"]:
                    self.assertEqual({report["line"], report["other"]["line"]}, {15, 19})

    def test_whether_a_cluster_is_explicit(self):
        source = 'extern "C" __global__ void k(int* out) { out[threadIdx.x] = 1 + __clusterDimIsSpecified(); }\n'
        for launch, wanted in (("k<<<2, 32>>>(out)", 1), ("k<<<2, 32, 0, cluster=2>>>(out)", 2)):
            self.assertEqual(self.outcome("k.cu", source, launch, 0)["buffers"]["out"], [wanted] * 32, launch)

    def test_dim3(self):
        source = 'extern "C" __global__ void k(int* out) { out[blockIdx.y * 16 + threadIdx.y * 8 + threadIdx.x] = gridDim.y; }\n'
        for launch in "k<<<dim3(1, 2), dim3(8, 2, 1)>>>(out)", "k<<<(1, 2), dim3 (8, 2)>>>(out)":
            self.assertEqual(self.outcome("k.cu", source, launch, 0)["buffers"]["out"], [2] * 32, launch)

    def test_a_variable_that_is_itself_misaligned(self):
        source = PTX[:PTX.index("    .reg .pred")].replace("{{", "{") + (
            "    .reg .b32 r;\n    .shared .align 4 .b8 pad[4];\n    .shared .align 4 .b8 s[16];\n    mov.b32 r, 0;\n    st.shared.b32 [pad], r;\n"
            "    st.shared.v4.b32 [s], {r, r, r, r};\n    ret;\n}\n")
        (report,) = self.outcome("k.ptx", source, "k<<<1, 32>>>(out)", 3)["reports"]
        self.assertEqual((report["check"], report["line"], report["buffer"]), ("misaligned", 10, "s"))
        self.assertIn("byte 0 of s, which itself begins at no multiple of 16", report["message"])


if __name__ == "__main__":
    unittest.main()

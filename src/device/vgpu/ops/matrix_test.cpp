// Instructions on matrices in registers, as PTX text. tests/matrix has every form of mma and wgmma, tests/cli what
// compilers make of them.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "device/vgpu/fixture.h"

namespace recuda::vgpu {
namespace {

/// A kernel of one warp that reads eight words a lane into r0 to r7, runs `body` and stores d0 to d3.
std::string kernel(const std::string& body) {
    std::string text =
        ".version 9.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 x, .param .u64 y) {\n"
        ".reg .b32 r<8>; .reg .b32 d<4>; .reg .f32 f<4>; .reg .b32 t; .reg .b64 px, py, at; .reg .b64 w<2>;\n"
        "ld.param.u64 px, [x]; ld.param.u64 py, [y]; mov.u32 t, %tid.x;\n"
        "mul.wide.u32 at, t, 32; add.u64 px, px, at; mul.wide.u32 at, t, 16; add.u64 py, py, at;\n";
    for (int i = 0; i < 8; ++i) text += fmt::format("ld.global.b32 r{}, [px + {}];\n", i, i * 4);
    for (int i = 0; i < 4; ++i) text += fmt::format("mov.b32 d{}, 0; mov.b32 f{}, r{};\n", i, i, i);
    text += body + "\n";
    for (int i = 0; i < 4; ++i) text += fmt::format("st.global.b32 [py + {}], d{};\n", i * 4, i);
    return text + "ret; }\n";
}

Execution run(const std::string& body, const std::vector<uint32_t>& words, std::vector<uint32_t>& results) {
    Machine machine(kernel(body), "k.ptx", {.target = "sm_90a", .seed = 7, .threads = 1});
    machine.buffer("x", words);
    machine.buffer("y", std::vector<uint32_t>(128));
    const Execution done = machine.run("k", {1}, {32}, {machine.at("x"), machine.at("y")});
    results = machine.values<uint32_t>("y", 128);
    return done;
}

TEST(Movmatrix, Transposes) {
    std::vector<uint32_t> words(256), results;
    for (uint32_t lane = 0; lane < 32; ++lane) words[lane * 8] = lane * 2 | (lane * 2 + 1) << 16;  // its place by rows
    const Execution done = run("movmatrix.sync.aligned.m8n8.trans.b16 d0, r0;", words, results);
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t row = lane / 4, column = lane % 4 * 2;
        EXPECT_EQ(results[lane * 4], (column * 8 + row) | ((column + 1) * 8 + row) << 16) << lane;
    }
}

// A keeps the second and the fourth of each four; B is one in row k = 1, and infinite where A keeps nothing.
TEST(SparseMma, MultipliesWhatIsKept) {
    std::vector<uint32_t> words(256), results;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        words[lane * 8] = words[lane * 8 + 1] = 0x40003c00;             // A: 1, 2
        words[lane * 8 + 2] = lane % 4 == 0 ? 0x3c007c00 : 0x00007c00;  // B: infinity, 1 or 0
        words[lane * 8 + 4] = 0xdddddddd;
    }
    const Execution done =
        run("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {d0, d1}, {r0, r1}, {r2, r3}, {d2, "
            "d3}, r4, 1;",
            words, results);
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(results[lane * 4], 0x3c003c00u) << lane;
}

// A and B are ones; row m is scaled by 2^m, column n by 2^-n, by the bytes and threads that the selectors name.
TEST(ScaledMma, TakesARowsAndAColumnsScale) {
    std::vector<uint32_t> words(256, 0x38383838), results;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t row = lane / 4 + lane % 2 * 8;
        words[lane * 8 + 6] = lane % 4 >= 2 ? 0xff00ffff | (127 + row) << 16 : 0xffffffff;
        words[lane * 8 + 7] = lane % 4 == 1 ? 0xffffff00 | (127 - lane / 4) : 0xffffffff;
    }
    const Execution done =
        run("mov.b32 d0, 0; mov.b32 d1, 0;"
            "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 "
            "{d0, d1, d2, d3}, {r0, r1, r2, r3}, {r4, r5}, {d0, d1, d2, d3}, r6, {2, 1}, r7, {0, 1};",
            words, results);
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    for (uint32_t lane = 0; lane < 32; ++lane)
        for (uint32_t i = 0; i < 4; ++i) {
            const int row = static_cast<int>(lane / 4 + i / 2 * 8), column = static_cast<int>(lane % 4 * 2 + i % 2);
            EXPECT_EQ(std::bit_cast<float>(results[lane * 4 + i]), std::ldexp(32.0f, row - column)) << lane << " " << i;
        }
}

// Sixteen products of 1 and 1/2 a block; the row's blocks count 1, 2, 1/2 and 0 times.
TEST(ScaledMma, ScalesBlocksOfFourBits) {
    std::vector<uint32_t> words(256, 0x22222222), results;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        words[lane * 8 + 4] = words[lane * 8 + 5] = 0x11111111;
        words[lane * 8 + 6] = 0x00304038;
        words[lane * 8 + 7] = 0x38383838;
    }
    const Execution done =
        run("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 "
            "{d0, d1, d2, d3}, {r0, r1, r2, r3}, {r4, r5}, {d0, d1, d2, d3}, r6, {0, 0}, r7, {0, 0};",
            words, results);
    ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
    EXPECT_THAT(results, testing::Each(std::bit_cast<uint32_t>(28.0f)));
}

TEST(Matrices, SayWhatIsNotThere) {
    for (const auto& [statement, why] : std::initializer_list<std::pair<const char*, const char*>>{
             {"mma.sync.aligned.m16n8k32.row.col.kind::mxf4.block_scale.f32.e4m3.e4m3.f32.ue8m0 {f0, f1, f2, f3}, "
              "{r0, r1, "
              "r2, r3}, {r4, r5}, {f0, f1, f2, f3}, r6, {0, 0}, r7, {0, 0};",
              "this shape"},
             {"mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {f0, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5}, {f0, "
              "f1, f2, "
              "f3};",
              "combination"},
             {"mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {f0, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5}, {f0, "
              "f1, f2, "
              "f3};",
              "layout"},
             {"wgmma.mma_async.sync.aligned.m64n8k32.f32.f16.f16 {f0, f1, f2, f3}, w0, w1, 1, 1, 1, 0, 0;",
              "combination"},
             {"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {d0, d1}, [t];", "shape"}}) {
        std::vector<uint32_t> results;
        const Execution done = run(statement, std::vector<uint32_t>(256), results);
        EXPECT_EQ(done.outcome, Outcome::unsupported) << statement;
        EXPECT_THAT(done.log, testing::HasSubstr(why)) << statement;
        EXPECT_THAT(done.log, testing::HasSubstr("ptx line")) << statement;
    }
}

}  // namespace
}  // namespace recuda::vgpu

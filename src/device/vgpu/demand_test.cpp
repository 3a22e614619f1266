// Widened loads: what nobody uses of a vector is no access; what is used is checked as ever.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/vgpu/fixture.h"
#include "device/vgpu/memory/gather.h"

namespace recuda::vgpu {
namespace {

/// A kernel of one block that fills `tile` up to `written` floats and stores the sum of a load's elements.
std::string kernel(const std::string& declaration, const std::string& body) {
    return ".version 8.0\n.target sm_90\n.address_size 64\n"
           ".visible .entry k(.param .u64 x, .param .u64 y) {\n"
           ".reg .f32 %f<16>;\n.reg .b32 %r<16>;\n.reg .b16 %h<8>;\n.reg .b64 %rd<8>;\n.reg .pred p;\n" +
           declaration +
           "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\n"
           "add.u64 %rd4, %rd2, %rd3;\nmov.f32 %f9, 0f00000000;\n" +
           body + "st.global.f32 [%rd4], %f9;\nret;\n}\n";
}

constexpr char kTile[] = ".shared .align 16 .b8 part[28];\n";
constexpr char kFill[] =
    "mov.f32 %f1, 0f3f800000;\nst.shared.v4.f32 [part], {%f1, %f1, %f1, %f1};\n"
    "st.shared.v2.f32 [part+16], {%f1, %f1};\nst.shared.f32 [part+24], %f1;\nbar.sync 0;\n";

struct Case {
    friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
    const char* name;
    std::string declaration, body;
    bool faulty = false;
    Check check = Check::out_of_bounds;
    int64_t offset = 0;
    uint32_t bytes = 0;
};

class WidenedLoads : public testing::TestWithParam<Case> {};

TEST_P(WidenedLoads, CountsOnlyWhatIsUsed) {
    const Case& one = GetParam();
    Machine machine(kernel(one.declaration, one.body), "k.ptx", {.seed = 3, .threads = 1});
    machine.buffer("x", std::vector<float>{1, 2, 3});
    machine.unwritten("y", 128);
    const Execution done = machine.run("k", {1}, {32}, {machine.at("x"), machine.at("y")});
    if (!one.faulty) {
        ASSERT_EQ(done.outcome, Outcome::correct) << shown(done);
        for (const float value : machine.values<float>("y", 32)) EXPECT_EQ(value, 6);
        return;
    }
    ASSERT_EQ(done.outcome, Outcome::faulted);
    ASSERT_EQ(done.reports.size(), 1u) << shown(done);
    EXPECT_EQ(done.reports[0].check, one.check) << shown(done);
    EXPECT_EQ(done.reports[0].byte_offset, one.offset);
    EXPECT_EQ(done.reports[0].bytes, one.bytes);
}

constexpr char kSum[] = "add.f32 %f9, %f2, %f3;\nadd.f32 %f9, %f9, %f4;\n";

INSTANTIATE_TEST_SUITE_P(
    Kernels, WidenedLoads,
    testing::Values(
        Case{"shared_tail", kTile,
             std::string(kFill) + "ld.shared.v4.f32 {%f2, %f3, %f4, %f5}, [part+16];\n" + kSum +
                 "add.f32 %f9, %f9, 0f40400000;\n"},
        Case{"shared_used_tail", kTile,
             std::string(kFill) + "ld.shared.v4.f32 {%f2, %f3, %f4, %f5}, [part+16];\n" + kSum +
                 "add.f32 %f9, %f9, %f5;\n",
             true, Check::out_of_bounds, 16, 16},
        Case{"shared_used_past_gap", kTile,
             std::string(kFill) + "ld.shared.v4.f32 {%f2, %f3, %f4, %f5}, [part+16];\nadd.f32 %f9, %f2, %f5;\n", true,
             Check::out_of_bounds, 28, 4},
        Case{"unwritten_gap", kTile,
             "mov.f32 %f1, 0f40000000;\nst.shared.v2.f32 [part], {%f1, %f1};\nst.shared.f32 [part+12], %f1;\nbar.sync "
             "0;\nld.shared.v4.f32 {%f2, %f3, %f5, %f4}, [part];\n" +
                 std::string(kSum)},
        Case{"unwritten_used", kTile,
             "mov.f32 %f1, 0f40000000;\nst.shared.v2.f32 [part], {%f1, %f1};\nbar.sync "
             "0;\nld.shared.v4.f32 {%f2, %f5, %f3, %f6}, [part];\nadd.f32 %f9, %f2, %f3;\n",
             true, Check::uninitialised, 8, 4},
        Case{"global_tail", "", "ld.global.v4.f32 {%f2, %f3, %f4, %f5}, [%rd1];\n" + std::string(kSum)},
        Case{"global_sink", "", "ld.global.v4.f32 {%f2, %f3, %f4, _}, [%rd1];\n" + std::string(kSum)},
        Case{"generic_tail", "", "ld.v4.f32 {%f2, %f3, %f4, %f5}, [%rd1];\n" + std::string(kSum)},
        Case{"guard_uses_it", "",
             "ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd1];\nsetp.ne.b32 p, %r5, 0;\n@p mov.f32 %f9, 0f3f800000;\n",
             true, Check::out_of_bounds, 12, 4},
        Case{"misaligned_as_a_whole", "", "ld.global.v2.f32 {%f2, %f3}, [%rd1+4];\nmov.f32 %f9, %f2;\n", true,
             Check::misaligned, 4, 8},
        Case{"local_tail", ".local .align 16 .b8 own[12];\n",
             "mov.f32 %f1, 0f40000000;\nst.local.v2.f32 [own], {%f1, %f1};\nst.local.f32 [own+8], %f1;\n"
             "ld.local.v4.f32 {%f2, %f3, %f4, %f5}, [own];\n" +
                 std::string(kSum)},
        Case{"half_of_a_word", ".shared .align 16 .b8 part[14];\n",
             "mov.b16 %h1, 1;\nst.shared.v4.b16 [part], {%h1, %h1, %h1, %h1};\nst.shared.v2.b16 [part+8], {%h1, %h1};\n"
             "st.shared.b16 [part+12], %h1;\nbar.sync 0;\nld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [part];\n"
             "cvt.u16.u32 %h2, %r5;\nmov.b32 {%h3, %h4}, %r4;\nadd.u16 %h5, %h2, %h3;\nadd.u16 %h5, %h5, %h4;\n"
             "add.u16 %h5, %h5, 3;\ncvt.rn.f32.u16 %f9, %h5;\n"},
        Case{"three_bytes", ".shared .align 4 .b8 part[3];\n",
             "mov.b16 %h1, 2;\nst.shared.b8 [part], %h1;\nst.shared.b8 [part+1], %h1;\nst.shared.b8 [part+2], %h1;\n"
             "bar.sync 0;\nld.shared.b32 %r2, [part];\nand.b32 %r3, %r2, 255;\nbfe.u32 %r4, %r2, 8, 8;\n"
             "prmt.b32 %r5, %r2, 0, 0x7772;\nand.b32 %r5, %r5, 255;\nadd.u32 %r6, %r3, %r4;\nadd.u32 %r6, %r6, %r5;\n"
             "cvt.rn.f32.u32 %f9, %r6;\n"},
        Case{"narrowed_by_the_program", ".shared .align 4 .b8 part[4];\n",
             "mov.b32 %r2, 1;\nst.shared.b32 [part], %r2;\nbar.sync 0;\nld.shared.b32 %r3, [part+4];\n"
             "and.b32 %r3, %r3, 255;\ncvt.rn.f32.u32 %f9, %r3;\n",
             true, Check::out_of_bounds, 4, 4}),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

TEST(Widened, IsCountedByTheBytesInUse) {
    Machine machine(kernel("", "ld.global.v4.f32 {%f2, %f3, %f4, %f5}, [%rd1];\n" + std::string(kSum)), "k.ptx",
                    {.seed = 3, .threads = 1});
    machine.buffer("x", std::vector<float>{1, 2, 3});
    machine.unwritten("y", 128);
    const Execution done = machine.run("k", {1}, {32}, {machine.at("x"), machine.at("y")});
    EXPECT_EQ(done.counters->global_read.requests, 1u);
    EXPECT_EQ(done.counters->global_read.bytes, 32u * 12);
    EXPECT_EQ(done.counters->global_read.sectors, 1u);
}

/// Endless loops of full blocks are found by the instructions of one block, whatever they do meanwhile.
TEST(Runaway, IsFoundWhereTheLoopStoresCountsOrWaits) {
    const auto outcome = [](const std::string& loop) {
        Machine machine(kernel(kTile, "mov.b32 %r2, 0;\nAGAIN:\n" + loop + "bra AGAIN;\n"), "k.ptx",
                        {.seed = 3, .threads = 1, .fuel = 200'000});
        machine.buffer("x", std::vector<float>{1, 2, 3});
        machine.unwritten("y", 128);
        const Execution done = machine.run("k", {64}, {64}, {machine.at("x"), machine.at("y")});
        return done.reports.size() == 1 ? std::string(name(done.reports[0].check)) : shown(done);
    };
    EXPECT_EQ(outcome("add.u32 %r2, %r2, 2;\n"), "runaway");
    EXPECT_EQ(outcome("add.u32 %r2, %r2, 2;\nst.volatile.global.u32 [%rd1], %r2;\n"), "runaway");
    EXPECT_EQ(outcome("atom.global.add.u32 %r2, [%rd1], 1;\n"), "runaway");
    EXPECT_EQ(outcome("bar.sync 0;\nadd.u32 %r2, %r2, 2;\n"), "runaway");
    EXPECT_EQ(outcome("ld.volatile.global.u32 %r3, [%rd1];\n"), "runaway");
    EXPECT_EQ(outcome("atom.global.cas.b32 %r3, [%rd1], 0, 1;\n"), "runaway");
}

TEST(PiecesOf, AreAlignedAndAtMostAnElement) {
    const auto text = [](uint32_t used, uint32_t width, uint32_t element) {
        std::string all;
        for (const Piece& piece : pieces_of(used, width, element))
            all += std::to_string(piece.at) + "+" + std::to_string(piece.bytes) + " ";
        return all;
    };
    EXPECT_EQ(text(0x0fff, 16, 4), "0+4 4+4 8+4 ");
    EXPECT_EQ(text(0x7, 4, 4), "0+2 2+1 ");
    EXPECT_EQ(text(0xf0ff, 16, 8), "0+8 12+4 ");
    EXPECT_EQ(text(0xffff00ffu, 32, 4), "0+4 4+4 16+4 20+4 24+4 28+4 ");
}

}  // namespace
}  // namespace recuda::vgpu

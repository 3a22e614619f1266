#include "device/vgpu/ptx/test_support.h"

namespace recuda::vgpu::ptx {
namespace {

std::vector<uint8_t> bytes(std::initializer_list<int> values) { return {values.begin(), values.end()}; }

TEST(Parser, VariablesAndInitialisers) {
    const Module module = parse_module(R"(
        .const .align 8 .f64 scales[2] = { 0d3FB999999999999A, 1.5 };
        .const .b8 letters[6] = { 65, 0x42, 0103, 0b1000100, 69 };
        .global .align 4 .u16 matrix[2][3] = { {1, 2}, {4, 5, -1} };
        .global .u64 where = generic(matrix) + 4;
        .global .u64 offsets[] = { matrix + 8, generic(where), 7 };
        .global .b8 split[2] = { 0xff(matrix), 0xff00(matrix) };
        .global .v4 .f32 four = { 1, 0f40000000, 3.0, 4.0 };
        .extern .shared .align 16 .b8 dynamic[];
        .shared .b32 a, b[4];
        .global .texref picture;
        .visible .global .attribute(.unified(1, 2)) .align 2 .s16 small = -300;)");
    const auto& v = module.variables;
    EXPECT_EQ(v[0].initial, bytes({0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f}));
    EXPECT_EQ(v[1].initial, bytes({65, 66, 67, 68, 69}));
    EXPECT_EQ(v[1].size(), 6u);
    EXPECT_EQ(v[2].initial, bytes({1, 0, 2, 0, 0, 0, 4, 0, 5, 0, 0xff, 0xff}));
    ASSERT_EQ(v[3].relocations.size(), 1u);
    EXPECT_EQ(v[3].relocations[0].symbol, "matrix");
    EXPECT_EQ(v[3].relocations[0].addend, 4);
    EXPECT_TRUE(v[3].relocations[0].generic);
    EXPECT_EQ(v[4].extents, std::vector<uint64_t>{3});
    EXPECT_EQ(v[4].relocations.at(0).addend, 8);
    EXPECT_FALSE(v[4].relocations.at(0).generic);
    EXPECT_EQ(v[4].relocations.at(1).at, 8u);
    EXPECT_EQ(v[4].initial[16], 7);
    EXPECT_EQ(v[5].relocations.at(1).mask, 0xff00u);
    EXPECT_EQ(v[5].relocations.at(1).at, 1u);
    EXPECT_EQ(v[6].size(), 16u);
    EXPECT_EQ(v[6].align, 16u);
    EXPECT_EQ(v[6].initial, bytes({0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40}));
    EXPECT_TRUE(v[7].is_extern);
    EXPECT_EQ(v[7].extents, std::vector<uint64_t>{0});
    EXPECT_EQ(v[7].size(), 0u);
    EXPECT_EQ(v[9].size(), 16u);
    EXPECT_EQ(v[10].size(), 8u);
    EXPECT_EQ(v[11].initial, bytes({0xd4, 0xfe}));
}

TEST(Parser, SectionsAreSkipped) {
    const Module module = parse_module(".section .debug_str { $L__s: .b8 \"a } b\" 0 // }\n }\n.global .u32 x;");
    EXPECT_EQ(module.variables.at(0).name, "x");
}

}  // namespace
}  // namespace recuda::vgpu::ptx

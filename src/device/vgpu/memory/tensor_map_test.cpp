#include "device/vgpu/memory/tensor_map.h"

#include <gtest/gtest.h>

#include <set>

namespace recuda::vgpu {
namespace {

TensorMapFields some_fields() {
    return fields_of({.dtype = "bf16",
                      .dims = {96, 7, 5},
                      .strides_bytes = {256, 4096},
                      .box = {64, 4, 2},
                      .swizzle = 128,
                      .element_strides = {1, 2, 1},
                      .nan_fill = true},
                     0x7f0000001230);
}

TEST(TensorMapObject, KeepsItsFields) {
    const auto back = decoded(encoded(some_fields()));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->address, 0x7f0000001230u);
    EXPECT_EQ(back->rank, 3u);
    EXPECT_EQ(back->extents[0], 96u);
    EXPECT_EQ(back->extents[2], 5u);
    EXPECT_EQ(back->strides[1], 4096u);
    EXPECT_EQ(back->box[0], 64u);
    EXPECT_EQ(back->tile_extent(1), 2u);
    EXPECT_EQ(back->element_bytes(), 2u);
    EXPECT_EQ(back->swizzle_span(), 128u);
    EXPECT_EQ(back->fill_bits(), 0x7ff7u);
}

TEST(TensorMapObject, FillsEverySixteenBitsAlike) {
    const std::pair<const char*, uint64_t> kTypes[] = {
        {"f16", 0x7ff7}, {"bf16", 0x7ff7}, {"f32", 0x7ff77ff7}, {"f64", 0x7ff77ff77ff77ff7}};
    for (const auto& [type, bits] : kTypes)
        EXPECT_EQ(fields_of({.dtype = type, .dims = {8}, .box = {8}, .nan_fill = true}, 0).fill_bits(), bits) << type;
}

TEST(TensorMapObject, KnowsWhenItIsDamaged) {
    for (size_t i = 0; i < kTensorMapBytes; ++i) {
        TensorMapBytes bytes = encoded(some_fields());
        bytes[i] ^= std::byte{0x10};
        EXPECT_FALSE(decoded(bytes)) << i;
    }
    TensorMapBytes foreign;
    foreign.fill(std::byte{1});
    EXPECT_FALSE(decoded(foreign));
    EXPECT_EQ(decoded(TensorMapBytes{})->address, 0u);
}

// The PTX ISA shows the patterns as tables: within 8 rows of 128 bytes, row r has its pieces of 16 bytes XORed with r;
// for 64 bytes every two rows of 64 share one number of two bits, for 32 every four rows of 32 one of one bit.
TEST(Swizzle, MovesPiecesAsTheTablesSay) {
    for (uint32_t row = 0; row < 8; ++row)
        for (uint32_t piece = 0; piece < 8; ++piece)
            EXPECT_EQ(swizzled(row * 128 + piece * 16 + 5, 128), row * 128 + (piece ^ row) * 16 + 5);
    for (uint32_t row = 0; row < 8; ++row)
        for (uint32_t piece = 0; piece < 4; ++piece)
            EXPECT_EQ(swizzled(row * 64 + piece * 16, 64), row * 64 + (piece ^ row / 2) * 16);
    for (uint32_t row = 0; row < 8; ++row)
        for (uint32_t piece = 0; piece < 2; ++piece)
            EXPECT_EQ(swizzled(row * 32 + piece * 16, 32), row * 32 + (piece ^ row / 4) * 16);
    EXPECT_EQ(swizzled(1234, 0), 1234u);
}

TEST(Swizzle, LosesNoByte) {
    for (const uint32_t span : {32u, 64u, 128u}) {
        std::set<uint32_t> places;
        for (uint32_t at = 0; at < 2048; ++at) places.insert(swizzled(at, span));
        EXPECT_EQ(places.size(), 2048u);
        EXPECT_EQ(*places.rbegin(), 2047u);
    }
}

}  // namespace
}  // namespace recuda::vgpu

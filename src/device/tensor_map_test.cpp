#include "device/tensor_map.h"

#include <gmock/gmock.h>

namespace recuda {
namespace {

TensorMap matrix() { return {.dtype = "bf16", .dims = {128, 64}, .box = {64, 8}, .swizzle = 128}; }

TEST(TensorMap, IsDenseUnlessStridesSayOtherwise) {
    EXPECT_EQ(tensor_map_strides({.dtype = "f32", .dims = {8, 4, 2}}), (std::vector<uint64_t>{32, 128}));
    EXPECT_EQ(tensor_map_strides({.dtype = "f32", .dims = {8, 4}, .strides_bytes = {64}}), (std::vector<uint64_t>{64}));
    EXPECT_TRUE(tensor_map_strides({.dtype = "u8", .dims = {64}}).empty());
}

TEST(TensorMap, IsRefusedWithAReason) {
    EXPECT_EQ(tensor_map_refusal(matrix(), 4096), "");
    struct Case {
        void (*change)(TensorMap& map);
        const char* why;
    };
    const Case kCases[] = {
        {[](TensorMap& map) { map.dims.assign(6, 64), map.box.assign(6, 8); }, "1 to 5 dimensions"},
        {[](TensorMap& map) { map.dims[1] = 0; }, "dimension 1 is 0"},
        {[](TensorMap& map) { map.dims[0] = (uint64_t{1} << 32) + 8; }, "dimension 0 is 4294967304"},
        {[](TensorMap& map) { map.box[1] = 257; }, "dimension 1 of the box is 257"},
        {[](TensorMap& map) { map.box[0] = 4; }, "has 8 bytes, which is no multiple of 16"},
        {[](TensorMap& map) { map.box[0] = 72; }, "has 144 bytes, more than the 128 of the swizzle"},
        {[](TensorMap& map) { map.swizzle = 16; }, "swizzle is 0, 32, 64 or 128, not 16"},
        {[](TensorMap& map) { map.strides_bytes = {200}; }, "a stride of 200 bytes"},
        {[](TensorMap& map) { map.dims[0] = 63; }, "a stride of 126 bytes"},
        {[](TensorMap& map) { map.strides_bytes = {uint64_t{1} << 40}; }, "below 1099511627776"},
        {[](TensorMap& map) {
             map.element_strides = {1, 9};
         },
         "an element stride is 9"},
        {[](TensorMap& map) { map.dtype = "u16", map.nan_fill = true; }, "floats, not u16"},
    };
    for (const Case& one : kCases) {
        TensorMap map = matrix();
        one.change(map);
        EXPECT_THAT(tensor_map_refusal(map, 4096), testing::HasSubstr(one.why));
    }
    EXPECT_THAT(tensor_map_refusal(matrix(), 4104), testing::HasSubstr("no multiple of 16"));
}

}  // namespace
}  // namespace recuda

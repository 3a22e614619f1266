#include "device/tensor_map.h"

#include <fmt/format.h>

#include "tensor/dtype.h"

namespace recuda {
namespace {

constexpr size_t kMostDimensions = 5;
constexpr uint64_t kMostExtent = uint64_t{1} << 32, kMostStride = uint64_t{1} << 40;
constexpr uint32_t kMostBox = 256, kMostElementStride = 8, kAlign = 16;

std::string inner_refusal(const TensorMap& map, uint64_t address, uint64_t element) {
    const uint64_t inner = map.box[0] * element;
    if (address % kAlign != 0) return fmt::format("its memory is at no multiple of {}", kAlign);
    if (inner % kAlign != 0)
        return fmt::format("the box's inner dimension has {} bytes, which is no multiple of {}", inner, kAlign);
    if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128)
        return fmt::format("swizzle is 0, 32, 64 or 128, not {}", map.swizzle);
    if (map.swizzle != 0 && inner > map.swizzle)
        return fmt::format("the box's inner dimension has {} bytes, more than the {} of the swizzle", inner,
                           map.swizzle);
    if (map.nan_fill && !is_floating(dtype_named(map.dtype)))
        return fmt::format("oob=nan needs elements that are floats, not {}", map.dtype);
    return "";
}

}  // namespace

std::vector<uint64_t> tensor_map_strides(const TensorMap& map) {
    if (!map.strides_bytes.empty() || map.dims.empty()) return map.strides_bytes;
    std::vector<uint64_t> strides;
    uint64_t step = size_bytes(dtype_named(map.dtype));
    for (size_t i = 0; i + 1 < map.dims.size(); ++i) strides.push_back(step *= map.dims[i]);
    return strides;
}

std::string tensor_map_refusal(const TensorMap& map, uint64_t address) {
    const size_t rank = map.dims.size();
    if (rank == 0 || rank > kMostDimensions || map.box.size() != rank)
        return fmt::format("it has 1 to {} dimensions and as many box sizes", kMostDimensions);
    for (size_t i = 0; i < rank; ++i) {
        if (map.dims[i] == 0 || map.dims[i] > kMostExtent)
            return fmt::format("dimension {} is {}, outside of 1 to {}", i, map.dims[i], kMostExtent);
        if (map.box[i] == 0 || map.box[i] > kMostBox)
            return fmt::format("dimension {} of the box is {}, outside of 1 to {}", i, map.box[i], kMostBox);
    }
    if (!map.strides_bytes.empty() && map.strides_bytes.size() + 1 != rank)
        return fmt::format("{} dimensions have {} strides", rank, rank - 1);
    for (const uint64_t stride : tensor_map_strides(map))
        if (stride % kAlign != 0 || stride >= kMostStride)
            return fmt::format("a stride of {} bytes: strides are multiples of {} below {}", stride, kAlign,
                               kMostStride);
    if (!map.element_strides.empty() && map.element_strides.size() != rank)
        return fmt::format("{} dimensions have {} element strides", rank, rank);
    for (const uint32_t step : map.element_strides)
        if (step == 0 || step > kMostElementStride)
            return fmt::format("an element stride is {}, outside of 1 to {}", step, kMostElementStride);
    return inner_refusal(map, address, size_bytes(dtype_named(map.dtype)));
}

}  // namespace recuda

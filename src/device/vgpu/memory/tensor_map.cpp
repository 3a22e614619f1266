#include "device/vgpu/memory/tensor_map.h"

#include <bit>
#include <cstring>

#include "device/tensor_map.h"
#include "tensor/dtype.h"

namespace recuda::vgpu {
namespace {

constexpr uint32_t kMagic = 0x314d5472;

/// The numbers of tensormap.replace's .elemtype (PTX ISA, its table of values).
struct ElementType {
    uint32_t bytes;
    ptx::Type type;
};
constexpr ElementType kTypes[] = {{1, ptx::Type::u8},  {2, ptx::Type::u16}, {4, ptx::Type::u32}, {4, ptx::Type::s32},
                                  {8, ptx::Type::u64}, {8, ptx::Type::s64}, {2, ptx::Type::f16}, {4, ptx::Type::f32},
                                  {4, ptx::Type::f32}, {8, ptx::Type::f64}, {2, ptx::Type::bf16}};

uint32_t element_type_of(DType type) {
    switch (type) {
        case DType::i8:
        case DType::u8:
        case DType::e4m3:
        case DType::e5m2:
            return 0;
        case DType::i16:
        case DType::u16:
            return 1;
        case DType::u32:
            return 2;
        case DType::i32:
            return 3;
        case DType::u64:
            return 4;
        case DType::i64:
            return 5;
        case DType::f16:
            return 6;
        case DType::f32:
            return 7;
        case DType::f64:
            return 9;
        case DType::bf16:
            return 10;
    }
    return 0;
}

template <typename T>
void put(TensorMapBytes& bytes, size_t at, uint64_t value) {
    const T narrow = static_cast<T>(value);
    std::memcpy(bytes.data() + at, &narrow, sizeof narrow);
}

template <typename T>
T get(const TensorMapBytes& bytes, size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

/// FNV-1a of all bytes but the checksum's own.
uint32_t checksum_of(const TensorMapBytes& bytes) {
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < bytes.size(); ++i)
        if (i < 4 || i >= 8) sum = (sum ^ static_cast<uint32_t>(bytes[i])) * 16777619u;
    return sum;
}

}  // namespace

uint32_t TensorMapFields::element_bytes() const { return kTypes[element_type].bytes; }
ptx::Type TensorMapFields::type() const { return kTypes[element_type].type; }

uint64_t TensorMapFields::fill_bits() const {
    if (fill == 0) return 0;
    switch (type()) {
        case ptx::Type::f16:
        case ptx::Type::bf16:
            return 0x7ff7;
        case ptx::Type::f32:
            return 0x7ff77ff7;
        case ptx::Type::f64:
            return 0x7ff77ff77ff77ff7;
        default:
            return 0;
    }
}

TensorMapBytes encoded(const TensorMapFields& fields) {
    TensorMapBytes bytes{};
    put<uint32_t>(bytes, 0, kMagic);
    put<uint64_t>(bytes, 8, fields.address);
    for (size_t i = 0; i < kMostTensorRank; ++i) {
        put<uint32_t>(bytes, 16 + 4 * i, fields.extents[i] - 1);
        put<uint64_t>(bytes, 36 + 8 * i, fields.strides[i]);
        put<uint16_t>(bytes, 76 + 2 * i, fields.box[i]);
        put<uint8_t>(bytes, 86 + i, fields.element_strides[i]);
    }
    put<uint8_t>(bytes, 91, fields.rank - 1);
    put<uint8_t>(bytes, 92, fields.element_type);
    put<uint8_t>(bytes, 93, fields.swizzle);
    put<uint8_t>(bytes, 94, fields.fill);
    put<uint32_t>(bytes, 4, checksum_of(bytes));
    return bytes;
}

std::optional<TensorMapFields> decoded(const TensorMapBytes& bytes) {
    if (bytes == TensorMapBytes{}) return TensorMapFields{};
    if (get<uint32_t>(bytes, 0) != kMagic || get<uint32_t>(bytes, 4) != checksum_of(bytes)) return std::nullopt;
    TensorMapFields fields;
    fields.address = get<uint64_t>(bytes, 8);
    for (size_t i = 0; i < kMostTensorRank; ++i) {
        fields.extents[i] = uint64_t{get<uint32_t>(bytes, 16 + 4 * i)} + 1;
        fields.strides[i] = get<uint64_t>(bytes, 36 + 8 * i);
        fields.box[i] = get<uint16_t>(bytes, 76 + 2 * i);
        fields.element_strides[i] = get<uint8_t>(bytes, 86 + i);
    }
    fields.rank = get<uint8_t>(bytes, 91) + 1u;
    fields.element_type = get<uint8_t>(bytes, 92);
    fields.swizzle = get<uint8_t>(bytes, 93);
    fields.fill = get<uint8_t>(bytes, 94);
    // Our own bytes may still have been written by a kernel that knows the checksum.
    bool sound = fields.rank <= kMostTensorRank && fields.element_type < std::size(kTypes) && fields.swizzle <= 3;
    for (size_t i = 0; i < kMostTensorRank; ++i)
        sound = sound && fields.box[i] - 1 < 256 && fields.element_strides[i] - 1 < 8;
    return sound ? std::optional(fields) : std::nullopt;
}

TensorMapFields fields_of(const TensorMap& map, uint64_t address) {
    TensorMapFields fields;
    fields.address = address;
    fields.rank = static_cast<uint32_t>(map.dims.size());
    const std::vector<uint64_t> strides = tensor_map_strides(map);
    for (size_t i = 0; i < map.dims.size(); ++i) {
        fields.extents[i] = map.dims[i];
        fields.box[i] = map.box[i];
        if (!map.element_strides.empty()) fields.element_strides[i] = map.element_strides[i];
        if (i < strides.size()) fields.strides[i] = strides[i];
    }
    fields.element_type = element_type_of(dtype_named(map.dtype));
    fields.swizzle = map.swizzle == 0 ? 0 : static_cast<uint32_t>(std::bit_width(map.swizzle / 32));
    fields.fill = map.nan_fill ? 1 : 0;
    return fields;
}

}  // namespace recuda::vgpu

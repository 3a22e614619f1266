#include "device/vgpu/byte_flow.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;
using ptx::Statement;

constexpr uint16_t kAll = 0xffff;

/// Calls of(j) for the bytes of the result.
template <typename Of>
ByteMap mapped(const RegisterPlace& result, Of of) {
    ByteMap map{};
    for (uint32_t j = 0; j < std::clamp(result.bytes, 1u, kMostRegisterBytes); ++j) map[j] = of(j);
    return map;
}

uint16_t bytes_at(int64_t from, uint32_t count) {
    uint32_t mask = 0;
    for (int64_t i = std::max<int64_t>(from, 0); i < from + count && i < kMostRegisterBytes; ++i) mask |= 1u << i;
    return static_cast<uint16_t>(mask);
}

/// Bytes that hold bits `from` to `from + count` - 1.
uint16_t bytes_of_bits(int64_t from, uint32_t count) {
    from = std::max<int64_t>(from, 0);
    return count == 0 ? 0 : bytes_at(from / 8, static_cast<uint32_t>((from + count - 1) / 8 - from / 8 + 1));
}

/// Bytes of an element of a packed type, 0 for other types.
uint32_t element_bytes(std::string_view type) {
    for (const std::string_view name : {"f16x2", "bf16x2", "u16x2", "s16x2"})
        if (type == name) return 2;
    for (const std::string_view name : {"e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2"})
        if (type == name) return 1;
    return type == "f32x2" ? 4 : 0;
}

bool is_constant(const Statement& statement, size_t index) {
    return statement.operands.size() > index && statement.operands[index].kind == Kind::integer;
}

bool is_integer(std::string_view type) {
    const ptx::Type named = ptx::type_named(type);
    return named >= ptx::Type::b8 && named <= ptx::Type::s64;
}

ByteMap of_move(const Statement& statement, const RegisterPlace& result, const RegisterPlace& source) {
    const uint32_t parts = std::max(result.elements, source.elements);
    if (parts == 1 || result.elements == source.elements)
        return mapped(result, [&](uint32_t j) { return result.element == source.element ? bytes_at(j, 1) : 0; });
    const uint32_t step = ptx::size_bytes(ptx::type_named(statement.parts.back())) / parts;
    if (step == 0) return mapped(result, [](uint32_t) { return kAll; });
    return mapped(result, [&](uint32_t j) -> uint16_t {
        if (result.elements > 1) return j < step ? bytes_at(result.element * step + j, 1) : 0;
        return j / step == source.element ? bytes_at(j % step, 1) : 0;
    });
}

ByteMap of_conversion(const Statement& statement, const RegisterPlace& result, const RegisterPlace& source) {
    const auto everything = mapped(result, [](uint32_t) { return kAll; });
    std::vector<std::string_view> types;
    for (const std::string_view part : statement.parts)
        if (ptx::type_named(part) != ptx::Type::none || element_bytes(part) != 0) types.push_back(part);
    if (types.size() != 2) return everything;
    const uint32_t to = element_bytes(types[0]), from = element_bytes(types[1]);
    // The first of two operands becomes the upper element.
    if (to != 0 && from == 0 && statement.operands.size() == 3)
        return mapped(result, [&](uint32_t j) { return j / to == 2 - source.index ? kAll : uint16_t{0}; });
    if (to != 0 && from != 0) return mapped(result, [&](uint32_t j) { return bytes_at(j / to * from, from); });
    if (!is_integer(types[0]) || !is_integer(types[1])) return everything;
    const uint32_t size =
        std::min(ptx::size_bytes(ptx::type_named(types[0])), ptx::size_bytes(ptx::type_named(types[1])));
    return mapped(result, [&](uint32_t j) -> uint16_t {
        if (j < size) return bytes_at(j, 1);
        return types[0].starts_with('s') || types[1].starts_with('s') ? bytes_at(size - 1, 1) : 0;
    });
}

ByteMap of_shift(const Statement& statement, const RegisterPlace& result) {
    const uint64_t bits = std::min<uint64_t>(statement.operands[2].bits, 64);
    const bool left = statement.opcode() == "shl", sign = statement.parts.back().starts_with('s');
    const int64_t width = result.bytes * 8;
    return mapped(result, [&](uint32_t j) -> uint16_t {
        const int64_t from =
            left ? int64_t{j} * 8 - static_cast<int64_t>(bits) : int64_t{j} * 8 + static_cast<int64_t>(bits);
        uint16_t bytes =
            from + 8 > 0 && from < width ? bytes_of_bits(from, static_cast<uint32_t>(from < 0 ? from + 8 : 8)) : 0;
        bytes &= bytes_at(0, result.bytes);
        if (!left && sign && from + 8 > width) bytes |= bytes_at(result.bytes - 1, 1);
        return bytes;
    });
}

ByteMap of_permutation(const Statement& statement, const RegisterPlace& result, const RegisterPlace& source) {
    return mapped(result, [&](uint32_t j) -> uint16_t {
        const uint32_t from = statement.operands[3].bits >> 4 * j & 7;
        return from / 4 == source.index - 1 ? bytes_at(from % 4, 1) : 0;
    });
}

/// bfi: the low bits of operand 1 replace a field of operand 2.
ByteMap of_insertion(const Statement& statement, const RegisterPlace& result, const RegisterPlace& source) {
    const int64_t first = statement.operands[3].bits & 0xff, end = first + (statement.operands[4].bits & 0xff);
    return mapped(result, [&](uint32_t j) -> uint16_t {
        const int64_t low = std::max<int64_t>(j * 8, first), high = std::min<int64_t>(j * 8 + 8, end);
        if (source.index == 2) return low == j * 8 && high == j * 8 + 8 ? 0 : bytes_at(j, 1);
        return low < high ? bytes_of_bits(low - first, static_cast<uint32_t>(high - low)) : 0;
    });
}

bool works_by_bits(std::string_view opcode) {
    return opcode == "and" || opcode == "or" || opcode == "xor" || opcode == "not" || opcode == "lop3";
}

}  // namespace

ByteMap byte_flow(const Statement& statement, const RegisterPlace& result, const RegisterPlace& source) {
    const std::string_view opcode = statement.opcode();
    const uint32_t packed = element_bytes(statement.parts.back());
    if (opcode == "mov" && statement.operands.size() == 2) return of_move(statement, result, source);
    if (opcode == "cvt") return of_conversion(statement, result, source);
    if (opcode == "setp" && packed != 0 && source.index <= 2)
        return mapped(result, [&](uint32_t) { return bytes_at(result.element * packed, packed); });
    if (packed != 0 && source.bytes == result.bytes && result.bytes == 2 * packed)
        return mapped(result, [&](uint32_t j) { return bytes_at(j / packed * packed, packed); });
    if (source.bytes == 0 || result.bytes == 0) return mapped(result, [](uint32_t) { return kAll; });
    if (opcode == "and" && source.index == 1 && is_constant(statement, 2))
        return mapped(result, [&](uint32_t j) -> uint16_t {
            return j < 8 && (statement.operands[2].bits >> 8 * j & 0xff) != 0 ? bytes_at(j, 1) : 0;
        });
    const bool chosen = opcode == "selp" || opcode == "slct";
    if ((works_by_bits(opcode) || (chosen && source.index <= 2) || (opcode == "shfl" && source.index == 1)) &&
        source.bytes == result.bytes)
        return mapped(result, [](uint32_t j) { return bytes_at(j, 1); });
    if ((opcode == "shl" || opcode == "shr") && source.index == 1 && is_constant(statement, 2))
        return of_shift(statement, result);
    if (opcode == "prmt" && statement.parts.size() == 2 && source.index <= 2 && is_constant(statement, 3))
        return of_permutation(statement, result, source);
    if (opcode == "bfi" && source.index <= 2 && is_constant(statement, 3) && is_constant(statement, 4))
        return of_insertion(statement, result, source);
    if (opcode == "bfe" && source.index == 1 && is_constant(statement, 2) && is_constant(statement, 3)) {
        const uint16_t bytes = bytes_of_bits(statement.operands[2].bits & 0xff, statement.operands[3].bits & 0xff);
        return mapped(result, [&](uint32_t) { return bytes; });
    }
    return mapped(result, [](uint32_t) { return kAll; });
}

uint16_t bytes_looked_at(const Statement& statement, const RegisterPlace& source) {
    if (statement.opcode() != "st" || source.index == 0) return kAll;
    const uint32_t size = ptx::size_bytes(ptx::type_named(statement.parts.back()));
    return size == 0 ? kAll : bytes_at(0, size);
}

}  // namespace recuda::vgpu

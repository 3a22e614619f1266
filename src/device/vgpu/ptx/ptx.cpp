#include "device/vgpu/ptx/ptx.h"

#include <algorithm>
#include <array>
#include <utility>

namespace recuda::vgpu::ptx {
namespace {

struct TypeName {
    std::string_view name;
    Type type;
    uint32_t bytes;
};

constexpr std::array<TypeName, 23> kTypes{
    {{"pred", Type::pred, 0}, {"b8", Type::b8, 1},         {"b16", Type::b16, 2},  {"b32", Type::b32, 4},
     {"b64", Type::b64, 8},   {"b128", Type::b128, 16},    {"u8", Type::u8, 1},    {"u16", Type::u16, 2},
     {"u32", Type::u32, 4},   {"u64", Type::u64, 8},       {"s8", Type::s8, 1},    {"s16", Type::s16, 2},
     {"s32", Type::s32, 4},   {"s64", Type::s64, 8},       {"f16", Type::f16, 2},  {"f16x2", Type::f16x2, 4},
     {"bf16", Type::bf16, 2}, {"bf16x2", Type::bf16x2, 4}, {"f32", Type::f32, 4},  {"f64", Type::f64, 8},
     {"tf32", Type::tf32, 4}, {"e4m3", Type::e4m3, 1},     {"e5m2", Type::e5m2, 1}}};

}  // namespace

uint32_t size_bytes(Type type) { return type == Type::none ? 0 : kTypes[static_cast<size_t>(type) - 1].bytes; }

Type type_named(std::string_view name) {
    const auto row = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& t) { return t.name == name; });
    return row == kTypes.end() ? Type::none : row->type;
}

bool Statement::has(std::string_view modifier) const {
    return std::find(parts.begin() + 1, parts.end(), modifier) != parts.end();
}

std::string Statement::text() const {
    std::string joined;
    for (const std::string_view part : parts) {
        if (!joined.empty()) joined += '.';
        joined += part;
    }
    return joined;
}

uint64_t Variable::size() const {
    uint64_t bytes = uint64_t{size_bytes(type)} * vector;
    for (const uint64_t extent : extents) bytes *= extent;
    return bytes;
}

const Function* Module::find(std::string_view name) const {
    if (const auto alias = aliases.find(name); alias != aliases.end()) name = alias->second;
    const auto found =
        std::find_if(functions.begin(), functions.end(), [&](const Function& f) { return f.name == name; });
    return found == functions.end() ? nullptr : &*found;
}

}  // namespace recuda::vgpu::ptx

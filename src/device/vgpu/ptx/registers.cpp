#include "device/vgpu/ptx/registers.h"

namespace recuda::vgpu::ptx {
namespace {

constexpr size_t kMaxDigits = 9;  // of a register's number

/// The element that `.y` behind a name means; none where no such selector stands there.
std::optional<uint32_t> selected(std::string_view name) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot + 2 != name.size()) return std::nullopt;
    const size_t element = std::string_view("xyzwrgba").find(name.back());
    if (element == std::string_view::npos) return std::nullopt;
    return static_cast<uint32_t>(element % 4);
}

}  // namespace

Registers::Registers(const Function& function) {
    for (const RegisterDeclaration& declaration : function.registers)
        (declaration.count == 0 ? single_ : ranges_).emplace(declaration.prefix, &declaration);
}

std::optional<Registers::Found> Registers::find(std::string_view name) const {
    if (const auto found = whole(name)) return found;
    const auto element = selected(name);
    if (!element) return std::nullopt;
    auto found = whole(name.substr(0, name.size() - 2));
    if (!found || *element >= found->declaration->vector || found->declaration->vector == 1) return std::nullopt;
    found->element = element;
    return found;
}

std::optional<Registers::Found> Registers::whole(std::string_view name) const {
    if (const auto exact = single_.find(name); exact != single_.end()) return Found{exact->second};
    size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
    // `%r1<10>` is legal too: the prefix may end in digits, so every split is tried, longest number first.
    for (size_t at = name.size() - digits > kMaxDigits ? name.size() - kMaxDigits : digits; at < name.size(); ++at) {
        const auto found = ranges_.find(name.substr(0, at));
        const bool padded = name[at] == '0' && at + 1 < name.size();
        if (padded || found == ranges_.end()) continue;
        uint32_t value = 0;
        for (const char c : name.substr(at)) value = value * 10 + static_cast<uint32_t>(c - '0');
        if (value < found->second->count) return Found{found->second, value};
    }
    return std::nullopt;
}

}  // namespace recuda::vgpu::ptx

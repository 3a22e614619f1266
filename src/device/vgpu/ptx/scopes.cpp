#include "device/vgpu/ptx/scopes.h"

#include <fmt/core.h>

#include <charconv>

namespace recuda::vgpu::ptx {

void Scopes::open() {
    scopes_.push_back({.parent = current_, .names = {}, .ranges = {}, .labels = {}});
    current_ = static_cast<uint32_t>(scopes_.size() - 1);
    ++depth_;
}

void Scopes::close() {
    current_ = scopes_[current_].parent;
    --depth_;
}

std::string_view Scopes::keep(std::string name) { return names_.emplace_back(std::move(name)); }

bool Scopes::declares_here(std::string_view name) const {
    return scopes_[current_].names.contains(name) || !range_of(scopes_[current_], name).empty();
}

bool Scopes::declares_range_here(std::string_view prefix) const { return scopes_[current_].ranges.contains(prefix); }

bool Scopes::declares_label_here(std::string_view name) const {
    return scopes_[current_].labels.contains(name) || scopes_[current_].names.contains(name);
}

std::string_view Scopes::declare(std::string_view name) {
    scopes_[current_].names.insert(name);
    if (current_ == 0) return name;
    return keep(fmt::format("{}@{}", name, current_));
}

std::string_view Scopes::declare_range(std::string_view prefix, uint32_t count) {
    scopes_[current_].ranges[prefix] = count;
    if (current_ == 0) return prefix;
    return keep(fmt::format("{}@{}_", prefix, current_));
}

std::string_view Scopes::declare_label(std::string_view name) {
    scopes_[current_].labels.insert(name);
    if (current_ == 0) return name;
    return keep(fmt::format("{}@{}", name, current_));
}

// The prefix of the range of `scope` that has `name` as a member, or nothing.
std::string_view Scopes::range_of(const Scope& scope, std::string_view name) const {
    constexpr size_t kMaxDigits = 8;
    for (size_t digits = 1; digits <= kMaxDigits && digits < name.size(); ++digits) {
        const std::string_view number = name.substr(name.size() - digits);
        if (number[0] < '0' || number[0] > '9') return {};
        if (digits > 1 && number[0] == '0') continue;
        const auto range = scope.ranges.find(name.substr(0, name.size() - digits));
        uint32_t index = 0;
        std::from_chars(number.data(), number.data() + number.size(), index);
        if (range != scope.ranges.end() && index < range->second) return range->first;
    }
    return {};
}

std::string_view Scopes::resolve(std::string_view name) {
    const size_t dot = name.find('.');
    const std::string_view base = name.substr(0, dot);
    const std::string_view component = dot == std::string_view::npos ? std::string_view() : name.substr(dot);
    for (uint32_t at = current_; at != 0; at = scopes_[at].parent) {
        const Scope& scope = scopes_[at];
        if (scope.names.empty() && scope.ranges.empty()) continue;
        if (scope.names.contains(base)) return keep(fmt::format("{}@{}{}", base, at, component));
        if (const std::string_view prefix = range_of(scope, base); !prefix.empty()) {
            return keep(fmt::format("{}@{}_{}{}", prefix, at, base.substr(prefix.size()), component));
        }
    }
    return name;
}

std::string_view Scopes::resolve_label(std::string_view name, uint32_t scope) {
    for (uint32_t at = scope; at != 0; at = scopes_[at].parent) {
        if (scopes_[at].labels.contains(name)) return keep(fmt::format("{}@{}", name, at));
    }
    return name;
}

}  // namespace recuda::vgpu::ptx

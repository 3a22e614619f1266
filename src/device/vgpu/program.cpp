#include "device/vgpu/program.h"

namespace recuda::vgpu {

const FunctionCode& Program::function_of(uint32_t pc) const {
    for (const auto& function : functions)
        if (pc - function->first < function->count) return *function;
    return *entry;
}

const FunctionCode* Program::function_at(uint64_t address) const {
    const uint64_t number = (address - kFunctionBase) / 16;
    if (address < kFunctionBase || (address - kFunctionBase) % 16 != 0 || number >= module->functions.size())
        return nullptr;
    const ptx::Function* wanted = module->find(module->functions[number].name);
    for (const auto& function : functions)
        if (function->source == wanted) return function.get();
    return nullptr;
}

std::vector<bool> Program::reach(const FunctionCode& function, std::vector<uint32_t> from, bool backwards) const {
    std::vector<std::vector<uint32_t>> next(function.count);
    const auto connect = [&](uint32_t a, uint32_t b) {
        if (b - function.first >= function.count) return;
        if (backwards) std::swap(a, b);
        next[a - function.first].push_back(b);
    };
    for (uint32_t pc = function.first; pc < function.first + function.count; ++pc) {
        if (!ends[pc]) connect(pc, pc + 1);
        if (const auto jump = jumps.find(pc); jump != jumps.end())
            for (const uint32_t target : jump->second) connect(pc, target);
    }
    std::vector<bool> seen(function.count);
    while (!from.empty()) {
        const uint32_t pc = from.back();
        from.pop_back();
        for (const uint32_t other : next[pc - function.first]) {
            if (seen[other - function.first]) continue;
            seen[other - function.first] = true;
            from.push_back(other);
        }
    }
    return seen;
}

bool Program::behind(uint32_t barrier, uint32_t pc) const {
    const std::lock_guard lock(mutex_);
    const FunctionCode& function = function_of(barrier);
    if (pc - function.first >= function.count) return false;
    auto known = behind_.find(barrier);
    if (known == behind_.end()) {
        std::vector<bool> after = reach(function, {barrier}, false);
        const std::vector<bool> before = reach(function, {barrier}, true);
        for (size_t i = 0; i < after.size(); ++i) after[i] = after[i] && !before[i];
        known = behind_.emplace(barrier, std::move(after)).first;
    }
    return known->second[pc - function.first];
}

}  // namespace recuda::vgpu

#include "task/fact_kind.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace recuda {
namespace {

constexpr std::array<std::string_view, kFactKinds> kNames{
    "tensor_core",      "half_accumulator",      "half_arithmetic", "double_arithmetic",
    "global_load",      "global_store",          "local_memory",    "async_copy",
    "bulk_copy",        "float_atomic",          "clock",           "global_timer",
    "grid_id",          "performance_counter",   "sm_id",           "sleep",
    "l2_residency",     "cache_policy",          "volatile_access", "system_scope",
    "dependent_launch", "register_reallocation", "print",           "trap",
    "breakpoint"};

}  // namespace

std::string_view name(FactKind kind) { return kNames[static_cast<size_t>(kind)]; }

FactKind fact_kind_named(std::string_view name) {
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) {
        const std::vector<std::string> known(kNames.begin(), kNames.end());
        throw Error("there is no kind of fact {}{}", name, did_you_mean(name, known));
    }
    return static_cast<FactKind>(found - kNames.begin());
}

}  // namespace recuda

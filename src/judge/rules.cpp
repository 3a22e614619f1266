#include "judge/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "task/op.h"

namespace recuda {
namespace {

bool holds(const std::vector<FactKind>& kinds, FactKind kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

/// The reason that the judge itself has, or "".
std::string_view own_rule(const Fact& fact, const Op& op) {
    switch (fact.kind) {
        case FactKind::clock:
        case FactKind::global_timer:
        case FactKind::performance_counter:
            return fact.own ? "reads a clock or a counter of the GPU: a result may not hang on when it is computed"
                            : "";
        case FactKind::grid_id:
            return "reads which launch this is: a result may not hang on how, or how often, a kernel is run";
        case FactKind::l2_residency:
            return "asks the L2 to keep data beyond the launch: its times would not be those of cold data";
        case FactKind::float_atomic:
            return op.exact ? "adds floats in no fixed order, which an exact task does not allow" : "";
        default:
            return "";
    }
}

}  // namespace

std::string refusal(const Facts& facts, const Op& op, const std::string& file) {
    for (const Fact& fact : facts.ptx) {
        std::string why(own_rule(fact, op));
        if (holds(op.allow, fact.kind)) why.clear();
        if (holds(op.forbid, fact.kind)) why = fmt::format("op {} forbids {}", op.name, name(fact.kind));
        if (why.empty()) continue;
        const std::string place = fact.lines.empty() ? file : fmt::format("{}:{}", file, fact.lines.front());
        return fmt::format("{}: `{}` {}", place, fact.what, why);
    }
    return "";
}

}  // namespace recuda

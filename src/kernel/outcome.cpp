#include "kernel/outcome.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace recuda {
namespace {

constexpr std::array<std::string_view, 9> kNames{"correct",      "wrong",          "faulted",
                                                 "build_failed", "launch_refused", "refused",
                                                 "timed_out",    "unsupported",    "impossible"};

/// How much an outcome says against the candidate, in the order of the enum: unsupported says least, refused most.
constexpr std::array<int, 9> kWeight{0, 3, 5, 7, 6, 8, 4, 1, 2};

}  // namespace

std::string_view name(Outcome outcome) { return kNames[static_cast<size_t>(outcome)]; }

Outcome outcome_named(std::string_view name) {
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) throw Error("there is no outcome {}", name);
    return static_cast<Outcome>(found - kNames.begin());
}

Outcome worse(Outcome a, Outcome b) {
    return kWeight[static_cast<size_t>(a)] >= kWeight[static_cast<size_t>(b)] ? a : b;
}

}  // namespace recuda

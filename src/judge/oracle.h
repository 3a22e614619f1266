// Whether an op's judgement can be trusted: corruptions of right results that it must reject, honest results that it
// must accept (research: judge.md B.3; docs/verification.md lists them).
//
// Three sources, each over every workload and input that candidates are verified with on the virtual GPU, up to 128
// tokens: changed outputs (judge/corruptions.h), the reference run on changed inputs and scalars, and the plain seed
// with its sums in other orders and precisions, or with the edits that op.toml declares. A corruption is rejected where
// one of the cases shows it; an honest result must be accepted in all.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "task/task.h"

namespace recuda {

class Builder;
class Device;

/// What became of one change.
struct OracleTrial {
    std::string change;  // "y: two rows swapped", "eps omitted" …
    bool honest = false;
    bool hidden = false;    // op.toml says that the op's types cannot show it: nothing is asked
    size_t cases = 0;       // that it changed anything in; 0: does not apply to this op
    bool accepted = true;   // in all of them
    double nearness = 0;    // the largest error over its bound; a clear rejection (2) ends the search for a larger one
    std::string criterion;  // of that
    std::string at;         // its workload and input: "T=8 normal"

    bool passed() const { return hidden || cases == 0 || accepted == honest; }
};

/// Tries every change on a task of the op. Throws Error where the reference, the plain seed or a change of it does not
/// run, and for names in `[tests]` that stand for nothing.
std::vector<OracleTrial> test_oracle(const Task& task, Device& device, Builder& builder, uint64_t seed);

nlohmann::json to_json(const OracleTrial& trial);

}  // namespace recuda

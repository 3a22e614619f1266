// The words of `exec`: buffers, launch arguments and definitions, as the contract spells them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernel/launch_plan.h"
#include "tensor/fill.h"

namespace recuda {

/// `NAME:TYPE[EXTENT,…]=FILL`; FILL also `@file.npy` and `uninit`.
struct ExecBuffer {
    std::string name;
    DType dtype = DType::f32;
    Shape shape;
    std::optional<Tensor> contents;  // none: uninitialised
};

/// Throws UsageError for a text that is none, Error for a file that cannot be read. `seed` and the name make random
/// fills.
ExecBuffer parse_buffer(const std::string& text, uint64_t seed);

/// `NAME=VALUE` or `NAME` (1).
std::map<std::string, std::string> parse_defines(const std::vector<std::string>& texts);

/// The launch resolved: sizes are expressions over the definitions that are whole numbers; arguments are buffers'
/// names, literals (3: i32, 3ll: i64, 3u, 3ull, 1.5f: f32, 1.5: f64), such expressions (i32), or tensormap(…). Throws
/// UsageError for a text that is no launch, LaunchRefused for one that cannot be.
PlannedLaunch parse_exec_launch(const std::string& text, const std::vector<ExecBuffer>& buffers,
                                const std::map<std::string, std::string>& defines);

}  // namespace recuda

// Kernels made from an op's plain seed to test its oracle: its sum in other orders and precisions, and the edits that
// op.toml declares.
#pragma once

#include <string>
#include <vector>

#include "task/op.h"

namespace recuda {

struct OracleKernel {
    std::string name;
    bool honest = false;
    std::string text;  // of the kernel file
};

/// `plain` is the text of the plain seed. Throws Error where an edit's text does not stand there exactly once.
std::vector<OracleKernel> oracle_kernels(const Op& op, const std::string& plain);

}  // namespace recuda

// Changed inputs and scalars, on which the reference computes what a faulty kernel would give: one that reads them in
// half precision, ignores a weight, forgets an epsilon or skips the end of a row.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "judge/inputs.h"
#include "judge/run.h"
#include "task/task.h"

namespace recuda {

struct InputChange {
    std::string name;
    bool honest = false;
    std::function<void(const Axes&, InputContents&)> apply;
    /// What is right all the same: puts it back from the right outputs. May be empty.
    std::function<void(const Outputs& right, Outputs& changed)> column;
};

std::vector<InputChange> input_changes(const Task& task);

struct ScalarChange {
    std::string name, scalar;
    double value = 0;
};

std::vector<ScalarChange> scalar_changes(const Task& task);

}  // namespace recuda

// What one timing of a program or of a baseline gave: samples with what is needed to judge them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/outcome.h"

namespace recuda {

struct Timed {
    Outcome outcome = Outcome::correct;  // correct: samples are there, and what was timed was right
    std::string log, method;
    std::vector<double> samples_ns, clock_mhz;  // of one run each; clocks may be missing
    uint32_t runs_per_sample = 1;               // at least
    bool cold = false;                          // what was read did not lie in the L2
};

}  // namespace recuda

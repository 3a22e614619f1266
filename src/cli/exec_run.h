// One kernel of a file as it stands, run once (and in other orders where that is asked for) with buffers given in
// words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/device_choice.h"
#include "cli/exec_words.h"
#include "device/device.h"
#include "device/profile.h"

namespace recuda {

struct ExecRequest {
    std::string file, source, launch;
    std::string gpu;  // whose occupancy is shown; "": the device's
    std::map<std::string, std::string> defines;
    std::vector<ExecBuffer> buffers;
    int64_t schedules = 1;
    bool wants_resources = false;  // registers and spills, for which ptxas has to run
    double deadline_s = 60;
    DeviceChoice device;
};

/// What other orders of warps and blocks than the first gave. Order `seed` + i is run i.
struct OtherOrders {
    int64_t run = 1, different = 0;
    bool exact = true;  // no float is added by an atomic: any difference is a fault of the kernel
    std::string first;  // where the first difference is
};

/// What one execution gives, whether it came to run or not.
struct ExecResult {
    std::string outcome;
    Execution execution;
    std::string log;
    std::map<std::string, Tensor> buffers;
    OtherOrders orders;
    Profile profile;
};

/// Throws LaunchRefused for a launch that cannot be, UsageError for words that are none.
ExecResult run_exec(const ExecRequest& request);

}  // namespace recuda

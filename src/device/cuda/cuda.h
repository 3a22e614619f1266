// CUDA GPUs. The driver is opened at run time in a worker process of its own, so that a device fault kills that process
// and not the run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace recuda {

struct CudaOptions {
    int ordinal = 0;
    std::vector<std::string> worker;  // command that serves the GPU; empty: this program as `worker --device ORDINAL`
};

/// GPU `ordinal` behind a fresh worker process (this program, run as `cuda-rlm worker`). Throws Error when there is no
/// such GPU. When a kernel kills the worker, faults the GPU or outlasts its deadline, the run that did it is `faulted`
/// or `timed_out`, and the next call starts another worker; buffers and modules of the old one are gone: using their
/// ids throws DeviceLost, freeing and unloading them does nothing. The new worker must do a small job within 10 s, else
/// every call throws DeviceWedged. While another process has the GPU, this one waits and says so on stderr. One thread
/// at a time.
std::unique_ptr<Device> make_cuda(const CudaOptions& options = {});

/// What `cuda-rlm worker --device N` does: serves one in-process CUDA device over stdin/stdout until the pipe closes.
/// Returns the exit status.
int serve_cuda_worker(int ordinal);

/// The GPUs that work here, asked in a process of its own; `problem` says why there are none, "" where there are.
struct CudaSurvey {
    std::vector<DeviceInfo> devices;
    std::string driver_version, driver_path, problem;
};

/// `command` is what prints the survey; empty: this program as `worker --survey`. Never throws: a driver that crashes
/// or hangs (20 s) is a `problem`.
CudaSurvey survey_cuda(const std::vector<std::string>& command = {});

/// Who uses the GPU of that UUID now, "" where nobody does: "process 4711 (cuda-rlm run --task …)".
std::string cuda_holder(const std::string& uuid);

/// What `cuda-rlm worker --survey` does: asks the driver in this process and prints one JSON object. Returns the exit
/// status.
int print_cuda_survey();

}  // namespace recuda

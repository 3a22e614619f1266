// What runs in a process of its own: the worker of one GPU, and the survey.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "device/cuda/cuda.h"
#include "device/cuda/in_process.h"
#include "device/cuda/lease.h"
#include "device/cuda/print_capture.h"
#include "device/cuda/server.h"
#include "device/cuda/wire.h"

namespace recuda {
namespace {

constexpr int kPipeBytes = 1 << 20;

}  // namespace

int serve_cuda_worker(int ordinal) {
    cuda::PrintCapture prints;
    const int in = STDIN_FILENO, out = prints.original();
    // Larger pipes carry tensors in fewer switches between the processes; the system may refuse, which only costs time.
    ::fcntl(in, F_SETPIPE_SZ, kPipeBytes);
    ::fcntl(out, F_SETPIPE_SZ, kPipeBytes);
    cuda::Lease lease;
    cuda::InProcess opened;
    try {
        // Before there is a context: its making would disturb what another process times.
        const std::string uuid = cuda::describe(cuda::Driver(), ordinal).uuid;
        if (!cuda::await_lease(in, out, cuda::lease_path(uuid), ::getppid(), lease)) return 0;
        opened = cuda::make_in_process(ordinal, [&prints] { return prints.take(); });
    } catch (const Error& error) {
        cuda::serve_failure(in, out, error.what());
        return 1;
    }
    cuda::serve(*opened.device, in, out, opened.usable);
    // A poisoned context cannot be taken down in order.
    if (!opened.usable()) ::_exit(3);
    return 0;
}

int print_cuda_survey() {
    Json survey = {{"devices", Json::array()}, {"driver_version", ""}, {"driver_path", ""}, {"problem", ""}};
    try {
        const cuda::Driver driver;
        survey["driver_version"] = driver.version();
        survey["driver_path"] = json_text(driver.path());
        for (int i = 0; i < cuda::count_gpus(driver); ++i)
            survey["devices"].push_back(cuda::to_json(cuda::describe(driver, i)));
        if (survey["devices"].empty())
            survey["problem"] = "the driver shows no GPU: look at nvidia-smi and CUDA_VISIBLE_DEVICES";
    } catch (const Error& error) {
        survey["problem"] = json_text(error.what());
    }
    std::puts(dump(survey).c_str());
    return 0;
}

}  // namespace recuda

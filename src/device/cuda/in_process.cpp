#include "device/cuda/in_process.h"

#include "base/text.h"
#include "device/cuda/guarded_memory.h"
#include "device/cuda/launcher.h"
#include "device/cuda/own_kernels.h"
#include "device/cuda/probe.h"
#include "device/cuda/timing.h"

namespace recuda::cuda {
namespace {

/// The primary context of a GPU, current in this thread.
class PrimaryContext {
 public:
    PrimaryContext(const Driver& driver, int ordinal) : driver_(driver) {
        driver_.check(driver_.cuDeviceGet(&device_, ordinal), "open the GPU");
        CUcontext context = nullptr;
        driver_.check(driver_.cuDevicePrimaryCtxRetain(&context, device_), "make a context on the GPU");
        driver_.check(driver_.cuCtxSetCurrent(context), "use a context of the GPU");
        // No part of the L2 keeps what a kernel marks as persisting; a card without such a part refuses, and has none.
        driver_.cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
    }
    PrimaryContext(const PrimaryContext&) = delete;
    ~PrimaryContext() { driver_.cuDevicePrimaryCtxRelease(device_); }

 private:
    const Driver& driver_;
    CUdevice device_ = 0;
};

std::string names_of(std::span<const Launch> launches) {
    static const std::string kProduct = "cuBLASLt";
    std::vector<std::string> names;
    for (const Launch& launch : launches)
        if (const std::string& name = launch.product ? kProduct : launch.entry; names.empty() || names.back() != name)
            names.push_back(name);
    return fmt::format("{} `{}`", names.size() == 1 ? "kernel" : "one of the kernels", joined(names, "`, `"));
}

class InProcessDevice : public Device {
 public:
    InProcessDevice(int ordinal, std::function<std::string()> printed)
        : info_(describe(driver_, ordinal)),
          context_(driver_, ordinal),
          stream_(make_stream(driver_)),
          started_(make_event(driver_)),
          finished_(make_event(driver_)),
          kernels_(driver_, stream_.get(), info_.l2_bytes),
          memory_(driver_, stream_.get(), kernels_),
          launcher_(driver_, memory_, info_.target),
          probe_(driver_),
          printed_(std::move(printed)) {}

    bool usable() const { return usable_; }
    const DeviceInfo& info() const override { return info_; }

    BufferId allocate(std::string name, uint64_t bytes) override { return memory_.allocate(std::move(name), bytes); }

    BufferId allocate_guarded(std::string name, uint64_t bytes, Guard guard) override {
        return memory_.allocate_guarded(std::move(name), bytes, guard);
    }

    void free(BufferId buffer) override { memory_.free(buffer); }

    void write(BufferId buffer, uint64_t offset_bytes, std::span<const std::byte> bytes) override {
        const CUdeviceptr to = memory_.address(buffer, offset_bytes, bytes.size());
        if (bytes.empty()) return;
        settle(driver_.cuMemcpyHtoDAsync(to, bytes.data(), bytes.size(), stream_.get()), "write to the GPU");
    }

    void read(BufferId buffer, uint64_t offset_bytes, std::span<std::byte> bytes) override {
        const CUdeviceptr from = memory_.address(buffer, offset_bytes, bytes.size());
        if (bytes.empty()) return;
        settle(driver_.cuMemcpyDtoHAsync(bytes.data(), from, bytes.size(), stream_.get()), "read from the GPU");
    }

    void fill(BufferId buffer, std::byte value, bool) override {
        const GuardedMemory::Buffer& found = memory_.at(buffer);
        if (found.bytes == 0) return;
        settle(driver_.cuMemsetD8Async(found.address, static_cast<unsigned char>(value), found.bytes, stream_.get()),
               "fill a buffer of the GPU");
    }

    std::vector<uint64_t> hashes(std::span<const Region> regions) override {
        std::vector<Extent> extents;
        for (const Region& region : regions) extents.push_back(memory_.extent(region));
        std::vector<uint64_t> found;
        settle(kernels_.hash(extents, found), "hash buffers of the GPU");
        return found;
    }

    ModuleId load(const Binary& binary) override { return launcher_.load(binary); }
    void unload(ModuleId module) override { launcher_.unload(module); }

    Execution run(std::span<const Launch> launches, const RunOptions& options) override;
    Timing time(const TimingRequest& request) override;
    ProductAlgorithms product_algorithms(const MatrixProduct& product, uint32_t most,
                                         uint64_t workspace_limit) override {
        return launcher_.cublas_lt(product.library).algorithms(product, most, workspace_limit);
    }

 private:
    void settle(CUresult enqueued, std::string_view what);
    CUresult enqueue(PreparedRun& run, Execution& execution);
    CUresult check_canaries(std::span<const Launch> launches, Execution& execution);

    Driver driver_;
    DeviceInfo info_;
    PrimaryContext context_;
    Stream stream_;
    Event started_, finished_;
    OwnKernels kernels_;
    GuardedMemory memory_;
    Launcher launcher_;
    Probe probe_;
    std::function<std::string()> printed_;
    bool usable_ = true;
};

/// Waits for the copy or fill that was just enqueued.
void InProcessDevice::settle(CUresult enqueued, std::string_view what) {
    const CUresult result = enqueued == CUDA_SUCCESS ? driver_.cuStreamSynchronize(stream_.get()) : enqueued;
    usable_ = usable_ && !is_sticky(result);
    driver_.check(result, what);
}

/// Enqueues the launches up to the first that the driver refuses; that one's error is in `execution` then.
CUresult InProcessDevice::enqueue(PreparedRun& run, Execution& execution) {
    driver_.cuEventRecord(started_.get(), stream_.get());
    for (PreparedLaunch& launch : run.launches) {
        const CUresult result = launcher_.enqueue(launch, stream_.get());
        if (is_sticky(result)) return result;
        if (result != CUDA_SUCCESS) {
            execution.outcome = Outcome::launch_refused;
            execution.log = fmt::format("kernel `{}`: {}", launch.entry, driver_.words(result));
            break;
        }
    }
    return driver_.cuEventRecord(finished_.get(), stream_.get());
}

Execution InProcessDevice::run(std::span<const Launch> launches, const RunOptions& options) {
    Execution execution;
    PreparedRun run = launcher_.prepare(launches);
    if (!run.refusal.empty()) {
        execution.outcome = Outcome::launch_refused;
        execution.log = run.refusal;
        return execution;
    }
    const Deadline deadline = after_seconds(options.deadline_s);
    if (options.noise) driver_.check(kernels_.disturb(info_.sm_count), "run noise beside a kernel");
    CUresult result = enqueue(run, execution);
    if (result == CUDA_SUCCESS) result = await(driver_, finished_.get(), deadline);
    // What kernels printed is handed over by this call, not by the event.
    if (result == CUDA_SUCCESS) result = driver_.cuStreamSynchronize(stream_.get());
    if (result == CUDA_SUCCESS && options.noise) result = kernels_.quiet();
    float milliseconds = 0;
    if (result == CUDA_SUCCESS &&
        driver_.cuEventElapsedTime(&milliseconds, started_.get(), finished_.get()) == CUDA_SUCCESS)
        execution.gpu_ns = milliseconds * 1e6;
    if (result == CUDA_SUCCESS) result = check_canaries(launches, execution);
    if (result == CUDA_SUCCESS) {
        execution.printed = printed_();
        return execution;
    }
    if (result == CUDA_ERROR_NOT_READY) {
        usable_ = false;
        execution.outcome = Outcome::timed_out;
        execution.log = fmt::format("{} had not ended after {} s", names_of(launches), options.deadline_s);
    } else {
        usable_ = false;
        execution.outcome = Outcome::faulted;
        execution.log = fmt::format("{}: {}", names_of(launches), driver_.words(result));
    }
    execution.printed = printed_();
    return execution;
}

CUresult InProcessDevice::check_canaries(std::span<const Launch> launches, Execution& execution) {
    CUresult failed = CUDA_SUCCESS;
    execution.reports = memory_.broken_canaries(failed);
    if (execution.reports.empty()) return failed;
    execution.outcome = Outcome::faulted;
    if (launches.size() == 1)
        for (Report& report : execution.reports) report.kernel = launches.front().entry;
    return failed;
}

Timing InProcessDevice::time(const TimingRequest& request) {
    Timing timing = time_runs({driver_, stream_.get(), memory_, launcher_, probe_, kernels_}, request);
    if (timing.outcome == Outcome::faulted || timing.outcome == Outcome::timed_out) {
        usable_ = false;
        return timing;
    }
    driver_.check(driver_.cuStreamSynchronize(stream_.get()), "wait for the GPU");
    printed_();  // not part of a timing; emptied so that it does not show up in the next run
    CUresult failed = CUDA_SUCCESS;
    const std::vector<Report> reports = memory_.broken_canaries(failed);
    driver_.check(failed, "look at guard bands");
    if (!reports.empty()) {
        timing = {};
        timing.outcome = Outcome::faulted;
        timing.log = reports.front().message;
    }
    return timing;
}

}  // namespace

InProcess make_in_process(int ordinal, std::function<std::string()> printed) {
    auto device = std::make_unique<InProcessDevice>(ordinal, std::move(printed));
    const InProcessDevice* const asked = device.get();
    return {std::move(device), [asked] { return asked->usable(); }};
}

}  // namespace recuda::cuda

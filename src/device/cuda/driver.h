// NVIDIA's driver API, opened at run time: a table of the functions used here, with the types of <cuda.h>.
//
// Each function is asked for through cuGetProcAddress in the version of the API in which its present form appeared, so
// that a driver older than the headers still serves. Use them as `driver.cuMemAlloc(...)`.
#pragma once

#include <cuda.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "base/dynamic_library.h"
#include "base/error.h"

namespace recuda::cuda {

// Function, version of the driver API (1000 * major + 10 * minor) that introduced the form used here.
#define RECUDA_DRIVER_FUNCTIONS(X)          \
    X(cuInit, 2000)                         \
    X(cuDriverGetVersion, 2020)             \
    X(cuGetErrorName, 6000)                 \
    X(cuGetErrorString, 6000)               \
    X(cuDeviceGetCount, 2000)               \
    X(cuDeviceGet, 2000)                    \
    X(cuDeviceGetName, 2000)                \
    X(cuDeviceGetAttribute, 2000)           \
    X(cuDeviceTotalMem, 3020)               \
    X(cuDeviceGetUuid, 11040)               \
    X(cuDevicePrimaryCtxRetain, 7000)       \
    X(cuDevicePrimaryCtxRelease, 11000)     \
    X(cuCtxSetCurrent, 4000)                \
    X(cuCtxGetDevice, 2000)                 \
    X(cuCtxSetLimit, 3010)                  \
    X(cuCtxResetPersistingL2Cache, 11000)   \
    X(cuMemGetInfo, 3020)                   \
    X(cuMemAlloc, 3020)                     \
    X(cuMemFree, 3020)                      \
    X(cuMemGetAllocationGranularity, 10020) \
    X(cuMemAddressReserve, 10020)           \
    X(cuMemAddressFree, 10020)              \
    X(cuMemCreate, 10020)                   \
    X(cuMemRelease, 10020)                  \
    X(cuMemMap, 10020)                      \
    X(cuMemUnmap, 10020)                    \
    X(cuMemSetAccess, 10020)                \
    X(cuMemHostAlloc, 2020)                 \
    X(cuMemFreeHost, 2000)                  \
    X(cuMemHostGetDevicePointer, 3020)      \
    X(cuMemcpyHtoDAsync, 3020)              \
    X(cuMemcpyDtoHAsync, 3020)              \
    X(cuMemcpyDtoDAsync, 3020)              \
    X(cuMemsetD8Async, 3020)                \
    X(cuModuleLoadDataEx, 2010)             \
    X(cuModuleUnload, 2000)                 \
    X(cuModuleGetFunction, 2000)            \
    X(cuFuncSetAttribute, 9000)             \
    X(cuFuncGetParamInfo, 12040)            \
    X(cuLaunchKernelEx, 11060)              \
    X(cuTensorMapEncodeTiled, 12000)        \
    X(cuStreamCreate, 2000)                 \
    X(cuStreamDestroy, 4000)                \
    X(cuStreamSynchronize, 2000)            \
    X(cuStreamBeginCapture, 10010)          \
    X(cuStreamEndCapture, 10000)            \
    X(cuGraphInstantiateWithFlags, 11040)   \
    X(cuGraphUpload, 11010)                 \
    X(cuGraphLaunch, 10000)                 \
    X(cuGraphDestroy, 10000)                \
    X(cuGraphExecDestroy, 10000)            \
    X(cuEventCreate, 2000)                  \
    X(cuEventDestroy, 4000)                 \
    X(cuEventRecord, 2000)                  \
    X(cuEventQuery, 2000)                   \
    X(cuEventElapsedTime, 2000)

class Driver {
 public:
    /// Opens libcuda.so.1 and initialises it; throws Error that says what is missing and what to do.
    Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    /// "580.159.04 (CUDA 13.0)" where the library's file name tells the first part.
    const std::string& version() const { return version_; }
    const std::string& path() const { return path_; }

    /// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
    std::string words(CUresult result) const;

    /// Throws Error "cannot WHAT: CUDA_ERROR_…" unless `result` is success.
    void check(CUresult result, std::string_view what) const;

#define RECUDA_MEMBER(function, since) decltype(&::function) function = nullptr;
    RECUDA_DRIVER_FUNCTIONS(RECUDA_MEMBER)
#undef RECUDA_MEMBER

 private:
    DynamicLibrary library_;
    std::string version_, path_;
};

/// True for errors after which the context serves no call any more: the process must end.
bool is_sticky(CUresult result);

/// Owner of a driver object that `Destroy` ends.
template <typename Object, auto Destroy>
class Handle {
 public:
    Handle() = default;
    Handle(const Driver& driver, Object object) : driver_(&driver), object_(object) {}
    Handle(Handle&& other) noexcept : driver_(other.driver_), object_(other.object_) { other.driver_ = nullptr; }
    Handle& operator=(Handle&& other) noexcept {
        std::swap(driver_, other.driver_);
        std::swap(object_, other.object_);
        return *this;
    }
    ~Handle() {
        if (driver_ != nullptr) (driver_->*Destroy)(object_);
    }
    Object get() const { return object_; }

 private:
    const Driver* driver_ = nullptr;
    Object object_{};
};

using Stream = Handle<CUstream, &Driver::cuStreamDestroy>;
using Event = Handle<CUevent, &Driver::cuEventDestroy>;
using Module = Handle<CUmodule, &Driver::cuModuleUnload>;
using Graph = Handle<CUgraph, &Driver::cuGraphDestroy>;
using GraphExec = Handle<CUgraphExec, &Driver::cuGraphExecDestroy>;
using DeviceMemory = Handle<CUdeviceptr, &Driver::cuMemFree>;
using HostMemory = Handle<void*, &Driver::cuMemFreeHost>;

using Deadline = std::chrono::steady_clock::time_point;
Deadline after_seconds(double seconds);

/// Waits for an event, asleep after the first moments: success, the stream's error, or CUDA_ERROR_NOT_READY past the
/// deadline.
CUresult await(const Driver& driver, CUevent event, Deadline deadline);

Stream make_stream(const Driver& driver);
Event make_event(const Driver& driver);
/// Page-locked memory that kernels see too.
HostMemory make_host_memory(const Driver& driver, size_t bytes);

}  // namespace recuda::cuda

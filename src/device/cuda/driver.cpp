#include "device/cuda/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace recuda::cuda {
namespace {

// Where drivers put the library when the loader does not know its folder: container mounts and WSL.
constexpr std::array kLibraries = {
    "libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
    "/usr/local/nvidia/lib/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
};

DynamicLibrary open_library() {
    std::string reason;
    for (const char* path : kLibraries) {
        try {
            return DynamicLibrary(path);
        } catch (const Error& error) {
            if (reason.empty()) reason = error.what();
        }
    }
    throw Error("no libcuda.so.1: install NVIDIA's driver (580 or newer), or use --device vgpu ({})", reason);
}

/// The file that holds `function`, links resolved.
std::string file_of(const void* function) {
    Dl_info info{};
    if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "libcuda.so.1";
    std::error_code failed;
    const auto path = std::filesystem::canonical(info.dli_fname, failed);
    return failed ? info.dli_fname : path.string();
}

/// "580.159.04" of ".../libcuda.so.580.159.04"; "" where the name ends in the ABI version alone.
std::string version_in(const std::string& path) {
    const size_t at = path.rfind(".so.");
    if (at == std::string::npos) return "";
    const std::string version = path.substr(at + 4);
    return version.find('.') == std::string::npos ? "" : version;
}

}  // namespace

Driver::Driver() : library_(open_library()) {
    // Modules are loaded whole: a lazy load inside a stream capture or a timed span would disturb it.
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    if (!library_.has("cuGetProcAddress_v2"))
        throw Error("NVIDIA's driver is too old: install version 580 or newer, or use --device vgpu");
    auto* const find =
        library_.function<CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*)>(
            "cuGetProcAddress_v2");
    const auto look_up = [&](const char* name, int since) {
        void* found = nullptr;
        if (find(name, &found, since, CU_GET_PROC_ADDRESS_DEFAULT, nullptr) != CUDA_SUCCESS || found == nullptr)
            throw Error("NVIDIA's driver is too old: it has no {}; install version 580 or newer", name);
        return found;
    };
#define RECUDA_LOOK_UP(function, since) function = reinterpret_cast<decltype(function)>(look_up(#function, since));
    RECUDA_DRIVER_FUNCTIONS(RECUDA_LOOK_UP)
#undef RECUDA_LOOK_UP
    path_ = file_of(reinterpret_cast<const void*>(cuInit));
    const CUresult ready = cuInit(0);
    if (ready == CUDA_ERROR_NO_DEVICE)
        throw Error("the driver sees no GPU ({}): look at nvidia-smi and CUDA_VISIBLE_DEVICES", words(ready));
    check(ready, "start NVIDIA's driver");
    int number = 0;
    check(cuDriverGetVersion(&number), "ask for the driver's version");
    const std::string api = fmt::format("CUDA {}.{}", number / 1000, number % 1000 / 10), release = version_in(path_);
    version_ = release.empty() ? api : fmt::format("{} ({})", release, api);
}

std::string Driver::words(CUresult result) const {
    const char* name = nullptr;
    const char* text = nullptr;
    if (cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr)
        return fmt::format("CUDA error {}", static_cast<int>(result));
    if (cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) return name;
    return fmt::format("{} ({})", name, text);
}

void Driver::check(CUresult result, std::string_view what) const {
    if (result != CUDA_SUCCESS) throw Error("cannot {}: {}", what, words(result));
}

bool is_sticky(CUresult result) {
    switch (result) {
        case CUDA_ERROR_ECC_UNCORRECTABLE:
        case CUDA_ERROR_NVLINK_UNCORRECTABLE:
        case CUDA_ERROR_CONTEXT_IS_DESTROYED:
        case CUDA_ERROR_ILLEGAL_ADDRESS:
        case CUDA_ERROR_LAUNCH_TIMEOUT:
        case CUDA_ERROR_ASSERT:
        case CUDA_ERROR_HARDWARE_STACK_ERROR:
        case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case CUDA_ERROR_MISALIGNED_ADDRESS:
        case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        case CUDA_ERROR_INVALID_PC:
        case CUDA_ERROR_LAUNCH_FAILED:
        case CUDA_ERROR_DEINITIALIZED:
        case CUDA_ERROR_UNKNOWN:
            return true;
        default:
            return false;
    }
}

Deadline after_seconds(double seconds) {
    return std::chrono::steady_clock::now() +
           std::chrono::microseconds(static_cast<int64_t>(std::min(seconds, 1e9) * 1e6));
}

CUresult await(const Driver& driver, CUevent event, Deadline deadline) {
    using std::chrono::microseconds;
    const Deadline started = std::chrono::steady_clock::now();
    while (true) {
        const CUresult result = driver.cuEventQuery(event);
        const Deadline now = std::chrono::steady_clock::now();
        if (result != CUDA_ERROR_NOT_READY || now >= deadline) return result;
        // A tenth of the time waited so far: short kernels are noticed at once, long ones cost no processor.
        const auto pause = std::min(std::chrono::duration_cast<microseconds>(now - started) / 10, microseconds(1000));
        if (pause >= microseconds(20)) std::this_thread::sleep_for(pause);
    }
}

Stream make_stream(const Driver& driver) {
    CUstream stream = nullptr;
    driver.check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "make a stream");
    return Stream(driver, stream);
}

Event make_event(const Driver& driver) {
    CUevent event = nullptr;
    driver.check(driver.cuEventCreate(&event, CU_EVENT_DEFAULT), "make an event");
    return Event(driver, event);
}

HostMemory make_host_memory(const Driver& driver, size_t bytes) {
    void* memory = nullptr;
    driver.check(driver.cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_DEVICEMAP), "allocate page-locked memory");
    return HostMemory(driver, memory);
}

}  // namespace recuda::cuda

// From a Launch to the driver: modules, functions, argument bytes, launch attributes.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/cuda/cublas_lt.h"
#include "device/cuda/driver.h"
#include "device/cuda/guarded_memory.h"
#include "device/device.h"

namespace recuda::cuda {

/// A launch with its function found, its limits raised and its arguments as bytes: enqueueing it cannot fail for our
/// reasons.
struct PreparedLaunch {
    CUfunction function = nullptr;
    std::string entry;
    Dim3 grid, block;
    uint32_t shared_bytes = 0;
    std::vector<CUlaunchAttribute> attributes;
    std::vector<std::vector<std::byte>> arguments;
    std::optional<PreparedProduct> product;  // in place of the function
};

/// One run; `refusal` says why it cannot be launched, "" where it can.
struct PreparedRun {
    std::vector<PreparedLaunch> launches;
    std::string refusal;
};

class Launcher {
 public:
    /// `target` ("sm_90") is the GPU's; driver and memory must outlive this.
    Launcher(const Driver& driver, GuardedMemory& memory, std::string target);

    /// Loads the cubin where it was made for this GPU, else the PTX through the driver's compiler. Throws Error with
    /// its log.
    ModuleId load(const Binary& binary);
    void unload(ModuleId module);

    /// A run's first launch always waits for what is before it, programmatic or not: runs do not overlap each other.
    PreparedRun prepare(std::span<const Launch> launches);

    CUresult enqueue(PreparedLaunch& launch, CUstream stream) const;

    /// The library at that path, opened once. Throws Error where it does not serve.
    CublasLt& cublas_lt(const std::string& path);

 private:
    struct Function {
        CUfunction handle = nullptr;
        uint32_t shared_limit = 0;  // dynamic shared memory that it may have by now
    };
    struct Loaded {
        Module module;
        std::unordered_map<std::string, Function> functions;
    };

    // Each returns why the launch is refused, "" where it is not.
    std::string prepare(const Launch& launch, PreparedLaunch& prepared);
    std::string prepare_product(const Launch& launch, PreparedLaunch& prepared);
    std::string raise_shared_limit(const Launch& launch, Function& function) const;
    std::string set_attributes(const Launch& launch, PreparedLaunch& prepared) const;
    std::string set_arguments(const Launch& launch, PreparedLaunch& prepared) const;
    std::string tensor_map_bytes(const TensorMap& map, std::vector<std::byte>& bytes) const;

    const Driver& driver_;
    GuardedMemory& memory_;
    std::string target_;
    std::map<ModuleId, Loaded> modules_;
    std::map<std::string, CublasLt> cublas_lt_;  // by path
    ModuleId next_ = 1;
};

/// True where machine code made for `made_for` runs on a GPU of target `target`: the same target, or an earlier minor
/// version of the same major one; of "a" targets the same alone, of "f" targets the same family ("sm_100f" on
/// "sm_103").
bool runs_on(std::string_view made_for, std::string_view target);

/// Whether the tables and sections of an ELF image of machine code lie within it.
bool is_whole_elf(std::string_view image);

}  // namespace recuda::cuda

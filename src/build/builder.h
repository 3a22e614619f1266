// From source text to binaries for one target: NVRTC for CUDA C++, the Python adapter for Triton, ptxas for PTX.
//
// Compilers run in disposable worker processes (`cuda-rlm compile-worker`), so one that hangs or crashes is the outcome
// of that source alone. Results are cached on disk by source, options, target and compiler version.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel/binary.h"
#include "kernel/outcome.h"

namespace recuda {

struct Toolchain;

/// One kernel of a Triton file, specialised: what `triton.compile` is told.
struct TritonKernel {
    std::string function;
    struct Argument {
        std::string name;      // parameter of the Python function; "" for a positional one, taken in order
        std::string type;      // "*bf16", "*i32", "fp32", "i32" …; "constexpr" for constants
        std::string constant;  // Python literal when type is constexpr
        bool divisible_by_16 = false;
        bool operator==(const Argument&) const = default;
    };
    std::vector<Argument> arguments;
    int num_warps = 4, num_stages = 3, num_ctas = 1;
    bool operator==(const TritonKernel&) const = default;
};

struct BuildRequest {
    enum class Language { cuda, triton, ptx } language = Language::cuda;
    std::string source;  // the text as the user wrote it, directives included: lines of logs and reports are its lines
    std::string file;    // base name: "kernel.cu"
    std::string target;  // "sm_90", "sm_90a"
    std::map<std::string, std::string> defines;  // CUDA C++: -DNAME=VALUE
    std::vector<std::string> uses;               // "cutlass": further include folders
    std::vector<TritonKernel> kernels;           // Triton: one binary each, in this order
    bool candidate = true;  // false: what a user runs as it stands, or a reference of ours; nothing is `refused` then
    bool cubin = true;      // false: PTX alone (the virtual GPU needs no more); resources are then unknown
    double deadline_s = 30;
    bool operator==(const BuildRequest&) const = default;
};

struct BuildResult {
    Outcome outcome = Outcome::correct;  // correct: binaries are there; else build_failed or refused
    std::vector<Binary> binaries;        // CUDA C++ and PTX: one; Triton: one a kernel
    std::string log;                     // bounded
    double seconds = 0;
    bool cached = false;
    bool lasting = true;  // false: the compiler was stopped or died, so another try may end otherwise
};

class Builder {
 public:
    virtual ~Builder() = default;

    /// Builds one source. What the compiler says is data; Error only when no compiler can be had at all (missing NVRTC:
    /// says where it was looked for and what to do).
    virtual BuildResult build(const BuildRequest& request) = 0;

    /// Builds many on the worker pool; the results stand in the order of the requests.
    virtual std::vector<BuildResult> build(std::span<const BuildRequest> requests) = 0;
};

struct BuilderOptions {
    unsigned workers = 0;                     // 0: one a core
    std::string cache_folder;                 // "": <cache>/builds
    std::vector<std::string> worker_command;  // empty: this program with "compile-worker"
};

std::unique_ptr<Builder> make_builder(const BuilderOptions& options = {});

/// What `cuda-rlm compile-worker` does: compiles one request after another from stdin until the pipe closes
/// (build/messages.h has the protocol). Returns the exit status.
int serve_compile_worker();

}  // namespace recuda

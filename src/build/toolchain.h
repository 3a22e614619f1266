// Which compilers there are: NVRTC and CUDA headers, ptxas, Triton's Python, in the order that the contract promises
// (CUDA_HOME, /usr/local/cuda, .deps/ beside the program, Python's site-packages; ptxas also TRITON_PTXAS_PATH).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

/// A tool that was found, or why not.
struct Tool {
    std::string name;  // "NVRTC", "CUDA headers", "ptxas", "Triton"
    enum class State { ok, missing, unusable } state = State::missing;
    std::string version;  // "13.0.88"
    std::string path;
    std::string advice;  // what to do when it is not ok
};

struct Toolchain {
    Tool nvrtc, headers, ptxas;
    std::vector<std::string> include_folders;  // CUDA's, then CCCL's where it stands apart
    std::string nvrtc_builtins;  // full path of libnvrtc-builtins, loaded before NVRTC; "" where the loader finds it
};

/// A Python that can import Triton.
struct TritonPython {
    std::string interpreter;           // full path
    std::string version;               // Triton's
    std::vector<std::string> folders;  // what the interpreter reads: its prefixes and module folders
};

/// Looks once, remembers for the process, starts no process unless only Python's site-packages are left to look in.
const Toolchain& toolchain();

/// The Python of .deps/triton, else `python3`; null when neither can import Triton. Starts the interpreter once a
/// process.
const TritonPython* triton_python();

/// Further include folders of `//! uses NAME`; throws Error when they are not installed.
std::vector<std::string> use_folders(std::string_view name);

/// Name, size and time of a file in one text: tells two versions of a compiler apart without starting it.
std::string fingerprint(const std::string& path);

/// All tools with their versions, as `inspect-env` shows them.
std::vector<Tool> inspect_toolchain();

namespace detail {
/// What `toolchain` does, for CUDA folders given in order; `ptxas` goes before theirs where it is a program.
Toolchain find_toolchain(const std::vector<std::string>& roots, const std::string& ptxas);
}  // namespace detail

}  // namespace recuda

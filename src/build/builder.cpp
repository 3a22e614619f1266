#include "build/builder.h"

#include <fmt/format.h>

#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/process.h"
#include "base/text.h"
#include "build/cache.h"
#include "build/compilers.h"
#include "build/messages.h"
#include "build/standard_headers.h"
#include "build/toolchain.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;
using Language = BuildRequest::Language;

void check_target(const std::string& target) {
    const std::string_view number = std::string_view(target).substr(std::min<size_t>(3, target.size()));
    const size_t digits = std::min(number.find_first_not_of("0123456789"), number.size());
    const std::string_view suffix = number.substr(digits);
    if (!target.starts_with("sm_") || digits < 2 || digits > 3 || !(suffix.empty() || suffix == "a" || suffix == "f"))
        throw Error("'{}' is not a target: write it like sm_90 or sm_90a", target);
}

/// One line that says what is missing, where it was looked for and what to do.
void require_cuda(const Toolchain& chain) {
    for (const Tool* tool : {&chain.nvrtc, &chain.headers}) {
        if (tool->state == Tool::State::unusable)
            throw Error("{} at {} cannot be used: {}", tool->name, tool->path, tool->advice);
        if (tool->state == Tool::State::missing)
            throw Error(
                "{}: not found in CUDA_HOME, /usr/local/cuda, .deps/cuda beside the program or Python's site-packages; "
                "{}",
                tool->name, tool->advice);
    }
}

std::string cuda_setup(const Toolchain& chain) {
    WorkerSetup setup;
    // NVRTC looks for #include "x" in the working folder too, for a source has no folder of its own.
    setup.folder = chain.include_folders.front();
    setup.nvrtc = chain.nvrtc.path;
    setup.builtins = chain.nvrtc_builtins;
    setup.jail.memory_bytes = uint64_t{4} << 30;
    setup.jail.readable = chain.include_folders;
    setup.jail.readable.push_back(fs::path(chain.nvrtc.path).parent_path().string());
    try {
        for (std::string& folder : use_folders("cutlass")) setup.jail.readable.push_back(std::move(folder));
    } catch (const Error&) {
        // Not installed: a candidate that uses it hears of it when its options are made.
    }
    return packed(setup);
}

std::string adapter_path(const char* file = "triton_adapter.py") { return (home_folder() / "python" / file).string(); }

/// Triton's Python may read the system, its own folders and the adapter, and write to `folder`.
std::string triton_setup(const TritonPython& python, const fs::path& folder) {
    WorkerSetup setup;
    setup.program = {python.interpreter, "-B", adapter_path()};
    setup.folder = folder.string();
    setup.jail.executable = true;
    setup.jail.readable = {"/usr",         "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives",
                           "/dev/urandom", "/opt"};
    setup.jail.readable.insert(setup.jail.readable.end(), python.folders.begin(), python.folders.end());
    setup.jail.readable.push_back(fs::path(adapter_path()).parent_path().string());
    setup.jail.writable = {folder.string(), "/dev/null"};
    setup.environment = {{"HOME", folder.string()},
                         {"TMPDIR", folder.string()},
                         {"TRITON_HOME", folder.string()},
                         {"TRITON_CACHE_DIR", folder.string() + "/cache"},
                         {"LC_ALL", "C.UTF-8"}};
    for (const char* name :
         {"PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"})
        if (const char* value = std::getenv(name)) setup.environment[name] = value;
    for (const char* name : {"TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"})
        if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
            std::error_code ignored;
            setup.jail.readable.push_back(fs::canonical(value, ignored).string());
        }
    return packed(setup);
}

class PooledBuilder final : public Builder {
 public:
    explicit PooledBuilder(const BuilderOptions& options)
        : workers_(options.workers > 0 ? options.workers : std::max(1u, std::thread::hardware_concurrency())),
          command_(options.worker_command.empty() ? std::vector<std::string>{this_program(), "compile-worker"}
                                                  : options.worker_command),
          cache_(options.cache_folder.empty() ? cache_folder() / "builds" : fs::path(options.cache_folder)) {}

    BuildResult build(const BuildRequest& request) override {
        check_target(request.target);
        const auto start = std::chrono::steady_clock::now();
        const std::string key = build_key(request, compiler_of(request));
        if (auto found = cache_.find(key)) return std::move(*found);
        BuildResult result = compile(request);
        result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (result.lasting) cache_.keep(key, result);
        return result;
    }

    std::vector<BuildResult> build(std::span<const BuildRequest> requests) override {
        std::vector<BuildResult> results(requests.size());
        std::atomic<size_t> next = 0;
        std::exception_ptr failure;
        std::mutex mutex;
        const auto work = [&] {
            for (size_t i; (i = next++) < requests.size();) {
                try {
                    results[i] = build(requests[i]);
                } catch (...) {
                    const std::lock_guard lock(mutex);
                    if (!failure) failure = std::current_exception();
                    next = requests.size();
                }
            }
        };
        std::vector<std::thread> threads;
        for (size_t i = 0; i < std::min<size_t>(workers_, requests.size()); ++i) threads.emplace_back(work);
        for (std::thread& thread : threads) thread.join();
        if (failure) std::rethrow_exception(failure);
        return results;
    }

 private:
    BuildResult compile(const BuildRequest& request) {
        switch (request.language) {
            case Language::cuda:
                return compile_cuda(request, toolchain(), cuda_pool());
            case Language::triton:
                return compile_triton(request, triton_pool());
            case Language::ptx:
                return compile_ptx(request, toolchain());
        }
        throw Error("unknown language");
    }

    /// Names the compiler that a request will meet: part of its key. Throws Error when there is none.
    static std::string compiler_of(const BuildRequest& request) {
        const Toolchain& chain = toolchain();
        if (request.language == Language::cuda) {
            require_cuda(chain);
            std::string compiler = fingerprint(chain.nvrtc.path) + fingerprint(chain.headers.path + "/cuda.h");
            for (const StandardHeader& header : standard_headers()) compiler += header.text;
            return compiler;
        }
        if (request.language == Language::ptx)
            return chain.ptxas.state == Tool::State::ok ? fingerprint(chain.ptxas.path) : "";
        const TritonPython* python = triton_python();
        if (python == nullptr)
            throw Error(
                "no Python that can import triton was found: run ./setup, or install triton for python3 with pip");
        const char* ptxas = std::getenv("TRITON_PTXAS_PATH");
        return python->version + fingerprint(python->interpreter) + fingerprint(adapter_path()) +
               fingerprint(adapter_path("recuda_confinement.py")) + (ptxas == nullptr ? "" : fingerprint(ptxas));
    }

    WorkerPool& cuda_pool() {
        std::call_once(cuda_once_, [this] {
            cuda_ = std::make_unique<WorkerPool>(WorkerPool::Options{.command = command_,
                                                                     .setup = [] { return cuda_setup(toolchain()); },
                                                                     .name = "the CUDA compiler",
                                                                     .size = workers_});
        });
        return *cuda_;
    }

    WorkerPool& triton_pool() {
        std::call_once(triton_once_, [this] {
            triton_ = std::make_unique<WorkerPool>(
                WorkerPool::Options{.command = command_,
                                    .setup = [this] { return triton_setup(*triton_python(), new_folder()); },
                                    .name = "Triton",
                                    .size = workers_});
        });
        return *triton_;
    }

    /// A folder of its own for each Triton process: one candidate's Python must not reach another's files.
    fs::path new_folder() {
        const std::lock_guard lock(folders_mutex_);
        folders_.push_back(std::make_unique<TemporaryFolder>("recuda-triton"));
        return folders_.back()->path();
    }

    unsigned workers_;
    std::vector<std::string> command_;
    BuildCache cache_;
    std::mutex folders_mutex_;
    std::vector<std::unique_ptr<TemporaryFolder>> folders_;
    std::once_flag cuda_once_, triton_once_;
    std::unique_ptr<WorkerPool> cuda_, triton_;  // end before their folders
};

}  // namespace

std::unique_ptr<Builder> make_builder(const BuilderOptions& options) {
    return std::make_unique<PooledBuilder>(options);
}

}  // namespace recuda

// The child's side of messages.h.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/jail.h"
#include "base/text.h"
#include "base/worker_process.h"
#include "build/builder.h"
#include "build/messages.h"
#include "build/nvrtc.h"

namespace recuda {
namespace {

constexpr uint64_t kLogLimitBytes = 1 << 20;
constexpr long kBloatedKilobytes = 1 << 20;  // a kernel with CUB takes 200 MB

/// Puts the program in this process's place, jailed and with no environment but the given one (API keys are none of its
/// business).
[[noreturn]] void become(const WorkerSetup& setup) {
    std::vector<std::string> variables;
    for (const auto& [name, value] : setup.environment) variables.push_back(name + "=" + value);
    std::vector<char*> arguments, environment;
    for (const std::string& word : setup.program) arguments.push_back(const_cast<char*>(word.c_str()));
    for (std::string& variable : variables) environment.push_back(variable.data());
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
    enter_jail(setup.jail);
    ::execve(arguments[0], arguments.data(), environment.data());
    throw Error("cannot start {}: {}", setup.program[0], std::strerror(errno));
}

/// NVRTC is opened and has compiled once before the jail closes: it reads no further libraries after that.
const Nvrtc& warm_compiler(const WorkerSetup& setup) {
    static const Nvrtc* const nvrtc = new Nvrtc(setup.nvrtc, setup.builtins);  // never closed: see toolchain.cpp
    nvrtc->compile("extern \"C\" __global__ void warm(float* x) { *x = 1.0f; }", "warm.cu",
                   {"--gpu-architecture=sm_80"});
    enter_jail(setup.jail);
    return *nvrtc;
}

/// Whether a compilation has left this process large: a fresh one is cheaper than its memory.
bool is_bloated() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss > kBloatedKilobytes;
}

void serve(const Nvrtc& nvrtc) {
    while (const std::optional<std::string> message = read_message(STDIN_FILENO)) {
        const std::string_view ticket = std::string_view(*message).substr(0, kTicketBytes);
        const CudaJob job = unpacked_job(std::string_view(*message).substr(ticket.size()));
        limit_cpu(job.cpu_s);
        Nvrtc::Compilation answer = nvrtc.compile(job.source, job.file, job.options);
        answer.log = bounded(answer.log, kLogLimitBytes);
        write_message(STDOUT_FILENO, fmt::format("{}{}{}", is_bloated() ? "-" : "+", ticket, packed(answer)));
    }
}

}  // namespace

int serve_compile_worker() {
    const std::optional<std::string> first = read_message(STDIN_FILENO);
    if (!first) return 0;
    try {
        const WorkerSetup setup = unpacked_setup(*first);
        if (::chdir(setup.folder.c_str()) != 0) throw Error("cannot enter {}: {}", setup.folder, std::strerror(errno));
        if (!setup.program.empty()) become(setup);
        const Nvrtc& nvrtc = warm_compiler(setup);
        write_message(STDOUT_FILENO, "+");
        serve(nvrtc);
        return 0;
    } catch (const Error& error) {
        write_message(STDOUT_FILENO, fmt::format("-{}", error.what()));
        return 1;
    }
}

}  // namespace recuda

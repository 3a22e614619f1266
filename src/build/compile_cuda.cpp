#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "build/compilers.h"
#include "build/cxx_text.h"
#include "build/messages.h"
#include "build/ptx_entries.h"
#include "build/ptx_screen.h"
#include "build/ptxas_log.h"
#include "build/screen.h"

namespace recuda {
namespace {

using Status = Nvrtc::Compilation::Status;

/// NVRTC does not look into inline assembly; ptxas does. Without it a wrong instruction would reach the device.
bool has_assembly(std::string_view source) {
    for (const CxxToken& token : cxx_tokens(source))
        if (token.is("asm") || token.is("__asm__") || token.is("__asm") ||
            (token.kind == CxxToken::Kind::directive && token.text.find("asm") != std::string::npos))
            return true;
    return false;
}

WorkerPool::Reply ask(const BuildRequest& request, const Toolchain& chain, WorkerPool& pool,
                      Architecture architecture) {
    const CudaJob job{.source = without_line_directives(request.source),
                      .file = request.file,
                      .options = nvrtc_options(request, chain, architecture),
                      .cpu_s = request.deadline_s};
    return pool.ask(packed(job), request.deadline_s);
}

/// The compiler said no: was it because of what candidates may not do? Where ptxas failed, the PTX is asked as well.
BuildResult rejected(const BuildRequest& request, const Toolchain& chain, WorkerPool& pool, const std::string& log,
                     Architecture tried) {
    if (!request.candidate) return failed_build(log);
    if (const std::string why = screen_diagnostics(log, request.file); !why.empty()) return refused_build(why, log);
    if (tried == Architecture::compute) return failed_build(log);
    const WorkerPool::Reply reply = ask(request, chain, pool, Architecture::compute);
    if (reply.end != WorkerPool::Reply::End::answered) return failed_build(log);
    const Nvrtc::Compilation ptx = unpacked_compilation(reply.answer);
    const std::string why = ptx.status == Status::done ? screen_ptx(ptx.ptx) : "";
    return why.empty() ? failed_build(log) : refused_build(fmt::format("{}: {}", request.file, why), log);
}

BuildResult accepted(const BuildRequest& request, Nvrtc::Compilation compilation) {
    if (request.candidate)
        if (const std::string why = screen_ptx(compilation.ptx); !why.empty())
            return refused_build(fmt::format("{}: {}", request.file, why));
    PtxEntries module = read_ptx_entries(compilation.ptx);
    if (!module.problem.empty())
        return failed_build(fmt::format("{}: the compiler's PTX cannot be read: {}", request.file, module.problem));
    read_resources(compilation.log, module.entries);
    const std::string log = bounded(without_resources(compilation.log), kBuildLogLimitBytes);
    BuildResult result;
    result.log = log;
    result.binaries.push_back({.target = request.target,
                               .ptx = std::move(compilation.ptx),
                               .cubin = std::move(compilation.cubin),
                               .file = request.file,
                               .entries = std::move(module.entries),
                               .log = log});
    return result;
}

}  // namespace

std::vector<std::string> nvrtc_options(const BuildRequest& request, const Toolchain& chain, Architecture architecture) {
    const bool real = architecture == Architecture::real;
    std::vector<std::string> options = {fmt::format("--gpu-architecture={}{}", real ? "sm_" : "compute_",
                                                    request.target.substr(std::string_view("sm_").size())),
                                        "--std=c++17", "--generate-line-info"};
    if (real) options.push_back("--ptxas-options=-v");
    for (const std::string& use : request.uses)
        for (const std::string& folder : use_folders(use)) options.push_back("--include-path=" + folder);
    for (const std::string& folder : chain.include_folders) options.push_back("--include-path=" + folder);
    for (const auto& [name, value] : request.defines)
        options.push_back(fmt::format("--define-macro={}={}", name, value));
    return options;
}

BuildResult compile_cuda(const BuildRequest& request, const Toolchain& chain, WorkerPool& pool) {
    if (request.candidate)
        if (const std::string why = screen_source(request.source, request.file); !why.empty())
            return refused_build(why);
    const Architecture architecture =
        request.cubin || has_assembly(request.source) ? Architecture::real : Architecture::compute;
    const WorkerPool::Reply reply = ask(request, chain, pool, architecture);
    if (reply.end != WorkerPool::Reply::End::answered) return unanswered_build(reply, request.deadline_s);
    Nvrtc::Compilation compilation = unpacked_compilation(reply.answer);
    if (compilation.status == Status::bad_option)
        throw Error("NVRTC cannot compile for {}: {}", request.target, trimmed(compilation.log));
    if (compilation.status == Status::rejected) return rejected(request, chain, pool, compilation.log, architecture);
    return accepted(request, std::move(compilation));
}

BuildResult failed_build(std::string log) {
    BuildResult result;
    result.outcome = Outcome::build_failed;
    result.log = bounded(without_resources(log), kBuildLogLimitBytes);
    return result;
}

BuildResult refused_build(std::string why, std::string_view log) {
    BuildResult result;
    result.outcome = Outcome::refused;
    if (!log.empty()) why += fmt::format("\n{}", without_resources(log));
    result.log = bounded(why, kBuildLogLimitBytes);
    return result;
}

BuildResult unanswered_build(const WorkerPool::Reply& reply, double deadline_s) {
    BuildResult result = reply.end == WorkerPool::Reply::End::stopped
                             ? failed_build(fmt::format("the compiler had to be stopped after {:g} s", deadline_s))
                             : failed_build(fmt::format("the compiler died: {}", reply.ending));
    result.lasting = false;
    return result;
}

}  // namespace recuda

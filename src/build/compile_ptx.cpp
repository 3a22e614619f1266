#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "build/compilers.h"
#include "build/ptx_entries.h"
#include "build/ptx_screen.h"
#include "build/ptxas_log.h"

namespace recuda {
namespace {

/// What ptxas says carries the path of the file that we made for it; readers know the text by its own name.
std::string with_name(std::string log, const std::string& path, const std::string& name) {
    for (size_t at = log.find(path); at != std::string::npos; at = log.find(path, at + name.size()))
        log.replace(at, path.size(), name);
    return log;
}

/// PTX newer than the ptxas at hand says nothing against the text: a driver may know it.
bool is_too_new(std::string_view log) { return log.find("Unsupported .version") != std::string_view::npos; }

/// PTX for one architecture alone (sm_90a, sm_100f) is assembled for just that where it is asked for the plain one: it
/// runs on no other.
std::string architecture_of(const std::string& text, const std::string& asked) {
    const bool only_there =
        text.size() == asked.size() + 1 && text.starts_with(asked) && (text.back() == 'a' || text.back() == 'f');
    return only_there ? text : asked;
}

}  // namespace

BuildResult compile_ptx(const BuildRequest& request, const Toolchain& chain) {
    PtxEntries module = read_ptx_entries(request.source);
    if (!module.problem.empty()) return failed_build(fmt::format("{}: {}", request.file, module.problem));
    if (request.candidate)
        if (const std::string why = screen_ptx(request.source); !why.empty())
            return refused_build(fmt::format("{}: {}", request.file, why));
    BuildResult result;
    Binary binary{.target = request.target,
                  .ptx = request.source,
                  .cubin = {},
                  .file = request.file,
                  .entries = std::move(module.entries),
                  .log = {}};
    if (request.cubin && chain.ptxas.state == Tool::State::ok) {
        const TemporaryFolder folder;
        const std::string input = (folder.path() / "kernel.ptx").string(),
                          output = (folder.path() / "kernel.cubin").string();
        write_atomically(input, request.source);
        const ProcessResult assembled =
            run_process({chain.ptxas.path, "--gpu-name=" + architecture_of(module.target, request.target), "-v",
                         "-lineinfo", input, "-o", output},
                        {.input = {}, .deadline_s = request.deadline_s, .environment = {}, .folder = {}});
        const std::string log = with_name(assembled.err + assembled.out, input, request.file);
        if (assembled.timed_out)
            return unanswered_build({.end = WorkerPool::Reply::End::stopped, .answer = {}, .ending = {}},
                                    request.deadline_s);
        if (assembled.status != 0 && !is_too_new(log)) return failed_build(log);
        if (assembled.status == 0) {
            binary.cubin = read_file(output);
            read_resources(log, binary.entries);
        }
        result.log = bounded(without_resources(log), kBuildLogLimitBytes);
    }
    binary.log = result.log;
    result.binaries.push_back(std::move(binary));
    return result;
}

}  // namespace recuda

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "build/compilers.h"
#include "build/ptx_entries.h"
#include "build/ptx_screen.h"
#include "build/ptxas_log.h"

namespace recuda {
namespace {

using Json = nlohmann::json;

/// The adapter's answer is JSON, a zero byte, and the cubins one after another. A candidate's Python ran in the process
/// that wrote it, so everything in it is checked.
struct Answer {
    Json json;
    std::string_view cubins;
};

Answer read_answer(std::string_view bytes) {
    const size_t end = std::min(bytes.find('\0'), bytes.size());
    return {Json::parse(bytes.substr(0, end)), bytes.substr(std::min(end + 1, bytes.size()))};
}

std::string request_text(const BuildRequest& request) {
    Json kernels = Json::array();
    for (const TritonKernel& kernel : request.kernels) {
        Json arguments = Json::array();
        for (const auto& a : kernel.arguments)
            arguments.push_back(
                {{"name", a.name}, {"type", a.type}, {"constant", a.constant}, {"divisible_by_16", a.divisible_by_16}});
        kernels.push_back(
            {{"function", kernel.function},
             {"arguments", arguments},
             {"options",
              {{"num_warps", kernel.num_warps}, {"num_stages", kernel.num_stages}, {"num_ctas", kernel.num_ctas}}}});
    }
    return Json{{"source", valid_utf8(request.source)},
                {"file", valid_utf8(request.file)},
                {"target", request.target},
                {"cubin", request.cubin},
                {"deadline_s", request.deadline_s},
                {"kernels", kernels}}
        .dump();
}

/// "sm_90a" → "90".
std::string_view number_of(std::string_view target) {
    const size_t first = std::min(target.find('_') + 1, target.size());
    return target.substr(first, std::min(target.find_first_not_of("0123456789", first), target.size()) - first);
}

uint32_t runtime_arguments(const TritonKernel& kernel) {
    return static_cast<uint32_t>(
        std::ranges::count_if(kernel.arguments, [](const auto& a) { return a.type != "constexpr"; }));
}

/// A number of bytes as the answer has it. Throws Error for what is none.
uint32_t bytes_at(const Json& made, const char* key) {
    const Json& value = made.at(key);
    if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX) throw Error("{} is no number of bytes", key);
    return value.get<uint32_t>();
}

/// Why a kernel that Triton compiled cannot be launched by us, or "".
std::string problem_of(const BuildRequest& request, const TritonKernel& kernel, const PtxEntries& module,
                       const Json& made) {
    if (!module.problem.empty())
        return fmt::format("Triton's PTX of {} cannot be read: {}", kernel.function, module.problem);
    if (number_of(module.target) != number_of(request.target))
        return fmt::format("Triton compiled {} for {}, not for {}", kernel.function, module.target, request.target);
    if (module.entries.size() != 1)
        return fmt::format("Triton's PTX of {} has {} entries instead of one", kernel.function, module.entries.size());
    if (module.entries[0].parameters.size() < runtime_arguments(kernel))
        return fmt::format("Triton's entry of {} takes too few parameters", kernel.function);
    for (const char* scratch : {"global_scratch_size", "profile_scratch_size"})
        if (bytes_at(made, scratch) != 0)
            return fmt::format(
                "{} needs {} bytes of Triton's global scratch memory a program, which a launch plan cannot give: ask "
                "for "
                "memory with `scratch` instead",
                kernel.function, bytes_at(made, scratch));
    return "";
}

Binary binary_of(const BuildRequest& request, const TritonKernel& kernel, PtxEntries module, const Json& made,
                 std::string_view& cubins) {
    Entry& entry = module.entries[0];
    read_resources(made.at("ptxas_log").get<std::string>(), module.entries);
    entry.dynamic_shared_bytes = bytes_at(made, "shared");
    entry.hidden_parameters = static_cast<uint32_t>(entry.parameters.size()) - runtime_arguments(kernel);
    if (kernel.num_ctas > 1 && entry.cluster == Dim3{0, 0, 0})
        entry.cluster = {static_cast<uint32_t>(kernel.num_ctas), 1, 1};
    const size_t size = std::min<size_t>(bytes_at(made, "cubin_bytes"), cubins.size());
    Binary binary{.target = request.target,
                  .ptx = made.at("ptx"),
                  .cubin = std::string(cubins.substr(0, size)),
                  .file = request.file,
                  .entries = std::move(module.entries),
                  .log = bounded(without_resources(made.at("ptxas_log").get<std::string>()), kBuildLogLimitBytes)};
    cubins.remove_prefix(size);
    return binary;
}

BuildResult checked(const BuildRequest& request, Answer answer) {
    if (!answer.json.at("ok").get<bool>()) {
        BuildResult failed = failed_build(answer.json.at("log"));
        failed.lasting = !answer.json.value("died", false);
        return failed;
    }
    BuildResult result;
    for (size_t i = 0; i < request.kernels.size(); ++i) {
        const Json& made = answer.json.at("kernels").at(i);
        const std::string ptx = made.at("ptx");
        if (request.candidate)
            if (const std::string why = screen_ptx(ptx); !why.empty())
                return refused_build(fmt::format("{}: {}", request.file, why));
        PtxEntries module = read_ptx_entries(ptx);
        if (const std::string why = problem_of(request, request.kernels[i], module, made); !why.empty())
            return failed_build(fmt::format("{}: {}", request.file, why));
        result.binaries.push_back(binary_of(request, request.kernels[i], std::move(module), made, answer.cubins));
    }
    return result;
}

}  // namespace

BuildResult compile_triton(const BuildRequest& request, WorkerPool& pool) {
    // Python checks the deadline as well, by CPU time; ours is by the clock.
    const WorkerPool::Reply reply = pool.ask(request_text(request), request.deadline_s);
    if (reply.end != WorkerPool::Reply::End::answered) return unanswered_build(reply, request.deadline_s);
    try {
        return checked(request, read_answer(reply.answer));
    } catch (const std::exception& error) {
        return failed_build(fmt::format("{}: the compiler's answer makes no sense: {}", request.file, error.what()));
    }
}

}  // namespace recuda

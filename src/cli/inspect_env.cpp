// `cuda-rlm inspect-env`: what is here, in which version, and what to do for what is not.
#include <sys/utsname.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/json.h"
#include "base/process.h"
#include "base/progress.h"
#include "base/text.h"
#include "build/cublas_lt_library.h"
#include "build/toolchain.h"
#include "build/torch_python.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "device/cuda/cuda.h"
#include "device/device.h"
#include "lm/preset.h"
#include "lm/programs.h"
#include "lm/secrets.h"
#include "retrieval/engine.h"
#include "store/database.h"

namespace recuda {
namespace {

std::string_view name(Tool::State state) {
    return state == Tool::State::ok ? "ok" : state == Tool::State::missing ? "missing" : "unusable";
}

Tool found(std::string name, std::string version, std::string path) {
    return {std::move(name), Tool::State::ok, std::move(version), std::move(path), ""};
}

Tool system_facts() {
    utsname facts{};
    ::uname(&facts);
    return found("system",
                 fmt::format("{} {} {}, {} cores", facts.sysname, facts.release, facts.machine,
                             std::thread::hardware_concurrency()),
                 "");
}

std::vector<Tool> gpus() {
    const CudaSurvey survey = survey_cuda();
    std::vector<Tool> tools;
    if (survey.driver_version.empty())
        tools.push_back({"CUDA driver", Tool::State::missing, "", "",
                         survey.problem + "; without one kernels run on the virtual GPU"});
    else
        tools.push_back(found("CUDA driver", survey.driver_version, survey.driver_path));
    if (survey.devices.empty()) tools.push_back({"GPU", Tool::State::missing, "", "", survey.problem});
    int ordinal = 0;
    for (const DeviceInfo& device : survey.devices) {
        const std::string holder = cuda_holder(device.uuid);
        tools.push_back(found(fmt::format("GPU cuda:{}", ordinal++),
                              fmt::format("{}, {}, {} SMs, {:.1f} MiB L2, {:.1f} GiB{}", device.name, device.target,
                                          device.sm_count, device.l2_bytes / 1048576.0,
                                          device.memory_bytes / 1073741824.0, device.integrated ? ", integrated" : ""),
                              ""));
        if (!holder.empty()) tools.back().advice = fmt::format("in use by {}", holder);
    }
    return tools;
}

Tool duckdb() {
    try {
        const DuckDbFound library = find_duckdb();
        return found("DuckDB", library.version, library.path);
    } catch (const Error& error) {
        return {"DuckDB", Tool::State::missing, "", "", error.what()};
    }
}

/// The first line of what a program says of its version.
std::string version_of(const std::string& program) {
    try {
        const ProcessResult result =
            run_process({program, "--version"}, {.deadline_s = 10, .without = key_variables()});
        return one_line(result.out.substr(0, result.out.find('\n')), 60);
    } catch (const Error&) {
        return "";
    }
}

/// The file of a cli preset's program, "" where it is not here.
std::string program_of(const Preset& preset) {
    return preset.kind == PresetKind::cli ? program_path(preset.program) : "";
}

Tool xapian() {
    try {
        const EngineFound engine = find_index_engine();
        return found("Xapian", engine.version, engine.path);
    } catch (const Error& error) {
        return {"Xapian", Tool::State::missing, "", "", error.what()};
    }
}

std::vector<Tool> language_models() {
    std::vector<Tool> tools;
    for (const Preset& preset : read_presets(preset_folders())) {
        const std::string why = preset.why_unusable(), program = program_of(preset);
        tools.push_back({"language model " + preset.name, why.empty() ? Tool::State::ok : Tool::State::unusable,
                         program.empty() ? "" : version_of(program), program.empty() ? preset.file.string() : program,
                         why});
    }
    return tools;
}

std::string line_of(const Tool& tool, bool coloured) {
    const char* colour = !coloured                            ? ""
                         : tool.state == Tool::State::ok      ? "\x1b[32m"
                         : tool.state == Tool::State::missing ? "\x1b[33m"
                                                              : "\x1b[31m";
    std::string text = fmt::format("{}{:<9}{} {:<30} {}", colour, name(tool.state), coloured ? "\x1b[0m" : "",
                                   tool.name, tool.version);
    if (!tool.path.empty()) text += fmt::format("  {}", valid_utf8(tool.path));
    if (!tool.advice.empty())
        text += fmt::format("{}{}", tool.version.empty() && tool.path.empty() ? "" : "; ", tool.advice);
    return text + "\n";
}

}  // namespace

int inspect_env_command(CommandLine& line) {
    line.example("cuda-rlm inspect-env");
    if (!line.parse()) return 0;
    std::vector<Tool> tools{system_facts()};
    const auto append = [&](std::vector<Tool> more) {
        tools.insert(tools.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    };
    append(inspect_toolchain());
    tools.push_back(cublas_lt());
    append(gpus());
    tools.push_back(torch_python());
    tools.push_back(duckdb());
    tools.push_back(xapian());
    append(language_models());

    if (!line.json()) {
        for (const Tool& tool : tools) print_coloured(line_of(tool, colours(1)));
        return 0;
    }
    Json list = Json::array();
    for (const Tool& tool : tools)
        list.push_back({{"name", tool.name},
                        {"state", name(tool.state)},
                        {"version", json_text(tool.version)},
                        {"path", json_text(tool.path)},
                        {"advice", json_text(tool.advice)}});
    print_json(list);
    return 0;
}

}  // namespace recuda

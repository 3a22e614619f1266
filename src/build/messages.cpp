#include "build/messages.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace recuda {
namespace {

using Json = nlohmann::json;

std::string to_bytes(const Json& json) {
    std::string bytes;
    Json::to_cbor(json, bytes);
    return bytes;
}

/// Decodes and reads with `read`; whatever does not fit is one Error.
template <typename Read>
auto from_bytes(std::string_view bytes, std::string_view what, const Read& read) {
    try {
        return read(Json::from_cbor(bytes.begin(), bytes.end()));
    } catch (const Json::exception& error) {
        throw Error("this is not a {}: {}", what, error.what());
    }
}

// CBOR texts may hold any bytes here, so sources that are not UTF-8 and cubins pass unchanged.

Json dimensions_json(const Dim3& d) { return {d.x, d.y, d.z}; }
Dim3 dimensions_from(const Json& json) { return {json.at(0), json.at(1), json.at(2)}; }

Json entry_json(const Entry& entry) {
    Json parameters = Json::array();
    for (const Parameter& p : entry.parameters) parameters.push_back({p.type, p.bytes, p.align});
    const Resources& r = entry.resources;
    return {{"name", entry.name},
            {"parameters", parameters},
            {"resources", {r.registers, r.spill_bytes, r.shared_bytes, r.local_bytes, r.barriers}},
            {"max_threads", entry.max_threads},
            {"required_threads", dimensions_json(entry.required_threads)},
            {"cluster", dimensions_json(entry.cluster)},
            {"dynamic_shared_bytes", entry.dynamic_shared_bytes},
            {"hidden_parameters", entry.hidden_parameters}};
}

Entry entry_from(const Json& json) {
    Entry entry;
    entry.name = json.at("name");
    for (const Json& p : json.at("parameters")) entry.parameters.push_back({p.at(0), p.at(1), p.at(2)});
    const Json& r = json.at("resources");
    entry.resources = {r.at(0), r.at(1), r.at(2), r.at(3), r.at(4)};
    entry.max_threads = json.at("max_threads");
    entry.required_threads = dimensions_from(json.at("required_threads"));
    entry.cluster = dimensions_from(json.at("cluster"));
    entry.dynamic_shared_bytes = json.at("dynamic_shared_bytes");
    entry.hidden_parameters = json.at("hidden_parameters");
    return entry;
}

Json binary_json(const Binary& binary) {
    Json entries = Json::array();
    for (const Entry& entry : binary.entries) entries.push_back(entry_json(entry));
    return {{"target", binary.target}, {"ptx", binary.ptx},  {"cubin", binary.cubin},
            {"file", binary.file},     {"entries", entries}, {"log", binary.log}};
}

Binary binary_from(const Json& json) {
    Binary binary{.target = json.at("target"),
                  .ptx = json.at("ptx"),
                  .cubin = json.at("cubin"),
                  .file = json.at("file"),
                  .entries = {},
                  .log = json.at("log")};
    for (const Json& entry : json.at("entries")) binary.entries.push_back(entry_from(entry));
    return binary;
}

}  // namespace

std::string packed(const WorkerSetup& setup) {
    return to_bytes({{"nvrtc", setup.nvrtc},
                     {"builtins", setup.builtins},
                     {"program", setup.program},
                     {"folder", setup.folder},
                     {"environment", setup.environment},
                     {"readable", setup.jail.readable},
                     {"writable", setup.jail.writable},
                     {"executable", setup.jail.executable},
                     {"memory_bytes", setup.jail.memory_bytes},
                     {"file_bytes", setup.jail.file_bytes}});
}

WorkerSetup unpacked_setup(std::string_view bytes) {
    return from_bytes(bytes, "worker's setup", [](const Json& json) {
        return WorkerSetup{.nvrtc = json.at("nvrtc"),
                           .builtins = json.at("builtins"),
                           .program = json.at("program"),
                           .folder = json.at("folder"),
                           .environment = json.at("environment"),
                           .jail = {.readable = json.at("readable"),
                                    .writable = json.at("writable"),
                                    .executable = json.at("executable"),
                                    .memory_bytes = json.at("memory_bytes"),
                                    .file_bytes = json.at("file_bytes")}};
    });
}

std::string packed(const CudaJob& job) {
    return to_bytes({{"source", job.source}, {"file", job.file}, {"options", job.options}, {"cpu_s", job.cpu_s}});
}

CudaJob unpacked_job(std::string_view bytes) {
    return from_bytes(bytes, "compile job", [](const Json& json) {
        return CudaJob{.source = json.at("source"),
                       .file = json.at("file"),
                       .options = json.at("options"),
                       .cpu_s = json.at("cpu_s")};
    });
}

std::string packed(const Nvrtc::Compilation& answer) {
    return to_bytes({{"status", static_cast<int>(answer.status)},
                     {"log", answer.log},
                     {"ptx", answer.ptx},
                     {"cubin", answer.cubin}});
}

Nvrtc::Compilation unpacked_compilation(std::string_view bytes) {
    return from_bytes(bytes, "compilation", [](const Json& json) {
        return Nvrtc::Compilation{.status = static_cast<Nvrtc::Compilation::Status>(json.at("status").get<int>()),
                                  .log = json.at("log"),
                                  .ptx = json.at("ptx"),
                                  .cubin = json.at("cubin")};
    });
}

std::string packed(const BuildResult& result) {
    Json binaries = Json::array();
    for (const Binary& binary : result.binaries) binaries.push_back(binary_json(binary));
    return to_bytes(
        {{"outcome", name(result.outcome)}, {"binaries", binaries}, {"log", result.log}, {"seconds", result.seconds}});
}

BuildResult unpacked_result(std::string_view bytes) {
    return from_bytes(bytes, "build result", [](const Json& json) {
        BuildResult result{.outcome = outcome_named(json.at("outcome").get<std::string>()),
                           .binaries = {},
                           .log = json.at("log"),
                           .seconds = json.at("seconds"),
                           .cached = false};
        for (const Json& binary : json.at("binaries")) result.binaries.push_back(binary_from(binary));
        return result;
    });
}

}  // namespace recuda

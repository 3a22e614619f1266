#include "device/cuda/wire.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace recuda::cuda {
namespace {

std::string hexadecimal(std::span<const std::byte> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes) {
        text += kDigits[std::to_integer<unsigned>(byte) >> 4];
        text += kDigits[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

std::vector<std::byte> bytes_from_hexadecimal(std::string_view text) {
    const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
    std::vector<std::byte> bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(digit(text[i]) << 4 | digit(text[i + 1])));
    return bytes;
}

Json dim_to_json(const Dim3& dim) { return {dim.x, dim.y, dim.z}; }

Dim3 dim_from_json(const Json& json) { return {json.at(0), json.at(1), json.at(2)}; }

Json argument_to_json(const Argument& argument) {
    switch (argument.kind) {
        case Argument::Kind::buffer:
            return {{"buffer", argument.buffer}, {"offset", argument.offset_bytes}};
        case Argument::Kind::value:
            return {{"value", hexadecimal(argument.value)}};
        case Argument::Kind::tensor_map:
            break;
    }
    const TensorMap& map = *argument.tensor_map;
    return {{"map",
             {{"buffer", map.buffer},
              {"dtype", map.dtype},
              {"dims", map.dims},
              {"strides", map.strides_bytes},
              {"box", map.box},
              {"swizzle", map.swizzle},
              {"element_strides", map.element_strides},
              {"nan_fill", map.nan_fill},
              {"offset", map.offset_bytes}}}};
}

Argument argument_from_json(const Json& json) {
    Argument argument;
    if (json.contains("buffer")) {
        argument.kind = Argument::Kind::buffer;
        argument.buffer = json.at("buffer");
        argument.offset_bytes = json.at("offset");
    } else if (json.contains("map")) {
        argument.kind = Argument::Kind::tensor_map;
        const Json& map = json.at("map");
        argument.tensor_map = std::make_shared<TensorMap>(
            TensorMap{map.at("buffer"), map.at("dtype"), map.at("dims"), map.at("strides"), map.at("box"),
                      map.at("swizzle"), map.at("element_strides"), map.at("nan_fill"), map.at("offset")});
    } else {
        argument.value = bytes_from_hexadecimal(json.at("value").get_ref<const std::string&>());
    }
    return argument;
}

Json launches_to_json(std::span<const Launch> launches) {
    Json all = Json::array();
    for (const Launch& launch : launches) all.push_back(to_json(launch));
    return all;
}

/// {region, hash, original}, by position: a timing has thousands of them.
Json output_to_json(const TimedOutput& output) {
    Json json = Json::array({region_to_json(output.region), output.hash});
    if (output.original) json.push_back(region_to_json(*output.original));
    return json;
}

TimedOutput output_from_json(const Json& json) {
    TimedOutput output{region_from_json(json.at(0)), json.at(1), {}};
    if (json.size() > 2) output.original = region_from_json(json.at(2));
    return output;
}

}  // namespace

Json region_to_json(const Region& region) { return Json::array({region.buffer, region.offset_bytes, region.bytes}); }

Region region_from_json(const Json& json) { return {json.at(0), json.at(1), json.at(2)}; }

std::string packed(const Json& header, std::string_view payload) {
    const std::string text = dump(header);
    const auto size = static_cast<uint32_t>(text.size());
    std::string message;
    message.reserve(sizeof size + text.size() + payload.size());
    for (int shift = 0; shift < 32; shift += 8) message += static_cast<char>(size >> shift & 0xff);
    message += text;
    message += payload;
    return message;
}

Unpacked unpacked(std::string_view message) {
    uint32_t size = 0;
    if (message.size() >= sizeof size)
        for (int i = 0; i < 4; ++i) size |= uint32_t{static_cast<unsigned char>(message[i])} << 8 * i;
    if (message.size() < sizeof size || size > message.size() - sizeof size)
        throw Error("a worker's message is cut short ({} bytes)", message.size());
    message.remove_prefix(sizeof size);
    return {message.substr(0, size), message.substr(size)};
}

Json to_json(const DeviceInfo& info) {
    return {{"name", json_text(info.name)},
            {"target", info.target},
            {"measures_time", info.measures_time},
            {"integrated", info.integrated},
            {"sm_count", info.sm_count},
            {"max_threads_per_block", info.max_threads_per_block},
            {"max_threads_per_sm", info.max_threads_per_sm},
            {"max_blocks_per_sm", info.max_blocks_per_sm},
            {"max_shared_bytes", info.max_shared_bytes},
            {"shared_bytes_per_sm", info.shared_bytes_per_sm},
            {"registers_per_sm", info.registers_per_sm},
            {"max_cluster_blocks", info.max_cluster_blocks},
            {"clock_mhz", info.clock_mhz},
            {"l2_bytes", info.l2_bytes},
            {"memory_bytes", info.memory_bytes},
            {"memory_bytes_per_ns", info.memory_bytes_per_ns},
            {"driver", json_text(info.driver)},
            {"uuid", info.uuid},
            {"ordinal", info.ordinal}};
}

DeviceInfo device_info_from_json(const Json& json) {
    DeviceInfo info;
    info.kind = DeviceKind::cuda;
    info.name = json.at("name");
    info.target = json.at("target");
    info.measures_time = json.at("measures_time");
    info.integrated = json.at("integrated");
    info.sm_count = json.at("sm_count");
    info.max_threads_per_block = json.at("max_threads_per_block");
    info.max_threads_per_sm = json.at("max_threads_per_sm");
    info.max_blocks_per_sm = json.at("max_blocks_per_sm");
    info.max_shared_bytes = json.at("max_shared_bytes");
    info.shared_bytes_per_sm = json.at("shared_bytes_per_sm");
    info.registers_per_sm = json.at("registers_per_sm");
    info.max_cluster_blocks = json.at("max_cluster_blocks");
    info.clock_mhz = json.at("clock_mhz");
    info.l2_bytes = json.at("l2_bytes");
    info.memory_bytes = json.at("memory_bytes");
    info.memory_bytes_per_ns = json.at("memory_bytes_per_ns");
    info.driver = json.at("driver");
    info.uuid = json.at("uuid");
    info.ordinal = json.at("ordinal");
    return info;
}

Json to_json(const Launch& launch) {
    Json arguments = Json::array();
    for (const Argument& argument : launch.arguments) arguments.push_back(argument_to_json(argument));
    if (launch.product) return {{"product", to_json(*launch.product)}, {"arguments", std::move(arguments)}};
    return {{"module", launch.module},
            {"entry", launch.entry},
            {"grid", dim_to_json(launch.grid)},
            {"block", dim_to_json(launch.block)},
            {"cluster", dim_to_json(launch.cluster)},
            {"shared_bytes", launch.shared_bytes},
            {"cooperative", launch.cooperative},
            {"programmatic", launch.programmatic},
            {"arguments", std::move(arguments)}};
}

Launch launch_from_json(const Json& json) {
    Launch launch;
    for (const Json& argument : json.at("arguments")) launch.arguments.push_back(argument_from_json(argument));
    if (json.contains("product")) {
        launch.product = std::make_shared<const MatrixProduct>(matrix_product_from_json(json.at("product")));
        return launch;
    }
    launch.module = json.at("module");
    launch.entry = json.at("entry");
    launch.grid = dim_from_json(json.at("grid"));
    launch.block = dim_from_json(json.at("block"));
    launch.cluster = dim_from_json(json.at("cluster"));
    launch.shared_bytes = json.at("shared_bytes");
    launch.cooperative = json.at("cooperative");
    launch.programmatic = json.at("programmatic");
    return launch;
}

Json to_json(const MatrixProduct& product) {
    return {{"library", json_text(product.library)},
            {"dtype", product.dtype},
            {"rows", product.rows},
            {"columns", product.columns},
            {"inner", product.inner},
            {"algorithm", hexadecimal(product.algorithm)},
            {"workspace_bytes", product.workspace_bytes}};
}

MatrixProduct matrix_product_from_json(const Json& json) {
    return {json.at("library"),        json.at("dtype"),
            json.at("rows"),           json.at("columns"),
            json.at("inner"),          bytes_from_hexadecimal(json.at("algorithm").get_ref<const std::string&>()),
            json.at("workspace_bytes")};
}

Json to_json(const ProductAlgorithms& algorithms) {
    Json all = Json::array();
    for (const ProductAlgorithm& one : algorithms.algorithms)
        all.push_back({{"algorithm", hexadecimal(one.algorithm)},
                       {"workspace_bytes", one.workspace_bytes},
                       {"words", json_text(one.words)}});
    return {{"library_version", json_text(algorithms.library_version)}, {"algorithms", std::move(all)}};
}

ProductAlgorithms product_algorithms_from_json(const Json& json) {
    ProductAlgorithms algorithms{json.at("library_version"), {}};
    for (const Json& one : json.at("algorithms"))
        algorithms.algorithms.push_back({bytes_from_hexadecimal(one.at("algorithm").get_ref<const std::string&>()),
                                         one.at("workspace_bytes"), one.at("words")});
    return algorithms;
}

Json to_json(const RunOptions& options) {
    return {{"deadline_s", options.deadline_s},
            {"schedule", options.schedule},
            {"checks", options.checks},
            {"count", options.count},
            {"noise", options.noise}};
}

RunOptions run_options_from_json(const Json& json) {
    return {json.at("deadline_s"), json.at("schedule"), json.at("checks"), json.at("count"), json.at("noise")};
}

Json to_json(const TimingRequest& request) {
    Json sequences = Json::array();
    for (const std::vector<Launch>& launches : request.sequences) sequences.push_back(launches_to_json(launches));
    Json outputs = Json::array();
    for (const std::vector<TimedOutput>& wanted : request.outputs) {
        Json& of_sequence = outputs.emplace_back(Json::array());
        for (const TimedOutput& output : wanted) of_sequence.push_back(output_to_json(output));
    }
    return {{"sequences", std::move(sequences)},
            {"samples", request.samples},
            {"warmups", request.warmups},
            {"runs_per_sample", request.runs_per_sample},
            {"cleared", request.cleared},
            {"deadline_s", request.deadline_s},
            {"outputs", std::move(outputs)},
            {"poisoned", request.poisoned},
            {"poison", std::to_integer<unsigned>(request.poison)},
            {"cold", request.cold}};
}

TimingRequest timing_request_from_json(const Json& json) {
    TimingRequest request;
    for (const Json& launches : json.at("sequences")) {
        std::vector<Launch>& sequence = request.sequences.emplace_back();
        for (const Json& launch : launches) sequence.push_back(launch_from_json(launch));
    }
    request.samples = json.at("samples");
    request.warmups = json.at("warmups");
    request.runs_per_sample = json.at("runs_per_sample");
    request.cleared = json.at("cleared").get<std::vector<BufferId>>();
    request.deadline_s = json.at("deadline_s");
    for (const Json& wanted : json.at("outputs")) {
        std::vector<TimedOutput>& of_sequence = request.outputs.emplace_back();
        for (const Json& output : wanted) of_sequence.push_back(output_from_json(output));
    }
    request.poisoned = json.at("poisoned").get<std::vector<BufferId>>();
    request.poison = static_cast<std::byte>(json.at("poison").get<unsigned>());
    request.cold = json.at("cold");
    return request;
}

Json to_json(const Execution& execution) {
    Json reports = Json::array();
    for (const Report& report : execution.reports) reports.push_back(recuda::to_json(report));
    return {{"outcome", name(execution.outcome)},
            {"reports", std::move(reports)},
            {"log", json_text(execution.log)},
            {"printed", json_text(execution.printed)},
            {"gpu_ns", execution.gpu_ns}};
}

Execution execution_from_json(const Json& json) {
    Execution execution;
    execution.outcome = outcome_named(json.at("outcome").get_ref<const std::string&>());
    for (const Json& report : json.at("reports")) execution.reports.push_back(report_from_json(report));
    execution.log = json.at("log");
    execution.printed = json.at("printed");
    execution.gpu_ns = json.at("gpu_ns");
    return execution;
}

Json to_json(const Timing& timing) {
    return {{"outcome", name(timing.outcome)},
            {"samples_ns", timing.samples_ns},
            {"clock_mhz", timing.clock_mhz},
            {"method", timing.method},
            {"log", json_text(timing.log)},
            {"checked_runs", timing.checked_runs},
            {"wrong_sequence", timing.wrong_sequence ? Json(*timing.wrong_sequence) : Json()}};
}

Timing timing_from_json(const Json& json) {
    Timing timing{outcome_named(json.at("outcome").get_ref<const std::string&>()),
                  json.at("samples_ns").get<std::vector<double>>(),
                  json.at("clock_mhz").get<std::vector<double>>(),
                  json.at("method"),
                  json.at("log"),
                  json.at("checked_runs"),
                  {}};
    if (const Json& wrong = json.at("wrong_sequence"); !wrong.is_null()) timing.wrong_sequence = wrong;
    return timing;
}

}  // namespace recuda::cuda

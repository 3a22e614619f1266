// `cuda-rlm exec`: any kernel of a .cu or .ptx as it stands, with buffers given on the command line.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/exec_run.h"
#include "cli/source_excerpt.h"
#include "device/counters.h"
#include "device/device.h"
#include "device/gpus.h"
#include "device/profile.h"
#include "tensor/npy.h"

namespace recuda {
namespace {

struct ExecWords : ExecRequest {
    std::vector<std::string> buffer_words, define_words, prints, saves;

    bool parse(CommandLine& line) {
        line.word("FILE", file, "CUDA C++, or PTX when it ends in .ptx", true);
        line.option("--launch", "K<<<…>>>(…)", launch,
                    "The launch in CUDA's syntax: 'k<<<grid, block, shared, cluster=(x,y,z), cooperative>>>(x, 128, "
                    "1.5f, tensormap(…))'");
        line.option("--buffer", "NAME:TYPE[N]=FILL", buffer_words,
                    "A buffer; FILL: zeros iota const(V) uniform(A,B) normal(M,S) [1,2,3] @file.npy uninit (repeats)");
        line.option("--define", "NAME=VALUE", define_words, "A macro for the compiler (repeats)");
        line.option("--print", "NAME", prints, "Print a buffer afterwards (repeats)");
        line.option("--save", "NAME=FILE.npy", saves, "Save a buffer afterwards (repeats)");
        line.option("--schedules", "N", schedules,
                    "Virtual GPU: run under N warp and block orders; buffers must come out the same");
        line.option("--gpu", "NAME", gpu, "Virtual GPU: whose occupancy is shown: h200, l4, rtx4090 …; its target too");
        line.option("--deadline", "S", deadline_s, "Seconds that the kernel may run");
        device.declare(line);
        line.example(
            "cuda-rlm exec add.cu --launch 'add<<<4, 32>>>(a, b, c, 128)' --buffer 'a:f32[128]=iota' --buffer "
            "'b:f32[128]=const(3)' \\\n"
            "      --buffer 'c:f32[128]=uninit' --print c");
        return line.parse();
    }
};

struct Save {
    std::string buffer, file;
};

const ExecBuffer& named(const std::vector<ExecBuffer>& buffers, const std::string& name, const char* option) {
    std::vector<std::string> names;
    for (const ExecBuffer& buffer : buffers) {
        if (buffer.name == name) return buffer;
        names.push_back(buffer.name);
    }
    throw UsageError("{} {}: there is no such buffer{}", option, name, did_you_mean(name, names));
}

std::vector<Save> parse_saves(const std::vector<std::string>& texts, const std::vector<ExecBuffer>& buffers) {
    std::vector<Save> saves;
    for (const std::string& text : texts) {
        const size_t equals = text.find('=');
        if (equals == std::string::npos || equals + 1 == text.size())
            throw UsageError("--save takes NAME=FILE.npy, not `{}`", text);
        named(buffers, text.substr(0, equals), "--save");
        saves.push_back({text.substr(0, equals), text.substr(equals + 1)});
    }
    return saves;
}

Json element(const Tensor& tensor, int64_t index) {
    const std::byte* at = tensor.bytes.data() + index * size_bytes(tensor.dtype);
    if (tensor.dtype == DType::u64) return *reinterpret_cast<const uint64_t*>(at);
    if (tensor.dtype == DType::i64) return *reinterpret_cast<const int64_t*>(at);
    const double value = tensor.at(index);
    return is_floating(tensor.dtype) ? json_number(value) : Json(static_cast<int64_t>(value));
}

Json values(const Tensor& tensor) {
    Json array = Json::array();
    for (int64_t i = 0; i < tensor.size(); ++i) array.push_back(element(tensor, i));
    return array;
}

Json document_of(const ExecResult& result, const std::vector<std::string>& prints) {
    Json reports = Json::array(), buffers = Json::object();
    for (const Report& report : result.execution.reports) reports.push_back(to_json(report));
    for (const std::string& name : prints)
        if (const auto found = result.buffers.find(name); found != result.buffers.end())
            buffers[name] = values(found->second);
    const OtherOrders& orders = result.orders;
    Json document{{"outcome", result.outcome},
                  {"reports", reports},
                  {"buffers", buffers},
                  {"counters", result.execution.counters ? to_json(*result.execution.counters) : Json()},
                  {"schedules",
                   {{"run", orders.run},
                    {"different", orders.different},
                    {"first", orders.first.empty() ? Json() : Json(orders.first)},
                    {"bitwise", orders.exact}}},
                  {"log", json_text(result.log)}};
    add_to(document, result.profile);
    return document;
}

std::string story(const ExecResult& result, const std::string& source, const std::vector<std::string>& prints) {
    std::string text = result.outcome + "\n";
    for (const Report& report : result.execution.reports) text += "\n" + shown(report, source);
    if (!result.log.empty()) text += valid_utf8(result.log) + "\n";
    for (const std::string& name : prints)
        if (const auto found = result.buffers.find(name); found != result.buffers.end())
            text += fmt::format("{} = {}\n", name, dump(values(found->second)));
    if (result.orders.different > 0)
        text += fmt::format("{} of {} orders of warps and blocks give other results; {}{}\n", result.orders.different,
                            result.orders.run, result.orders.first,
                            result.orders.exact ? "" : " (floats are added by atomics)");
    else if (result.orders.run > 1)
        text += fmt::format("{} orders of warps and blocks give the same bits\n", result.orders.run);
    text += shown(result.profile, source, colours(1));
    return text;
}

}  // namespace

int exec_command(CommandLine& line) {
    ExecWords words;
    if (!words.parse(line)) return 0;
    words.wants_resources = !line.json() || !words.gpu.empty();
    if (words.schedules < 1 || words.schedules > 10'000) throw UsageError("--schedules takes a number from 1 to 10000");
    if (!words.gpu.empty() && words.device.target.empty()) words.device.target = gpu_named(words.gpu).target;
    if (words.launch.empty()) throw UsageError("exec needs --launch 'kernel<<<grid, block>>>(arguments)'");
    words.source = without_byte_order_mark(read_file(words.file, uint64_t{64} << 20));
    words.defines = parse_defines(words.define_words);
    std::vector<ExecBuffer>& buffers = words.buffers;
    for (const std::string& text : words.buffer_words) {
        buffers.push_back(parse_buffer(text, words.device.seed));
        for (size_t i = 0; i + 1 < buffers.size(); ++i)
            if (buffers[i].name == buffers.back().name)
                throw UsageError("--buffer {}: there are two of that name", buffers.back().name);
    }
    for (const std::string& name : words.prints) named(buffers, name, "--print");
    const std::vector<Save> saves = parse_saves(words.saves, buffers);

    ExecResult result;
    try {
        result = run_exec(words);
    } catch (const LaunchRefused& why) {
        result.outcome = name(Outcome::launch_refused);
        result.log = why.what();
    }
    if (!result.execution.printed.empty()) fmt::print(stderr, "{}", result.execution.printed);
    for (const Save& save : saves)
        if (const auto found = result.buffers.find(save.buffer); found != result.buffers.end())
            write_npy(save.file, found->second);
    if (line.json())
        print_json(document_of(result, words.prints));
    else
        print_text(story(result, words.source, words.prints));
    const bool same = result.orders.different == 0 || !result.orders.exact;
    return result.outcome == "completed" && same ? 0 : 3;
}

}  // namespace recuda

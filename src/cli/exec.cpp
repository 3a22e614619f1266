// `cuda-rlm exec`: any kernel of a .cu or .ptx as it stands, with buffers given on the command line.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/text.h"
#include "build/builder.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/device_choice.h"
#include "cli/exec_words.h"
#include "cli/profile.h"
#include "cli/source_excerpt.h"
#include "device/counters.h"
#include "device/device.h"
#include "device/gpus.h"
#include "device/limits.h"
#include "judge/float_atomics.h"
#include "tensor/npy.h"

namespace recuda {
namespace {

struct ExecWords {
    std::string file, launch, gpu;
    int64_t schedules = 1;
    bool wants_resources = false;  // registers and spills, for which ptxas has to run
    std::vector<std::string> buffers, defines, prints, saves;
    double deadline_s = 60;
    DeviceChoice device;

    bool parse(CommandLine& line) {
        line.word("FILE", file, "CUDA C++, or PTX when it ends in .ptx", true);
        line.option("--launch", "K<<<…>>>(…)", launch,
                    "The launch in CUDA's syntax: 'k<<<grid, block, shared, cluster=(x,y,z)>>>(x, y, 128, 1.5f)'");
        line.option("--buffer", "NAME:TYPE[N]=FILL", buffers,
                    "A buffer; FILL: zeros iota const(V) uniform(A,B) normal(M,S) [1,2,3] @file.npy uninit (repeats)");
        line.option("--define", "NAME=VALUE", defines, "A macro for the compiler (repeats)");
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

/// What other orders of warps and blocks than the first gave. Order `seed` + i is run i.
struct OtherOrders {
    int64_t run = 1, different = 0;
    bool exact = true;  // no float is added by an atomic: any difference is a fault of the kernel
    std::string first;  // where the first difference is
};

/// What one execution gives, whether it came to run or not.
struct ExecResult {
    std::string outcome;
    Execution execution;
    std::string log;
    std::map<std::string, Tensor> buffers;
    OtherOrders orders;
    Profile profile;
};

/// The buffers on the device, by name.
class DeviceBuffers {
 public:
    DeviceBuffers(Device& device, const std::vector<ExecBuffer>& buffers) : device_(device) {
        for (const ExecBuffer& buffer : buffers) {
            const uint64_t bytes = static_cast<uint64_t>(volume(buffer.shape)) * size_bytes(buffer.dtype);
            const BufferId id = device.allocate(buffer.name, bytes);
            ids_[buffer.name] = id;
            if (buffer.contents) device.write(id, 0, buffer.contents->bytes);
        }
    }
    /// As they were at first.
    void reset(const std::vector<ExecBuffer>& buffers) {
        for (const ExecBuffer& buffer : buffers)
            if (buffer.contents)
                device_.write(id(buffer.name), 0, buffer.contents->bytes);
            else
                device_.fill(id(buffer.name), std::byte{0}, true);
    }
    BufferId id(const std::string& name) const { return ids_.at(name); }

    Tensor read(const ExecBuffer& buffer) const {
        Tensor tensor(buffer.dtype, buffer.shape);
        device_.read(id(buffer.name), 0, tensor.bytes);
        return tensor;
    }

 private:
    Device& device_;
    std::map<std::string, BufferId> ids_;
};

Argument on_device(const PlannedArgument& planned, const DeviceBuffers& buffers) {
    Argument argument;
    switch (planned.kind) {
        case PlannedArgument::Kind::value:
            argument.value = planned.value;
            break;
        case PlannedArgument::Kind::buffer:
            argument.kind = Argument::Kind::buffer;
            argument.buffer = buffers.id(planned.name);
            break;
        case PlannedArgument::Kind::tensor_map: {
            argument.kind = Argument::Kind::tensor_map;
            const PlannedTensorMap& map = planned.tensor_map;
            argument.tensor_map = std::make_shared<const TensorMap>(
                TensorMap{buffers.id(planned.name), std::string(name(planned.dtype)), map.dims, map.strides_bytes,
                          map.box, map.swizzle, map.element_strides, map.nan_fill});
            break;
        }
    }
    return argument;
}

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

/// The first element that is not as in the first run, "" where all are.
std::string first_difference(const std::string& name, const Tensor& now, const std::map<std::string, Tensor>& first) {
    const Tensor& before = first.at(name);
    if (now.bytes == before.bytes) return "";
    const auto at = std::mismatch(now.bytes.begin(), now.bytes.end(), before.bytes.begin()).first - now.bytes.begin();
    const int64_t index = at / static_cast<int64_t>(size_bytes(now.dtype));
    return fmt::format("{}[{}] is {}, was {}", name, index, now.at(index), before.at(index));
}

/// The entry of that name, also where C++ has mangled it and no other overload is there; null where there is none.
const Entry* find_kernel(const Binary& binary, const std::string& name) {
    if (const Entry* plain = binary.find(name)) return plain;
    const std::string mangled =
        fmt::format("_Z{}{}", name.size(), name);  // Itanium C++ ABI, 5.1.2: a name at namespace scope
    const Entry* found = nullptr;
    for (const Entry& entry : binary.entries) {
        if (!entry.name.starts_with(mangled)) continue;
        if (found != nullptr) return nullptr;
        found = &entry;
    }
    return found;
}

/// What ptxas makes of the entry; the PTX's own word where it makes nothing of it.
Resources resources_of(BuildRequest request, const std::string& entry) {
    request.cubin = true;
    const BuildResult built = make_builder({.workers = 1})->build(request);
    if (built.outcome != Outcome::correct) return {};
    const Entry* found = built.binaries.front().find(entry);
    return found == nullptr ? Resources{} : found->resources;
}

/// Runs the launch again in other orders and compares the buffers' bytes.
void run_other_orders(ExecResult& result, const ExecWords& words, const std::vector<ExecBuffer>& buffers,
                      const Launch& launch, DeviceBuffers& on, Device& device) {
    result.orders.run = words.schedules;
    for (int64_t i = 1; i < words.schedules; ++i) {
        const uint64_t seed = words.device.seed + static_cast<uint64_t>(i);
        on.reset(buffers);
        Execution other = device.run({&launch, 1}, {.deadline_s = words.deadline_s, .schedule = seed, .count = false});
        std::string difference;
        for (const ExecBuffer& buffer : buffers)
            if (difference.empty()) difference = first_difference(buffer.name, on.read(buffer), result.buffers);
        if (other.outcome != Outcome::correct)
            difference = fmt::format("{} {}", name(other.outcome),
                                     other.reports.empty() ? other.log : other.reports.front().message);
        if (difference.empty()) continue;
        if (result.orders.different++ == 0) result.orders.first = fmt::format("seed {}: {}", seed, difference);
        if (other.outcome == Outcome::correct || result.outcome != "completed") continue;
        result.outcome = name(other.outcome);
        result.execution.reports = std::move(other.reports);
        result.log += other.log;
    }
}

ExecResult run(const ExecWords& words, const std::string& source, const std::vector<ExecBuffer>& buffers,
               const std::map<std::string, std::string>& defines) {
    const PlannedLaunch planned = parse_exec_launch(words.launch, buffers, defines);
    const std::unique_ptr<Device> device = make_device(words.device);
    const DeviceLimits limits = limits_of(device->info());
    check_dimensions(planned, limits);

    BuildRequest request{.source = source,
                         .file = shown(std::filesystem::path(words.file).filename()),
                         .target = words.device.target,
                         .defines = defines,
                         .candidate = false};
    request.language = words.file.ends_with(".ptx") ? BuildRequest::Language::ptx : BuildRequest::Language::cuda;
    if (request.target.empty()) request.target = device->info().target;
    request.cubin = device->info().kind == DeviceKind::cuda;
    const BuildResult built = make_builder({.workers = 1})->build(request);
    if (built.outcome != Outcome::correct) return {"build_failed", {}, built.log, {}};
    const Binary& binary = built.binaries.front();
    const Entry* entry = find_kernel(binary, planned.kernel);
    if (entry == nullptr) {
        std::vector<std::string> known;
        for (const Entry& other : binary.entries) known.push_back(other.name);
        throw LaunchRefused("{} has no kernel {}{}; it has {}", request.file, planned.kernel,
                            did_you_mean(planned.kernel, known), known.empty() ? "none" : joined(known, ", "));
    }
    check_entry(planned, *entry, limits);

    ModuleId module = 0;
    try {
        module = device->load(binary);
    } catch (const Error& error) {
        return {"build_failed", {}, error.what(), {}};
    }
    DeviceBuffers on(*device, buffers);
    Launch launch{.module = module,
                  .entry = entry->name,
                  .grid = planned.grid,
                  .block = planned.block,
                  .cluster = planned.cluster};
    launch.shared_bytes = planned.shared_bytes;
    launch.cooperative = planned.cooperative;
    launch.programmatic = planned.programmatic;
    for (const PlannedArgument& argument : planned.arguments) launch.arguments.push_back(on_device(argument, on));
    ExecResult result;
    result.execution = device->run({&launch, 1}, {.deadline_s = words.deadline_s, .schedule = words.device.seed});
    const Outcome outcome = result.execution.outcome;
    result.outcome = outcome == Outcome::correct ? "completed" : std::string(name(outcome));
    result.log = result.execution.log;
    // After a fault a GPU's memory is gone; the virtual GPU still shows what was written until then.
    if (outcome == Outcome::correct || device->info().kind == DeviceKind::vgpu)
        for (const ExecBuffer& buffer : buffers) result.buffers.emplace(buffer.name, on.read(buffer));
    result.orders.exact = float_atomic(binary.ptx).empty();
    if (outcome == Outcome::correct && device->info().kind == DeviceKind::vgpu)
        run_other_orders(result, words, buffers, launch, on, *device);
    if (result.execution.counters) {
        const DeviceInfo gpu = words.gpu.empty() ? device->info() : gpu_named(words.gpu);
        const Resources used = words.wants_resources ? resources_of(request, entry->name) : entry->resources;
        result.profile =
            profile_of(result.execution.counters,
                       {shape_of(planned.kernel, planned.grid.volume(), static_cast<uint32_t>(planned.block.volume()),
                                 planned.shared_bytes, used, gpu)},
                       gpu);
    }
    return result;
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
    const std::string source = without_byte_order_mark(read_file(words.file, uint64_t{64} << 20));
    std::vector<ExecBuffer> buffers;
    for (const std::string& text : words.buffers) {
        buffers.push_back(parse_buffer(text, words.device.seed));
        for (size_t i = 0; i + 1 < buffers.size(); ++i)
            if (buffers[i].name == buffers.back().name)
                throw UsageError("--buffer {}: there are two of that name", buffers.back().name);
    }
    for (const std::string& name : words.prints) named(buffers, name, "--print");
    const std::vector<Save> saves = parse_saves(words.saves, buffers);

    ExecResult result;
    try {
        result = run(words, source, buffers, parse_defines(words.defines));
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
        print_text(story(result, source, words.prints));
    const bool same = result.orders.different == 0 || !result.orders.exact;
    return result.outcome == "completed" && same ? 0 : 3;
}

}  // namespace recuda

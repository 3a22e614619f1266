// The Device: buffers, modules and launches; what runs them is in grid.cpp and below.
#include "device/vgpu/vgpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/rng.h"
#include "device/gpus.h"
#include "device/tensor_map.h"
#include "device/vgpu/grid.h"
#include "device/vgpu/launch.h"
#include "device/vgpu/memory/global_race.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/memory/tensor_map.h"
#include "device/vgpu/program.h"
#include "device/vgpu/ptx/check.h"

namespace recuda {
namespace {

using namespace vgpu;

// Instructions that a warp may run: a few seconds' worth for its block, and far more than an honest kernel needs.
constexpr uint64_t kDefaultBlockFuel = 192'000'000, kLeastFuel = 6'000'000, kMostFuel = 24'000'000;
constexpr uint64_t kMaxModuleBytes = 256ull << 20;  // of variables

struct Module {
    ptx::Module ptx;
    std::string file;
    std::map<std::string, std::unique_ptr<Program>, std::less<>> programs;
    std::map<std::string, Buffer*, std::less<>> variables;
};

class Vgpu : public Device {
 public:
    explicit Vgpu(const VgpuOptions& options)
        : options_(options),
          info_(gpu_of_target(options.target)),
          memory_(options.seed),
          threads_(options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency())) {}

    const DeviceInfo& info() const override { return info_; }

    BufferId allocate(std::string name, uint64_t bytes) override { return memory_.allocate(std::move(name), bytes).id; }
    void free(BufferId buffer) override { memory_.free(buffer); }
    void write(BufferId buffer, uint64_t offset, std::span<const std::byte> bytes) override {
        Buffer& to = buffer_at(buffer, offset, bytes.size());
        memory_.write(to, offset, bytes);
    }
    void read(BufferId buffer, uint64_t offset, std::span<std::byte> bytes) override {
        const Buffer& from = buffer_at(buffer, offset, bytes.size());
        if (!bytes.empty()) std::memcpy(bytes.data(), from.data + offset, bytes.size());
    }
    void fill(BufferId buffer, std::byte value, bool poison) override {
        memory_.fill(buffer_at(buffer, 0, 0), value, poison);
    }

    ModuleId load(const Binary& binary) override;
    void unload(ModuleId module) override;
    Execution run(std::span<const Launch> launches, const RunOptions& options) override;
    Timing time(const TimingRequest&) override { throw Error("the virtual GPU measures no time: use a CUDA device"); }

 private:
    Buffer& buffer_at(BufferId id, uint64_t offset, uint64_t bytes) {
        if (!memory_.has(id)) throw Error("buffer {} does not exist", id);
        Buffer& buffer = memory_.at(id);
        if (offset > buffer.size || bytes > buffer.size - offset)
            throw Error("bytes {} to {} of buffer {} were asked for, which has {}", offset, offset + bytes, buffer.name,
                        buffer.size);
        return buffer;
    }
    void create_variables(Module& module);
    uint64_t address_of(const Module& module, std::string_view symbol) const;
    const Program& program_of(Module& module, const ptx::Function& entry);
    std::vector<std::byte> parameters_of(const Launch& launch, const Program& program);
    uint64_t workspace();
    void follow(const Launch& launch, const Program& program);
    void run_one(const Launch& launch, const RunOptions& options, std::chrono::steady_clock::time_point deadline,
                 Execution& execution, Counters& counters);

    VgpuOptions options_;
    DeviceInfo info_;
    GlobalMemory memory_;
    GlobalRaces races_;
    unsigned threads_;
    std::map<ModuleId, std::unique_ptr<Module>> modules_;
    ModuleId next_module_ = 0;
    Buffer* workspace_ = nullptr;
    uint64_t runs_ = 0;
    uint64_t launches_ = 0;
};

ModuleId Vgpu::load(const Binary& binary) {
    auto module = std::make_unique<Module>();
    module->file = binary.file;
    module->ptx = ptx::parse(binary.ptx, binary.file);
    ptx::check(module->ptx);
    create_variables(*module);
    modules_[next_module_] = std::move(module);
    return next_module_++;
}

void Vgpu::unload(ModuleId id) {
    const auto found = modules_.find(id);
    if (found == modules_.end()) throw Error("module {} does not exist", id);
    for (const auto& [name, buffer] : found->second->variables) memory_.free(buffer->id);
    modules_.erase(found);
}

void Vgpu::create_variables(Module& module) {
    uint64_t total = 0;
    for (const auto& variable : module.ptx.variables) {
        if (variable.space != ptx::Space::global && variable.space != ptx::Space::constant) continue;
        const uint64_t bytes = variable.size();
        if (bytes > kMaxModuleBytes || (total += bytes) > kMaxModuleBytes)
            throw Error("{}: the variables of the module are larger than {} bytes", module.file, kMaxModuleBytes);
        Buffer& buffer = memory_.allocate(plain_name(variable.name), bytes);
        memory_.fill(buffer, std::byte{0}, false);
        buffer.constant = variable.space == ptx::Space::constant;
        buffer.of_module = true;
        std::copy_n(variable.initial.begin(), std::min<uint64_t>(bytes, variable.initial.size()),
                    reinterpret_cast<uint8_t*>(buffer.data));
        module.variables[std::string(variable.name)] = &buffer;
    }
    for (const auto& variable : module.ptx.variables)
        for (const auto& relocation : variable.relocations) {
            const auto found = module.variables.find(variable.name);
            if (found == module.variables.end()) continue;
            uint64_t value = address_of(module, relocation.symbol) + static_cast<uint64_t>(relocation.addend);
            uint64_t bytes = ptx::size_bytes(variable.type);
            if (relocation.mask != ~uint64_t{0})
                value = relocation.mask == 0 ? 0 : (value & relocation.mask) >> std::countr_zero(relocation.mask);
            if (relocation.at > found->second->size || bytes > found->second->size - relocation.at) continue;
            std::memcpy(found->second->data + relocation.at, &value, std::min<uint64_t>(8, bytes));
        }
}

uint64_t Vgpu::address_of(const Module& module, std::string_view symbol) const {
    if (const auto variable = module.variables.find(symbol); variable != module.variables.end())
        return variable->second->base;
    const ptx::Function* function = module.ptx.find(symbol);
    if (function == nullptr) throw Error("{}: '{}' in an initial value is not known", module.file, symbol);
    return kFunctionBase + 16 * static_cast<uint64_t>(function - module.ptx.functions.data());
}

const Program& Vgpu::program_of(Module& module, const ptx::Function& entry) {
    const auto known = module.programs.find(entry.name);
    if (known != module.programs.end()) return *known->second;
    return *(module.programs[std::string(entry.name)] = decode(module.ptx, entry, module.file.ends_with(".ptx")));
}

std::vector<std::byte> Vgpu::parameters_of(const Launch& launch, const Program& program) {
    std::vector<std::byte> bytes(program.parameter_bytes + 16);
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
        const Argument& argument = launch.arguments[i];
        std::byte* at = bytes.data() + program.parameters[i].first;
        if (argument.kind == Argument::Kind::buffer) {
            const uint64_t address = buffer_at(argument.buffer, 0, 0).base + argument.offset_bytes;
            std::memcpy(at, &address, 8);
        } else if (argument.kind == Argument::Kind::tensor_map) {
            const TensorMap& map = *argument.tensor_map;
            const Buffer& over = buffer_at(map.buffer, 0, 0);
            if (const std::string why = tensor_map_refusal(map, over.base + map.offset_bytes); !why.empty())
                throw Refused{fmt::format("a tensor map over `{}`: {}", over.name, why)};
            std::memcpy(at, encoded(fields_of(map, over.base + map.offset_bytes)).data(), kTensorMapBytes);
        } else if (!argument.value.empty()) {
            std::memcpy(at, argument.value.data(), argument.value.size());
        }
    }
    bytes.resize(std::max<size_t>(1, program.parameter_bytes));
    return bytes;
}

/// What the driver gives a cooperative launch, as cooperative_groups uses it: a size and the grid's barrier, both 4
/// bytes.
uint64_t Vgpu::workspace() {
    constexpr uint64_t kBytes = 64;
    if (workspace_ == nullptr) workspace_ = &memory_.allocate("grid workspace", kBytes);
    memory_.fill(*workspace_, std::byte{0}, false);
    return workspace_->base;
}

/// Tells the buffers that the launch may write from the others.
void Vgpu::follow(const Launch& launch, const Program& program) {
    uint64_t buffers = 0;
    for (size_t i = 0; i < launch.arguments.size() && i < Writes::kMostParameters; ++i)
        if (launch.arguments[i].kind != Argument::Kind::value) buffers |= uint64_t{1} << i;
    const bool all = program.writes.may_reach_all(buffers);
    memory_.follow(
        [&](const Buffer& buffer) { return !buffer.constant && (all || buffer.of_module || &buffer == workspace_); });
    for (uint32_t i = 0; i < launch.arguments.size() && !all; ++i) {
        const Argument& argument = launch.arguments[i];
        if (argument.kind == Argument::Kind::value || !program.writes.may_reach(i, buffers)) continue;
        memory_.at(argument.tensor_map != nullptr ? argument.tensor_map->buffer : argument.buffer).followed = true;
    }
}

/// Where a run finds the clock of the wall: long ago, about now or far ahead, each once in three runs and in an order
/// that differs, so that a kernel which changes at a certain date does so in one of them.
uint64_t timer_start(uint64_t seed, uint64_t run) {
    struct Era {
        uint64_t first, years;
    };
    static constexpr Era kEras[] = {{1971, 40}, {2024, 4}, {2035, 60}};
    constexpr uint64_t kEraCount = std::size(kEras), kYear = 31'556'952ull * 1'000'000'000;
    const uint64_t order = Rng(seed, fmt::format("timer {}", run / kEraCount)).next();
    const Era& era = kEras[(order + (1 + (order >> 32) % 2) * (run % kEraCount)) % kEraCount];
    return (era.first - 1970) * kYear + Rng(seed, fmt::format("timer of run {}", run)).below(era.years * kYear);
}

void Vgpu::run_one(const Launch& launch, const RunOptions& options, std::chrono::steady_clock::time_point deadline,
                   Execution& execution, Counters& counters) {
    const auto found = modules_.find(launch.module);
    if (found == modules_.end()) throw Error("module {} does not exist", launch.module);
    Module& module = *found->second;
    const ptx::Function* entry = module.ptx.find(launch.entry);
    if (entry == nullptr || !entry->is_entry || !entry->has_body)
        throw Refused{fmt::format("{} has no kernel '{}'", module.file, launch.entry)};
    const Program& program = program_of(module, *entry);
    check_launch(launch, program, info_);
    memory_.settle();
    LaunchState state;
    state.program = &program;
    state.memory = &memory_;
    state.grid = launch.grid;
    state.block = launch.block;
    state.cluster = cluster_of(launch, *entry);
    state.threads = static_cast<uint32_t>(launch.block.volume());
    state.warps = (state.threads + kLanes - 1) / kLanes;
    state.dynamic_shared = launch.shared_bytes;
    state.parameters = parameters_of(launch, program);
    for (const std::string& name : program.globals) state.global_addresses.push_back(address_of(module, name));
    state.dynamic_start = dynamic_shared_start(program);
    state.checks = options.checks;
    state.count = options.count;
    state.schedule = options.schedule;
    state.seed = options_.seed;
    state.fuel =
        options_.fuel != 0 ? options_.fuel : std::clamp(kDefaultBlockFuel / state.warps, kLeastFuel, kMostFuel);
    if (launch.cooperative) state.workspace = workspace();
    state.cooperative = launch.cooperative;
    follow(launch, program);
    races_.begin(memory_, program, state.blocks(), threads_ > 1);
    if (options.checks) state.races = &races_;
    state.first_block = races_.first_block();
    state.sm_count = std::max(1u, info_.sm_count);
    state.grid_id = ++launches_ + options_.seed % 1000003;
    state.timer = timer_start(options_.seed, runs_);
    state.file = module.file;
    state.kernel = launch.entry;
    state.deadline = deadline;
    GridResult result = run_grid(state, threads_, counters);
    execution.printed += result.printed;
    for (Report& report : result.faults.reports()) execution.reports.push_back(std::move(report));
    if (!execution.reports.empty())
        execution.outcome = Outcome::faulted;
    else if (state.timed_out)
        execution.outcome = Outcome::timed_out,
        execution.log = fmt::format("{} did not end within its time", launch.entry);
}

Execution Vgpu::run(std::span<const Launch> launches, const RunOptions& options) {
    Execution execution;
    auto counters = std::make_shared<Counters>();
    const auto span = std::chrono::duration<double>(std::clamp(options.deadline_s, 0.0, 1e6));
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(span);
    for (const BufferId input : options.inputs) {
        Buffer& buffer = buffer_at(input, 0, 0);
        buffer.is_input = true;
        buffer.stored = false;
    }
    for (const Launch& launch : launches) {
        Counters own;
        try {
            run_one(launch, options, deadline, execution, own);
        } catch (const Unsupported& error) {
            execution.outcome = Outcome::unsupported;
            execution.log = error.what();
        } catch (const Refused& refused) {
            execution.outcome = Outcome::launch_refused;
            execution.log = refused.why;
        }
        own.launches = {own};
        own.launches.resize(counters->launches.size() + 1);
        std::rotate(own.launches.begin(), own.launches.begin() + 1, own.launches.end());
        counters->add(own);
        if (execution.outcome != Outcome::correct) break;
    }
    ++runs_;
    for (const BufferId input : options.inputs) {
        Buffer& buffer = memory_.at(input);
        buffer.is_input = false;
        if (buffer.stored) execution.stored.push_back(input);
    }
    execution.counters = std::move(counters);
    return execution;
}

}  // namespace

std::unique_ptr<Device> make_vgpu(const VgpuOptions& options) { return std::make_unique<Vgpu>(options); }

}  // namespace recuda

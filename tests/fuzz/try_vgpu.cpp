#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/vgpu/ptx/ptx.h"
#include "device/vgpu/vgpu.h"
#include "targets.h"

namespace recuda::fuzz {
namespace {

constexpr size_t kMaxEntries = 4;
constexpr uint64_t kFuel = 8'000;
constexpr size_t kBufferBytes = 4096;

/// The tail of an input as a source of choices; zeros when it has run out.
class Choices {
 public:
    explicit Choices(std::string_view bytes) : bytes_(bytes) {}

    uint32_t below(uint32_t count) { return next() % count; }
    uint8_t next() {
        if (at_ >= bytes_.size()) return 0;
        return static_cast<uint8_t>(bytes_[at_++]);
    }

 private:
    std::string_view bytes_;
    size_t at_ = 0;
};

struct Loaded {
    std::unique_ptr<Device> device;
    ModuleId module = 0;
    std::vector<BufferId> buffers;
};

Loaded load(const std::string& text, Choices& choices) {
    constexpr std::array<const char*, 4> kTargets{"sm_90", "sm_80", "sm_100", "sm_90a"};
    Loaded loaded;
    loaded.device = make_vgpu({.target = kTargets[choices.below(4)], .seed = 3, .threads = 1, .fuel = kFuel});
    Binary binary;
    binary.target = loaded.device->info().target;
    binary.ptx = text;
    binary.file = choices.below(2) == 0 ? "kernel.ptx" : "kernel.cu";
    loaded.module = loaded.device->load(binary);
    for (const char* name : {"a", "b", "c"}) loaded.buffers.push_back(loaded.device->allocate(name, kBufferBytes));
    std::vector<std::byte> contents(kBufferBytes);
    for (size_t i = 0; i < contents.size(); ++i) contents[i] = static_cast<std::byte>(i % 251 * (i / 64 % 3));
    loaded.device->write(loaded.buffers[0], 0, contents);
    loaded.device->write(loaded.buffers[1], 0, std::span(contents).first(kBufferBytes / 2));
    return loaded;
}

Argument argument(const Loaded& loaded, uint64_t bytes, size_t index, Choices& choices) {
    const uint8_t kind = choices.next();
    if (bytes == 8 && kind < 200)
        return {.kind = Argument::Kind::buffer,
                .buffer = loaded.buffers[(index + kind) % loaded.buffers.size()],
                .offset_bytes = kind % 8 == 7 ? 4u : 0u};
    Argument value;
    value.value.resize(std::min<uint64_t>(bytes, 32 << 10));
    if (!value.value.empty()) value.value[0] = static_cast<std::byte>(kind == 0 ? 64 : kind);
    if (kind > 250) std::fill(value.value.begin(), value.value.end(), static_cast<std::byte>(choices.next()));
    return value;
}

Launch launch_of(const Loaded& loaded, const vgpu::ptx::Function& entry, Choices& choices) {
    constexpr std::array<uint32_t, 8> kBlocks{32, 64, 33, 1, 128, 31, 96, 256};
    constexpr std::array<uint32_t, 6> kShared{0, 1024, 16, 48 << 10, 100 << 10, 220 << 10};
    Launch launch;
    launch.module = loaded.module;
    launch.entry = entry.name;
    launch.grid = {1 + choices.below(4), 1 + choices.below(2), 1};
    launch.block = {kBlocks[choices.below(8)], 1 + choices.below(2), 1};
    if (entry.required_threads[0] != 0)
        launch.block = {entry.required_threads[0], entry.required_threads[1], entry.required_threads[2]};
    launch.shared_bytes = kShared[choices.below(6)];
    launch.cluster = {choices.below(3) == 1 ? launch.grid.x : 1, 1, 1};
    for (size_t i = 0; i < entry.parameters.size(); ++i)
        launch.arguments.push_back(argument(loaded, entry.parameters[i].size(), i, choices));
    return launch;
}

void run(const Loaded& loaded, const vgpu::ptx::Function& entry, Choices& choices) {
    const Launch launch = launch_of(loaded, entry, choices);
    RunOptions options{.deadline_s = 1};
    options.schedule = choices.below(3);
    options.checks = choices.below(8) != 7;
    options.count = choices.below(8) != 7;
    const Execution execution = loaded.device->run(std::span(&launch, 1), options);
    if (!execution.log.empty()) expect_line(execution.log);
    for (const Report& report : execution.reports) expect_line(report.message);
}

}  // namespace

void try_vgpu(std::string_view input) {
    const std::string text(text_of(input));
    Choices choices(input.substr(std::min(input.size(), text.size() + 1)));
    try {
        const vgpu::ptx::Module module = vgpu::ptx::parse(text);
        const Loaded loaded = load(text, choices);
        size_t entries = 0;
        for (const auto& function : module.functions) {
            if (!function.is_entry || !function.has_body || ++entries > kMaxEntries) continue;
            run(loaded, function, choices);
        }
    } catch (const Error& error) {
        expect_line(error.what());
    }
}

}  // namespace recuda::fuzz

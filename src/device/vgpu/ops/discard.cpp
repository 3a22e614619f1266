// discard.L2: the 128 bytes at an address need not be kept, so what is read there afterwards is anything (PTX ISA, data
// movement instructions: "discard"). Here it is a pattern, written like a store: an output that was discarded is wrong,
// and who discards what another thread writes races with it.
#include <array>

#include "device/vgpu/ops/bulk.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/memory.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

constexpr uint32_t kLineBytes = 128;
constexpr std::byte kAnything{0x5b};

struct Discarded : Extra {
    Place at;
};

void discard(Warp& warp, const Instruction& in, Mask active) {
    const auto& discarded = static_cast<const Discarded&>(*in.extra);
    std::array<std::byte, kLineBytes> anything;
    anything.fill(kAnything);
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        const uint64_t address = discarded.at.of(warp, lane);
        if (address % kLineBytes != 0) {
            misaligned_bulk(warp, in, lane, fmt::format("a discard at address {:#x}", address), kLineBytes, kLineBytes);
            return;
        }
        if (!write_run(warp, in, lane, address, kLineBytes, anything.data(), {})) return;
    }
}

}  // namespace

void decode_discard(Decoder& base, const ptx::Statement& statement, Instruction& in) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    Modifiers modifiers(statement);
    modifiers.take("global");
    if (!modifiers.take("L2")) throw Unsupported("a discard of another level");
    modifiers.finish({2});
    auto discarded = std::make_unique<Discarded>();
    discarded->at = place_of(decoder, statement.operands[0], ptx::Space::global);
    in.mode |= kOnce;
    in.width = 16;
    in.mix = Mix::memory;
    in.run = discard;
    in.extra = decoder.keep(std::move(discarded));
}

}  // namespace recuda::vgpu

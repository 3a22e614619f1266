// cp.async.bulk of one dimension: whole runs of bytes between global and shared memory, for which an mbarrier or a bulk
// group waits. The bytes move at once.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/vgpu/cluster.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/ops/address.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/mbarrier.h"
#include "device/vgpu/ops/memory.h"

namespace recuda::vgpu {
namespace {

using ptx::Space;
using ptx::Type;

constexpr uint32_t kPiece = 16;  // bytes: alignment and unit of bulk copies

/// An address of the statement: a register file offset, an offset in bytes and whether the register has 64 bits.
struct Place {
    Space space = Space::none;
    uint32_t base = 0;
    int64_t offset = 0;
    bool wide = false;

    uint64_t of(const Warp& warp, uint32_t lane) const {
        if (!wide) {
            uint32_t narrow;
            std::memcpy(&narrow, warp.registers + base + lane * 4, 4);
            return narrow + static_cast<uint32_t>(offset);
        }
        uint64_t whole;
        std::memcpy(&whole, warp.registers + base + lane * 8, 8);
        return whole + static_cast<uint64_t>(offset);
    }
};

struct Bulk : Extra {
    Place to, from, barrier;
    bool signals = false, multicast = false;
    uint32_t bytes = 0, ranks = 0;  // registers: size, and the mask of ranks
};

/// One lane's access of a piece. `values` are read from, or written to, global memory or shared memory of any block.
bool move_piece(Warp& warp, const Instruction& in, uint32_t lane, Space space, uint64_t address, bool reads,
                std::byte* values) {
    alignas(64) uint64_t addresses[kLanes];
    std::fill(addresses, addresses + kLanes, address);
    const Mask one = Mask{1} << lane;
    Access access;
    if (space == Space::shared && !reads) {
        alignas(64) std::byte lanes[kLanes * 32];
        std::memcpy(lanes + lane * 32, values, kPiece);
        ++warp.block->changes;
        if (address >= kRankUnit) return reach_peers(warp, in, addresses, one, kPiece, Intent::write, access, lanes);
        const Pattern pattern = pattern_of(addresses, one, kPiece);
        return prepare_shared(warp, in, addresses, one, kPiece, pattern) &&
               warp.block->shared.write(warp, in, addresses, one, kPiece, pattern, lanes);
    }
    if (!reach(warp, in, space, addresses, one, kPiece, reads ? Intent::read : Intent::write, access)) return false;
    if (reads)
        std::memcpy(values, access.lane[lane], kPiece);
    else
        std::memcpy(access.lane[lane], values, kPiece);
    return true;
}

bool copy_lane(Warp& warp, const Instruction& in, const Bulk& bulk, uint32_t lane) {
    const uint32_t bytes = warp.lanes<uint32_t>(bulk.bytes)[lane];
    if (bytes % kPiece != 0) {
        warp.fault(in, Mask{1} << lane,
                   {.check = Check::misaligned,
                    .message = fmt::format("a bulk copy of {} bytes, which is no multiple of {}", bytes, kPiece),
                    .bytes = bytes});
        return false;
    }
    const uint64_t from = bulk.from.of(warp, lane), to = bulk.to.of(warp, lane);
    // Without multicast one destination, whose address says which block it is in.
    const uint32_t ranks = bulk.multicast ? warp.lanes<uint16_t>(bulk.ranks)[lane] : 1;
    const auto in_rank = [&](uint64_t address, uint32_t rank) {
        return bulk.multicast ? with_rank(address, rank) : address;
    };
    std::byte values[kPiece];
    for (uint32_t at = 0; at < bytes; at += kPiece) {
        if (!move_piece(warp, in, lane, bulk.from.space, from + at, true, values)) return false;
        for (uint32_t rest = ranks; rest != 0; rest &= rest - 1)
            if (!move_piece(warp, in, lane, bulk.to.space, in_rank(to, first_lane(rest)) + at, false, values))
                return false;
    }
    if (!bulk.signals) return true;
    const uint64_t barrier = bulk.barrier.of(warp, lane);
    for (uint32_t rest = ranks; rest != 0; rest &= rest - 1)
        if (!complete_bytes(warp, in, lane, in_rank(barrier, first_lane(rest)), bytes)) return false;
    return true;
}

void copy(Warp& warp, const Instruction& in, Mask active) {
    const auto& bulk = static_cast<const Bulk&>(*in.extra);
    for (Mask rest = active; rest != 0; rest &= rest - 1)
        if (!copy_lane(warp, in, bulk, first_lane(rest))) return;
}

Place place_of(ProgramDecoder& decoder, const ptx::Operand& operand, Space space) {
    Instruction resolved;
    resolve_address(decoder, operand, resolved);
    return {space, resolved.a, resolved.immediate, (resolved.mode & kWideBase) != 0};
}

}  // namespace

void decode_bulk(Decoder& base, const ptx::Statement& statement, Instruction& in) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    Modifiers modifiers(statement);
    modifiers.take("async");
    modifiers.take("bulk");
    if (modifiers.take("commit_group") || modifiers.take("wait_group") || modifiers.take("prefetch"))
        return statement.has("tensor") ? throw Unsupported("copies of tensors") : decode_hint(base, statement, in);
    auto bulk = std::make_unique<Bulk>();
    const bool global = modifiers.take("global");
    const bool peers = modifiers.take("shared::cluster"), own = modifiers.take("shared::cta");
    if (!peers && !own) throw Unsupported("this form");
    // Destination first, then source: of `global` and a shared space, the order of the parts tells.
    const auto position = [&](std::string_view name) {
        return std::find(statement.parts.begin(), statement.parts.end(), name) - statement.parts.begin();
    };
    const bool to_global = global && position("global") < position(peers ? "shared::cluster" : "shared::cta");
    const Space to = to_global ? Space::global : Space::shared,
                from = global && !to_global ? Space::global : Space::shared;
    bulk->signals = modifiers.take("mbarrier::complete_tx::bytes");
    if (!bulk->signals && !modifiers.take("bulk_group")) throw Unsupported("this form");
    bulk->multicast = modifiers.take("multicast::cluster");
    const bool policy = take_cache(modifiers);
    const size_t expected = 3 + (bulk->signals ? 1 : 0) + (bulk->multicast ? 1 : 0) + (policy ? 1 : 0);
    modifiers.finish({expected});
    const auto& operands = statement.operands;
    bulk->to = place_of(decoder, operands[0], to);
    bulk->from = place_of(decoder, operands[1], from);
    bulk->bytes = decoder.source(operands[2], Type::u32);
    if (bulk->signals) bulk->barrier = place_of(decoder, operands[3], Space::shared);
    if (bulk->multicast) bulk->ranks = decoder.source(operands[4], Type::u16);
    note_granule(decoder.program(), kPiece);
    if (peers) in.mode |= kPeers;
    in.width = kPiece;
    in.mix = Mix::memory;
    in.run = copy;
    in.extra = decoder.keep(std::move(bulk));
}

}  // namespace recuda::vgpu

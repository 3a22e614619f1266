// cp.async: 4 to 16 bytes a lane from global to shared memory, and what waits for them. The source is read at the
// issue; the bytes land at the wait (transfers.h).
#include <algorithm>
#include <bit>
#include <cstring>

#include "device/vgpu/cluster.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/ops/address.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/mbarrier.h"
#include "device/vgpu/ops/memory.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;
using ptx::Space;

constexpr uint8_t kHasSize = 1, kIgnores = 2;

/// in.a: shared address, in.b: global address (64 bits), in.immediate / source_offset: their offsets, in.c: source
/// bytes or the ignore predicate.
struct Copy : Extra {
    int64_t source_offset = 0;
    uint8_t form = 0;
    bool negated = false;
};

/// Reads the first bytes of each lane's source, as many as its form says; zeros stay behind them. False after a fault.
bool read_sources(Warp& warp, const Instruction& in, const Copy& copy, Mask active, std::byte* data) {
    alignas(64) uint64_t from[kLanes];
    Instruction source = in;
    source.a = in.b;
    source.mode |= kWideBase;
    source.immediate = copy.source_offset;
    for (Mask rest = active; rest != 0;) {
        uint32_t size = in.width;
        Mask lanes = rest;
        if (copy.form == kHasSize) {
            const uint32_t* sizes = warp.lanes<uint32_t>(in.c);
            size = std::min<uint32_t>(in.width, sizes[first_lane(rest)]);
            lanes = mask_of([&](uint32_t i) { return std::min<uint32_t>(in.width, sizes[i]) == size; }) & rest;
        } else if (copy.form == kIgnores) {
            const Mask ignored = copy.negated ? ~warp.predicate(in.c) : warp.predicate(in.c);
            size = (ignored >> first_lane(rest) & 1) != 0 ? 0 : in.width;
            lanes = rest & (size == 0 ? ignored : ~ignored);
        }
        rest &= ~lanes;
        if (size == 0) continue;
        Access access;
        addresses_of(warp, source, lanes, from);
        // A size that is no power of two is read in bytes, at the alignment of its own.
        const uint32_t step = std::has_single_bit(size) ? size : 1;
        for (uint32_t at = 0; at < size; at += step) {
            alignas(64) uint64_t part[kLanes];
            for (uint32_t lane = 0; lane < kLanes; ++lane) part[lane] = from[lane] + at;
            if (!reach(warp, in, Space::global, part, lanes, step, Intent::read, access)) return false;
            for (Mask some = lanes; some != 0; some &= some - 1) {
                const uint32_t lane = first_lane(some);
                const std::byte* host = access.contiguous ? access.lane[0] + size_t{lane} * step : access.lane[lane];
                std::memcpy(data + lane * Batch::kMost + at, host, step);
            }
        }
    }
    return true;
}

void copy_async(Warp& warp, const Instruction& in, Mask active) {
    alignas(64) uint64_t to[kLanes];
    addresses_of(warp, in, active, to);
    auto batch = std::make_unique<Batch>();
    batch->in = &in;
    batch->lanes = active;
    batch->width = in.width;
    if (!read_sources(warp, in, static_cast<const Copy&>(*in.extra), active, batch->data)) return;
    if (!prepare_shared(warp, in, to, active, in.width, pattern_of(to, active, in.width))) return;
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        // An address of another block's memory lies outside of this one's, and is reported as such.
        batch->address[lane] = static_cast<uint32_t>(std::min<uint64_t>(to[lane], UINT32_MAX));
        if (!warp.block->shared.send(warp, in, lane, batch->address[lane], in.width, batch->data + lane * Batch::kMost,
                                     &batch->flight[lane]))
            return;
    }
    ++warp.block->changes;
    warp.block->cluster->transfers.collect(warp, std::move(batch));
}

void commit_group(Warp& warp, const Instruction&, Mask active) {
    warp.block->cluster->transfers.commit_async(warp, active);
}

/// All but the last in.immediate groups.
void wait_group(Warp& warp, const Instruction& in, Mask active) {
    warp.block->cluster->transfers.wait_async(warp, active, static_cast<uint32_t>(in.immediate));
}

void wait_all(Warp& warp, const Instruction& in, Mask active) {
    commit_group(warp, in, active);
    warp.block->cluster->transfers.wait_async(warp, active, 0);
}

/// Makes the mbarrier at the address one arrival a lane nearer to the end of its phase, when the lane's copies so far
/// are there. kCounts: that arrival is in addition to those that the mbarrier was initialised for; kGeneric: so is the
/// address.
constexpr uint8_t kCounts = 1, kGeneric = 2;

void arrive_on_copies(Warp& warp, const Instruction& in, Mask active) {
    alignas(64) uint64_t address[kLanes];
    addresses_of(warp, in, active, address);
    Transfers& transfers = warp.block->cluster->transfers;
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        const uint64_t at = (in.mode & kGeneric) != 0 ? address[lane] - kSharedWindow : address[lane];
        const uint64_t named = rank_of_address(at) ? at : with_rank(at, warp.block->rank);
        if (!check_mbarrier(warp, in, lane, named)) return;
        if ((in.mode & kCounts) != 0 && !expect_arrival(warp, in, lane, named)) return;
        transfers.signal(*rank_of_address(named), named & (kRankUnit - 1),
                         {.warp = &warp, .lane = lane, .in = &in, .arrives = true, .order = transfers.next_order()});
        if (warp.block->stopped) return;
    }
}

void decode_copy(ProgramDecoder& decoder, const ptx::Statement& statement, Modifiers& modifiers, Instruction& in) {
    if (!(modifiers.take("ca") || modifiers.take("cg"))) throw Unsupported("this form");
    if (!(modifiers.take("shared") || modifiers.take("shared::cta")) || !modifiers.take("global"))
        throw Unsupported("this form");
    const bool policy = take_cache(modifiers);
    modifiers.finish({3, 4, 5});
    const auto& operands = statement.operands;
    if (operands[2].kind != Kind::integer || (operands[2].bits != 4 && operands[2].bits != 8 && operands[2].bits != 16))
        throw Unsupported("a copy of this size");
    in.width = static_cast<uint8_t>(operands[2].bits);
    auto copy = std::make_unique<Copy>();
    Instruction source;
    resolve_address(decoder, operands[1], source);
    if ((source.mode & kWideBase) == 0) throw Unsupported("a global address of 32 bits");
    in.b = source.a;
    copy->source_offset = source.immediate;
    resolve_address(decoder, operands[0], in);
    const size_t extra = operands.size() - (policy ? 1 : 0);
    if (extra == 4) {
        const bool ignores = operands[3].kind == Kind::name && decoder.is_predicate(operands[3].text);
        copy->form = ignores ? kIgnores : kHasSize;
        copy->negated = operands[3].negated;
        in.c = decoder.source(operands[3], ignores ? ptx::Type::pred : ptx::Type::u32);
    } else if (extra != 3) {
        throw Unsupported("this form");
    }
    note_granule(decoder.program(), in.width);
    in.mix = Mix::memory;
    in.run = copy_async;
    in.extra = decoder.keep(std::move(copy));
}

}  // namespace

void decode_async_copy(Decoder& base, const ptx::Statement& statement, Instruction& in) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    Modifiers modifiers(statement);
    if (!modifiers.take("async")) throw Unsupported("this form");
    in.mix = Mix::special;
    if (modifiers.take("commit_group")) {
        modifiers.finish({0});
        in.run = commit_group;
    } else if (modifiers.take("wait_all")) {
        modifiers.finish({0});
        in.run = wait_all;
    } else if (modifiers.take("wait_group")) {
        modifiers.finish({1});
        if (statement.operands[0].kind != Kind::integer) throw Unsupported("a count that is no constant");
        in.immediate = static_cast<int64_t>(std::min<uint64_t>(statement.operands[0].bits, UINT32_MAX));
        in.run = wait_group;
    } else if (modifiers.take("mbarrier")) {
        if (!modifiers.take("arrive")) throw Unsupported("this form");
        const bool counts = !modifiers.take("noinc");
        modifiers.take("b64");
        const Space space = take_space(modifiers);
        modifiers.finish({1});
        resolve_address(decoder, statement.operands[0], in);
        in.mode |= kStrong | (counts ? kCounts : 0) | (space == Space::none ? kGeneric : 0);
        in.width = 8;
        note_granule(decoder.program(), in.width);
        in.run = arrive_on_copies;
    } else {
        decode_copy(decoder, statement, modifiers, in);
    }
}

}  // namespace recuda::vgpu

// cp.async.bulk and cp.reduce.async.bulk of runs of bytes between global and shared memory, for which an mbarrier or a
// bulk group waits, and st.async / red.async: one value to the shared memory of a cluster that an mbarrier waits for.
// Sources are read at the issue; the bytes land at the wait (transfers.h).
#include "device/vgpu/ops/bulk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/vgpu/memory/layout.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/mbarrier.h"
#include "device/vgpu/ops/memory.h"

namespace recuda::vgpu {

using Kind = ptx::Operand::Kind;
using ptx::Space;
using ptx::Type;

Place place_of(ProgramDecoder& decoder, const ptx::Operand& operand, Space space) {
    Instruction resolved;
    resolve_address(decoder, operand, resolved);
    return {space, resolved.a, resolved.immediate, (resolved.mode & kWideBase) != 0};
}

bool misaligned_bulk(Warp& warp, const Instruction& in, uint32_t lane, std::string what, uint64_t value,
                     uint32_t align) {
    warp.fault(in, Mask{1} << lane,
               {.check = Check::misaligned,
                .message = fmt::format("{}, which is no multiple of {}", what, align),
                .bytes = static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX))});
    return false;
}

bool fits_shared(Warp& warp, const Instruction& in, uint32_t lane, uint64_t bytes) {
    constexpr uint64_t kBytesAnInstruction = 64;
    warp.budget -= static_cast<int64_t>(std::min(bytes, kMostShared) / kBytesAnInstruction);
    if (bytes <= kMostShared) return true;
    warp.fault(in, Mask{1} << lane,
               {.check = Check::out_of_bounds,
                .message = fmt::format("a copy of {} bytes, which is larger than shared memory", bytes),
                .buffer = "shared",
                .bytes = static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX))});
    return false;
}

bool issue_to_shared(Warp& warp, const Instruction& in, uint32_t lane, const SharedTarget& target, Transfer transfer,
                     uint32_t signal_bytes) {
    Cluster& cluster = *warp.block->cluster;
    const auto bytes = static_cast<uint32_t>(transfer.data.size());
    const auto in_rank = [&](uint64_t address, uint32_t rank) {
        if (address >= kRankUnit && !rank_of_address(address)) return address;  // beyond all ranks
        if (target.multicast) return with_rank(address, rank);
        return rank_of_address(address) ? address : with_rank(address, warp.block->rank);
    };
    transfer.warp = &warp;
    transfer.lane = lane;
    transfer.in = &in;
    transfer.signal_bytes = signal_bytes;
    for (uint32_t rest = target.multicast ? target.ranks : 1; rest != 0; rest &= rest - 1) {
        const uint64_t to = in_rank(target.to, first_lane(rest)), barrier = in_rank(target.barrier, first_lane(rest));
        Transfer one = transfer;
        // A source is let go by the last landing, of which there is one for certain.
        if ((rest & (rest - 1)) != 0) one.source = SharedMemory::kNoFlight;
        Block* owner = reach_owner(warp, in, lane, to, bytes, &one.address);
        if (owner == nullptr) return false;
        if (one.address % target.align != 0) {
            const auto [name, offset] = owner->shared.name_of(one.address);
            return misaligned_bulk(warp, in, lane, fmt::format("a copy to byte {} of {}", offset, name), bytes,
                                   target.align);
        }
        one.shared = &owner->shared;
        if (one.reduction.bytes == 0 &&
            !owner->shared.send(warp, in, lane, one.address, bytes, one.data.data(), &one.flight))
            return false;
        if (one.reduction.bytes != 0 &&
            !owner->shared.check_reduction(warp, in, lane, one.address, bytes, one.reduction.bytes))
            return false;
        if (!check_mbarrier(warp, in, lane, barrier)) return false;
        one.clock = warp.block->shared.clock_of(warp.index);
        cluster.transfers.signal(*rank_of_address(barrier), barrier & (kRankUnit - 1), std::move(one));
    }
    return true;
}

bool take_shared(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t bytes, uint32_t align,
                 const std::vector<bool>& used, Transfer& transfer) {
    uint32_t inside = 0;
    Block* owner = reach_owner(warp, in, lane, address, bytes, &inside);
    if (owner == nullptr) return false;
    if (inside % align != 0) {
        const auto [name, offset] = owner->shared.name_of(inside);
        return misaligned_bulk(warp, in, lane, fmt::format("a copy from byte {} of {}", offset, name), bytes, align);
    }
    if (!owner->shared.pin(warp, in, lane, inside, bytes, used, &transfer.source)) return false;
    transfer.data.resize(bytes);
    std::memcpy(transfer.data.data(), owner->shared.data() + inside, bytes);
    return true;
}

Reduction take_reduction(Modifiers& modifiers, Space destination) {
    std::string_view operation;
    for (const auto name : {"add", "inc", "dec", "min", "max", "and", "or", "xor"})
        if (modifiers.take(name)) operation = name;
    const bool noftz = modifiers.take("noftz");
    const Type type = modifiers.type();
    if (operation.empty() || type == Type::none) throw Unsupported("a reduction without operation or type");
    const bool half = type == Type::f16 || type == Type::bf16;
    if (half && operation == "add" && !noftz) throw Unsupported("an addition of this type without .noftz");
    const bool floating = half || type == Type::f32 || type == Type::f64;
    if (floating && destination == Space::shared) throw Unsupported("a reduction of floats in shared memory");
    return {update_of(operation, type, destination), ptx::size_bytes(type)};
}

namespace {

struct Bulk : Extra {
    Place to, from, barrier;
    bool signals = false, multicast = false, masked = false;
    uint32_t bytes = 0, ranks = 0, mask = 0;  // registers: size, the ranks of a multicast, the bytes of each 16
    Reduction reduction;
};

bool copy_to_global(Warp& warp, const Instruction& in, const Bulk& bulk, uint32_t lane, uint64_t to,
                    Transfer transfer) {
    if (to % kBulkPiece != 0)
        return misaligned_bulk(warp, in, lane, fmt::format("a bulk copy to address {:#x}", to), kBulkPiece, kBulkPiece);
    const auto bytes = static_cast<uint32_t>(transfer.data.size());
    const uint32_t mask = bulk.masked ? warp.lanes<uint16_t>(bulk.mask)[lane] : 0xffff;
    if (mask == 0xffff) {
        transfer.runs.push_back({to, 0, bytes});
    } else {
        for (uint32_t at = 0; at < bytes; ++at)
            if ((mask >> at % kBulkPiece & 1) != 0) transfer.runs.push_back({to + at, at, 1});
    }
    for (const Transfer::Run& run : transfer.runs)
        if (!write_run(warp, in, lane, run.address, run.bytes, nullptr, transfer.reduction)) return false;
    transfer.warp = &warp;
    transfer.lane = lane;
    transfer.in = &in;
    warp.block->cluster->transfers.collect(std::move(transfer));
    return true;
}

bool copy_lane(Warp& warp, const Instruction& in, const Bulk& bulk, uint32_t lane) {
    const uint32_t bytes = warp.lanes<uint32_t>(bulk.bytes)[lane];
    if (bytes % kBulkPiece != 0)
        return misaligned_bulk(warp, in, lane, fmt::format("a bulk copy of {} bytes", bytes), bytes, kBulkPiece);
    if (!fits_shared(warp, in, lane, bytes)) return false;
    const uint64_t from = bulk.from.of(warp, lane), to = bulk.to.of(warp, lane);
    Transfer transfer;
    transfer.reduction = bulk.reduction;
    if (bulk.from.space == Space::global) {
        if (from % kBulkPiece != 0)
            return misaligned_bulk(warp, in, lane, fmt::format("a bulk copy from address {:#x}", from), kBulkPiece,
                                   kBulkPiece);
        transfer.data.resize(bytes);
        if (!read_run(warp, in, lane, from, bytes, transfer.data.data())) return false;
    } else if (!take_shared(warp, in, lane, from, bytes, kBulkPiece, {}, transfer)) {
        return false;
    }
    if (!bulk.signals) return copy_to_global(warp, in, bulk, lane, to, std::move(transfer));
    const SharedTarget target{.to = to,
                              .barrier = bulk.barrier.of(warp, lane),
                              .multicast = bulk.multicast,
                              .ranks = bulk.multicast ? warp.lanes<uint16_t>(bulk.ranks)[lane] : 1u};
    return issue_to_shared(warp, in, lane, target, std::move(transfer), bytes);
}

void copy(Warp& warp, const Instruction& in, Mask active) {
    const auto& bulk = static_cast<const Bulk&>(*in.extra);
    for (Mask rest = active; rest != 0; rest &= rest - 1)
        if (!copy_lane(warp, in, bulk, first_lane(rest))) return;
}

void commit_group(Warp& warp, const Instruction&, Mask active) { warp.block->cluster->transfers.commit(warp, active); }

/// All but the last in.immediate groups; in.mode: their sources alone.
void wait_group(Warp& warp, const Instruction& in, Mask active) {
    warp.block->cluster->transfers.wait(warp, active, static_cast<uint32_t>(in.immediate), in.mode != 0);
}

bool decode_group(const ptx::Statement& statement, Modifiers& modifiers, Instruction& in) {
    in.mix = Mix::special;
    if (modifiers.take("commit_group")) {
        modifiers.finish({0});
        in.run = commit_group;
        return true;
    }
    if (!modifiers.take("wait_group")) return false;
    in.mode = modifiers.take("read");
    modifiers.finish({1});
    if (statement.operands[0].kind != Kind::integer) throw Unsupported("a count that is no constant");
    in.immediate = static_cast<int64_t>(std::min<uint64_t>(statement.operands[0].bits, UINT32_MAX));
    in.run = wait_group;
    return true;
}

/// Takes the spaces: destination first, then source; of `global` and a shared space, the order of the parts tells.
void take_spaces(const ptx::Statement& statement, Modifiers& modifiers, Bulk& bulk) {
    const bool global = modifiers.take("global");
    const bool peers = modifiers.take("shared::cluster"), own = modifiers.take("shared::cta");
    if (!peers && !own) throw Unsupported("this form");
    const auto position = [&](std::string_view name) {
        return std::find(statement.parts.begin(), statement.parts.end(), name) - statement.parts.begin();
    };
    const bool to_global = global && position("global") < position(peers ? "shared::cluster" : "shared::cta");
    bulk.to.space = to_global ? Space::global : Space::shared;
    bulk.from.space = global && !to_global ? Space::global : Space::shared;
}

/// st.async and red.async: in.a value's registers in the Remote.
struct Remote : Extra {
    Place to, barrier;
    std::vector<uint32_t> values;
    uint32_t bytes = 0;  // of an element
    Reduction reduction;
};

void send_value(Warp& warp, const Instruction& in, Mask active) {
    const auto& remote = static_cast<const Remote&>(*in.extra);
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        Transfer transfer;
        transfer.reduction = remote.reduction;
        for (const uint32_t value : remote.values) {
            const std::byte* from = warp.registers + value + size_t{lane} * remote.bytes;
            transfer.data.insert(transfer.data.end(), from, from + remote.bytes);
        }
        const auto bytes = static_cast<uint32_t>(transfer.data.size());
        const SharedTarget target{
            .to = remote.to.of(warp, lane), .barrier = remote.barrier.of(warp, lane), .align = bytes};
        if (!issue_to_shared(warp, in, lane, target, std::move(transfer), bytes)) return;
    }
}

}  // namespace

void decode_bulk(Decoder& base, const ptx::Statement& statement, Instruction& in) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    Modifiers modifiers(statement);
    const bool reduces = modifiers.take("reduce");
    modifiers.take("async");
    modifiers.take("bulk");
    if (decode_group(statement, modifiers, in)) return;
    if (modifiers.take("prefetch")) return decode_hint(base, statement, in);
    auto bulk = std::make_unique<Bulk>();
    const auto& operands = statement.operands;
    const bool peers = statement.has("shared::cluster");
    take_spaces(statement, modifiers, *bulk);
    if (reduces) bulk->reduction = take_reduction(modifiers, bulk->to.space);
    bulk->signals = modifiers.take("mbarrier::complete_tx::bytes");
    if (!bulk->signals && !modifiers.take("bulk_group")) throw Unsupported("this form");
    bulk->multicast = modifiers.take("multicast::cluster");
    bulk->masked = modifiers.take("cp_mask");
    if (bulk->signals == (bulk->to.space == Space::global)) throw Unsupported("this way of completion");
    const bool policy = take_cache(modifiers);
    const size_t expected =
        3 + (bulk->signals ? 1 : 0) + (bulk->multicast ? 1 : 0) + (policy ? 1 : 0) + (bulk->masked ? 1 : 0);
    modifiers.finish({expected});
    const auto to = bulk->to.space, from = bulk->from.space;
    bulk->to = place_of(decoder, operands[0], to);
    bulk->from = place_of(decoder, operands[1], from);
    bulk->bytes = decoder.source(operands[2], Type::u32);
    if (bulk->signals) bulk->barrier = place_of(decoder, operands[3], Space::shared);
    if (bulk->multicast) bulk->ranks = decoder.source(operands[4], Type::u16);
    if (bulk->masked) bulk->mask = decoder.source(operands.back(), Type::u16);
    note_granule(decoder.program(), reduces ? std::min(4u, bulk->reduction.bytes) : 4u);
    in.mode |= kOnce | (peers ? kPeers : 0) | (reduces ? kStrong : 0);
    in.unread = reduces;
    in.width = kBulkPiece;
    in.mix = Mix::memory;
    in.run = copy;
    in.extra = decoder.keep(std::move(bulk));
}

void decode_remote(Decoder& base, const ptx::Statement& statement, Instruction& in) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    Modifiers modifiers(statement);
    modifiers.take("async");
    for (const auto name : {"weak", "relaxed", "cluster", "shared::cluster"}) modifiers.take(name);
    if (!modifiers.take("mbarrier::complete_tx::bytes")) throw Unsupported("a form without mbarrier");
    auto remote = std::make_unique<Remote>();
    const uint32_t count = modifiers.take("v4") ? 4 : modifiers.take("v2") ? 2 : 1;
    Type type = Type::none;
    if (statement.opcode() == "red") {
        for (const auto& part : statement.parts)
            if (const Type named = ptx::type_named(part); named != Type::none) type = named;
        remote->reduction = take_reduction(modifiers, Space::shared);
    } else {
        type = modifiers.type();
    }
    remote->bytes = ptx::size_bytes(type);
    if (type == Type::none || (remote->bytes != 4 && remote->bytes != 8)) throw Unsupported("a value of this type");
    modifiers.finish({3});
    const auto& value = statement.operands[1];
    const std::vector<ptx::Operand> one{value};
    const auto& elements = value.kind == Kind::vector ? value.elements : one;
    if (elements.size() != count) throw Unsupported("a vector of another size");
    for (const auto& element : elements) remote->values.push_back(decoder.source(element, type));
    remote->to = place_of(decoder, statement.operands[0], Space::shared);
    remote->barrier = place_of(decoder, statement.operands[2], Space::shared);
    note_granule(decoder.program(), 4);
    in.mode |= kOnce | kPeers | (remote->reduction.bytes != 0 ? kStrong : 0);
    in.unread = remote->reduction.bytes != 0;
    in.width = static_cast<uint8_t>(remote->bytes * count);
    in.mix = Mix::memory;
    in.run = send_value;
    in.extra = decoder.keep(std::move(remote));
}

}  // namespace recuda::vgpu

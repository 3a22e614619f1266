// Shared memory of a cluster: one block's accesses to another's.
//
// A granule that another block has touched leaves the fast shadow: its stamps become kPeerStamp and a record of its own
// (PeerShadow) keeps who wrote it and who has read it since, by rank, thread and stamp of the thread's own block. Two
// accesses of one block are ordered as its own shadow knows; of two blocks, as the clocks say that cluster barriers and
// releases have handed on. A write by the owner brings the granule back.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/vgpu/block.h"
#include "device/vgpu/cluster.h"
#include "device/vgpu/memory/access.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/memory/shared.h"
#include "device/vgpu/ops/wgmma.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

bool is_strong(const Instruction* in) { return (in->mode & kStrong) != 0; }

/// Whether the scopes of two strong accesses of different blocks name each other.
bool scopes_meet(const Instruction& one, const Instruction& other) {
    return scope_of(one.mode) != Scope::block && scope_of(other.mode) != Scope::block;
}

}  // namespace

uint64_t SharedMemory::cluster_address(uint64_t address) const {
    return rank_of_address(address) ? address : address + (uint64_t{rank_ + 1} << kRankShift);
}

SharedMemory::PeerShadow& SharedMemory::peer_shadow(uint32_t granule) {
    const auto [entry, fresh] = peers_.try_emplace(granule);
    PeerShadow& shadow = entry->second;
    if (!fresh) return shadow;
    const auto record = [&](uint32_t who, uint32_t stamp) {
        const Instruction& in = program_->code[instruction_of(who)];
        PeerAccess access{rank_, thread_of(who), &in, program_->ptx_lines ? in.ptx_line : in.source_line, stamp};
        if (is_async_product(in)) {
            access.thread = access.thread / kProductThreads * kProductThreads;
            access.threads = kProductThreads;
        }
        return access;
    };
    if (write_stamp_[granule] >= order_->start() && write_stamp_[granule] != kFlightStamp)
        shadow.write = record(write_who_[granule], write_stamp_[granule]);
    if (const uint32_t stamp = read_stamp_[granule]; stamp >= order_->start() && read_who_[granule] != kNobody) {
        shadow.reads.push_back(record(read_who_[granule], stamp));
        for (Mask rest = read_warps_[granule]; rest != 0; rest &= rest - 1) {
            if (first_lane(rest) == shadow.reads[0].thread / kLanes) continue;
            shadow.reads.push_back(
                record(first_lane(rest) * kLanes | read_who_[granule] >> kThreadBits << kThreadBits, stamp));
            shadow.reads.back().threads = kLanes;
        }
        if (read_other_[granule] != kNobody) shadow.reads.push_back(record(read_other_[granule], stamp));
        if (!products_.empty() && products_[granule].stamp == stamp)
            for (Mask rest = products_[granule].groups; rest != 0; rest &= rest - 1)
                shadow.reads.push_back(
                    record(first_lane(rest) * kProductThreads | products_[granule].instruction << kThreadBits, stamp));
    }
    read_stamp_[granule] = kPeerStamp;
    return shadow;
}

void SharedMemory::peer_race(Warp& warp, const PeerAccess& mine, const PeerAccess& before, uint64_t address,
                             uint32_t width, bool writes) {
    const Cluster& cluster = *warp.block->cluster;
    const PeerAccess *first = &mine, *second = &before;
    // The lower line in the file is shown first, so that the report does not depend on which access came first.
    const uint32_t before_line = before.line != 0 ? before.line : mine.line;
    if (before_line > mine.line || (before_line == mine.line && before.rank < mine.rank)) std::swap(first, second);
    const auto [name, offset] = name_of(address);
    Block &shown = cluster.block(first->rank), &other = cluster.block(second->rank);
    shown.raise(
        first == &mine ? mine.line : before_line, first->thread, 1,
        {.check = Check::shared_race,
         .message = fmt::format("two threads of a cluster access byte {} of shared variable {} of block {} "
                                "without a barrier between them, and {}",
                                offset, name, rank_, writes ? "the later one writes" : "the earlier one writes"),
         .buffer = name,
         .byte_offset = offset,
         .bytes = width,
         .other =
             OtherAccess{first == &mine ? before_line : mine.line, other.id, shown.launch->thread_at(second->thread)}});
    warp.block->stop();
}

bool SharedMemory::check_peer(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t width,
                              bool reads, bool writes, const std::byte* values) {
    if (misplaced(address, width)) {
        uint64_t addresses[kLanes];
        std::fill(addresses, addresses + kLanes, address);
        return !out_of_bounds(warp, in, addresses, Mask{1} << lane, width);
    }
    if (!checks_) return true;
    const SharedMemory& own = warp.block->shared;
    const uint32_t thread = warp.thread(lane);
    const PeerAccess mine{own.rank_, thread, &in, warp.block->line_of(in, warp.frame), own.order_->now()};
    const auto conflicts = [&](const PeerAccess& before) {
        if (is_strong(&in) && is_strong(before.at) && (before.rank == mine.rank || scopes_meet(in, *before.at)))
            return false;
        // Where the thread is not known, one that is in order is believed to be the one.
        for (uint32_t i = 0; i < before.threads; ++i)
            if (own.order_->in_order(thread, before.rank, before.thread + i, before.stamp)) return false;
        return true;
    };
    for (uint32_t g = address >> shift_; g <= (address + width - 1) >> shift_; ++g) {
        const uint32_t written = write_stamp_[g];
        if (written == kGapStamp) continue;
        if (reads && written < order_->start()) {
            if (warp.block->cluster->defer(warp, in)) return false;
            const auto [name, offset] = name_of(address);
            warp.fault(
                in, Mask{1} << lane,
                {.check = Check::uninitialised,
                 .message = fmt::format("byte {} of shared variable {} of block {} of the cluster is read before "
                                        "anything is written to it",
                                        offset, name, rank_),
                 .buffer = name,
                 .byte_offset = offset,
                 .bytes = width});
            return false;
        }
        if (written == kFlightStamp && !awaited(*own.order_, thread, flights_[write_who_[g]]) &&
            (reads || !writes_the_same(flights_[write_who_[g]], address, width, values)))
            return flight_race(warp, in, lane, address, width, flights_[write_who_[g]], false);
        if (read_stamp_[g] == kFlightStamp) {
            if (writes) return flight_race(warp, in, lane, address, width, flights_[read_who_[g]], true);
            continue;
        }
        PeerShadow& shadow = peer_shadow(g);
        const bool same = !reads && values != nullptr && std::memcmp(bytes_.data() + address, values, width) == 0;
        if (written >= order_->start() && written != kFlightStamp && !same && conflicts(shadow.write))
            return peer_race(warp, mine, shadow.write, address, width, writes), false;
        if (!writes) {
            const auto known = std::find_if(shadow.reads.begin(), shadow.reads.end(), [&](const PeerAccess& read) {
                return read.rank == mine.rank && read.thread / kLanes == thread / kLanes;
            });
            known != shadow.reads.end() ? * known = mine : shadow.reads.emplace_back(mine);
            continue;
        }
        for (const PeerAccess& read : shadow.reads)
            if (conflicts(read)) return peer_race(warp, mine, read, address, width, true), false;
        if (written == kFlightStamp) forget_flight(write_who_[g]);
        if (!behind_.empty() && !is_strong(&in)) behind_[g] = {};
        if (own.rank_ == rank_) {
            peers_.erase(g);
            write_stamp_[g] = order_->now();
            write_who_[g] = thread | in.index << kThreadBits;
            read_stamp_[g] = 0;
        } else {
            shadow.write = mine;
            shadow.reads.clear();
            write_stamp_[g] = kPeerStamp;
        }
        read_who_[g] = read_other_[g] = kNobody;
        read_warps_[g] = 0;
    }
    return true;
}

void SharedMemory::check_left(Block& owner) {
    const PeerAccess* worst = nullptr;
    uint32_t place = 0;
    const auto look = [&](uint32_t granule, const PeerAccess& access) {
        if (access.at == nullptr || access.rank == rank_ || is_strong(access.at)) return;
        if (order_->anyone_in_order(access.rank, access.thread, access.stamp)) return;
        if (worst != nullptr && std::pair(worst->rank, worst->thread) <= std::pair(access.rank, access.thread)) return;
        worst = &access;
        place = granule << shift_;
    };
    for (const auto& [granule, shadow] : peers_) {
        look(granule, shadow.write);
        for (const PeerAccess& read : shadow.reads) look(granule, read);
    }
    if (worst == nullptr) return;
    const auto [name, offset] = name_of(place);
    owner.cluster->block(worst->rank)
        .raise(worst->line, worst->thread, 1,
               {.check = Check::out_of_bounds,
                .message = fmt::format("shared variable {} of block {} of the cluster is used without a barrier that "
                                       "keeps that block from ending before",
                                       name, rank_),
                .buffer = name,
                .byte_offset = offset,
                .bytes = worst->at->width});
}

namespace {

/// Lanes that reach for shared memory which they cannot have, with the reason; 0: none.
Mask unreachable(const Warp& warp, const Instruction& in, const uint64_t* address, Mask active, std::string* why) {
    const Cluster& cluster = *warp.block->cluster;
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const auto rank = rank_of_address(address[first_lane(rest)]);
        if (!rank || *rank == warp.block->rank) continue;
        if (*rank >= cluster.size())
            *why = fmt::format("block {} of a cluster of {} blocks", *rank, cluster.size());
        else if ((in.mode & kPeers) == 0)
            *why = fmt::format("block {} of the cluster by an access to the block's own shared memory", *rank);
        else if (cluster.block(*rank).live_threads == 0)
            *why = fmt::format("block {} of the cluster, which has ended", *rank);
        else
            continue;
        Mask lanes = 0;
        for (Mask others = active; others != 0; others &= others - 1)
            if (rank_of_address(address[first_lane(others)]) == rank) lanes |= others & -others;
        return lanes;
    }
    return 0;
}

}  // namespace

constexpr uint32_t kNowhere = 0xffffff00u;

Block* reach_owner(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t bytes,
                   uint32_t* inside) {
    uint64_t addresses[kLanes];
    std::fill(addresses, addresses + kLanes, address);
    const auto rank = rank_of_address(address);
    // What is beyond all ranks stays beyond all variables.
    *inside = static_cast<uint32_t>(rank ? address & (kRankUnit - 1) : std::min<uint64_t>(address, kNowhere));
    std::string why;
    if (unreachable(warp, in, addresses, Mask{1} << lane, &why) == 0)
        return &warp.block->cluster->block(rank.value_or(warp.block->rank));
    const auto [name, offset] = warp.block->shared.name_of(*inside);
    warp.fault(in, Mask{1} << lane,
               {.check = Check::out_of_bounds,
                .message = fmt::format("an access of {} bytes reaches for shared variable {} of {}", bytes, name, why),
                .buffer = name,
                .byte_offset = offset,
                .bytes = bytes});
    return nullptr;
}

bool reach_peers(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width, Intent intent,
                 Access& access, const std::byte* values) {
    alignas(64) uint64_t inside[kLanes];
    for (uint32_t lane = 0; lane < kLanes; ++lane)
        inside[lane] = rank_of_address(address[lane]) ? address[lane] & (kRankUnit - 1) : address[lane];
    std::string why;
    if (const Mask lanes = unreachable(warp, in, address, active, &why); lanes != 0) {
        const auto [name, offset] = warp.block->shared.name_of(inside[first_lane(lanes)]);
        warp.fault(
            in, lanes,
            {.check = Check::out_of_bounds,
             .message = fmt::format("an access of {} bytes reaches for shared variable {} of {}", width, name, why),
             .buffer = name,
             .byte_offset = offset,
             .bytes = width});
        return false;
    }
    if (!prepare_shared(warp, in, inside, active, width, pattern_of(inside, active, width))) return false;
    constexpr uint32_t kStep = 32;
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest), rank = rank_of_address(address[lane]).value_or(warp.block->rank);
        Block& owner = warp.block->cluster->block(rank);
        const std::byte* value = values != nullptr ? values + lane * kStep : nullptr;
        if (!owner.shared.check_peer(warp, in, lane, inside[lane], width, intent != Intent::write,
                                     intent != Intent::read, value))
            return false;
        access.lane[lane] = owner.shared.data() + inside[lane];
        if (intent == Intent::read) continue;
        ++owner.changes;
        if (value != nullptr) std::memcpy(access.lane[lane], value, width);
    }
    if (intent == Intent::atomic && warp.block->worker->tally.on)
        warp.block->worker->tally.memory[in.index].count_atomic(inside, active, false);
    access.contiguous = false;
    for (uint32_t lane = 0; lane < kLanes; ++lane)
        if (!(active >> lane & 1)) access.lane[lane] = access.lane[first_lane(active)];
    return true;
}

}  // namespace recuda::vgpu

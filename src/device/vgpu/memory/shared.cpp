#include "device/vgpu/memory/shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/vgpu/block.h"
#include "device/vgpu/cluster.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/program.h"
#include "device/vgpu/warp.h"

namespace recuda::vgpu {
void SharedMemory::prepare(const Program& program, uint32_t dynamic_bytes, Order& order, bool checks) {
    program_ = &program;
    checks_ = checks;
    order_ = &order;
    behind_.clear();
    join_cluster(0, 1, &own_places_);
    shift_ = std::countr_zero(program.shared_granule);
    regions_.clear();
    for (const SharedVariable& variable : program.shared)
        if (!variable.dynamic)
            regions_.push_back(
                {variable.address, static_cast<uint32_t>(variable.address + variable.bytes), variable.name});
    const uint32_t dynamic = dynamic_shared_start(program);
    std::string name = "shared";
    uint32_t extern_arrays = 0;
    for (const SharedVariable& variable : program.shared)
        if (variable.dynamic && extern_arrays++ == 0) name = variable.name;
    regions_.push_back({dynamic, dynamic + dynamic_bytes, extern_arrays == 1 ? name : "shared"});
    if (program.reserved_shared) regions_.push_back({kTileMemory, kTileMemory + kTileBytes, "shared"});
    const uint32_t size = dynamic + dynamic_bytes + kSharedGap;
    bytes_.assign(size, std::byte{0xa5});
    const uint32_t granules = (size >> shift_) + 1;
    write_stamp_.assign(granules, kGapStamp);
    read_stamp_.assign(granules, kGapStamp);
    write_who_.assign(granules, kNobody);
    read_who_.assign(granules, kNobody);
    read_other_.assign(granules, kNobody);
    read_warps_.assign(granules, 0);
    products_.clear();
    for (const Region& region : regions_) {
        // A granule that lies in a variable only in part stays a gap: such an access takes the exact path.
        const uint32_t from = (region.from + (1u << shift_) - 1) >> shift_, to = region.to >> shift_;
        for (uint32_t g = from; g < to; ++g) write_stamp_[g] = read_stamp_[g] = 0;
    }
}

void SharedMemory::begin(bool restarted) {
    if (restarted) {
        const auto restart = [](std::vector<uint32_t>& stamps) {
            for (uint32_t& stamp : stamps) stamp = stamp == kGapStamp ? kGapStamp : 0;
        };
        restart(write_stamp_);
        restart(read_stamp_);
    }
    if (restarted) behind_.clear();
    if (restarted) products_.clear();
    for (const auto& [granule, shadow] : peers_) {
        if (write_stamp_[granule] == kPeerStamp) write_stamp_[granule] = 0;
        if (read_stamp_[granule] == kPeerStamp) read_stamp_[granule] = 0;
    }
    peers_.clear();
    if (!flights_.empty()) {
        for (std::vector<uint32_t>* stamps : {&write_stamp_, &read_stamp_})
            for (uint32_t& stamp : *stamps) stamp = stamp == kFlightStamp ? 0 : stamp;
        flights_.clear();
        free_flights_.clear();
        landed_.clear();
    }
    if (program_->reserved_shared) {
        std::memset(bytes_.data() + kTileMemory, 0, kTileBytes);
        for (uint32_t g = kTileMemory >> shift_; g < (kTileMemory + kTileBytes) >> shift_; ++g) {
            write_stamp_[g] = order_->start();
            write_who_[g] = 0;
        }
    }
    own_places_.clear();
    phase_clocks.clear();
}

bool SharedMemory::misplaced(uint64_t address, uint32_t width) const {
    for (const Region& region : regions_)
        if (address >= region.from && address < region.to && width <= region.to - address) return false;
    return true;
}

bool SharedMemory::holds(uint64_t address, uint32_t width) const {
    if (misplaced(address, width)) return false;
    for (uint64_t g = address >> shift_; checks_ && g <= (address + width - 1) >> shift_; ++g)
        if (write_stamp_[g] < order_->start()) return false;
    return true;
}

bool SharedMemory::in_gap(uint64_t address, uint32_t width) const {
    return write_stamp_[address >> shift_] == kGapStamp || write_stamp_[(address + width - 1) >> shift_] == kGapStamp;
}

std::pair<std::string, int64_t> SharedMemory::name_of(uint64_t address) const {
    const Region* best = nullptr;
    uint64_t least = ~uint64_t{0};
    for (const Region& region : regions_) {
        const uint64_t distance = address < region.from  ? region.from - address
                                  : address >= region.to ? address - region.to + 1
                                                         : 0;
        // Of two as near, the one below: overshooting is commoner than undershooting.
        if (distance >= least || (region.from == region.to && regions_.size() > 1)) continue;
        least = distance;
        best = &region;
    }
    if (best == nullptr) return {"shared", static_cast<int64_t>(address)};
    return {best->name, static_cast<int64_t>(address) - best->from};
}

bool SharedMemory::out_of_bounds(Warp& warp, const Instruction& in, const uint64_t* address, Mask active,
                                 uint32_t width) {
    Mask lanes = 0;
    for (Mask rest = active; rest != 0; rest &= rest - 1)
        if (misplaced(address[first_lane(rest)], width)) lanes |= rest & -rest;
    if (lanes == 0) return false;
    const uint64_t at = address[first_lane(lanes)];
    const auto [name, offset] = name_of(at);
    warp.fault(in, lanes,
               {.check = Check::out_of_bounds,
                .message = fmt::format("an access of {} bytes at byte {} lies outside shared variable {}", width,
                                       offset, name),
                .buffer = name,
                .byte_offset = offset,
                .bytes = width});
    return true;
}

bool SharedMemory::race(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t width,
                        uint32_t who, bool writes) {
    const Instruction& other = program_->code[instruction_of(who)];
    const uint32_t thread = warp.thread(lane);
    const auto [name, offset] = name_of(address);
    Block& block = *warp.block;
    uint32_t line = block.line_of(in, warp.frame), other_line = block.line_of(other, nullptr);
    uint32_t mine = thread, theirs = thread_of(who);
    if (other_line == 0) other_line = line;
    // The lower line in the file is shown first, so that the report does not depend on which access came first.
    if (other_line > line) {
        std::swap(line, other_line);
        std::swap(mine, theirs);
    }
    block.raise(line, mine, 1,
                {.check = Check::shared_race,
                 .message = fmt::format(
                     "two threads access byte {} of shared variable {} without a barrier between them, and {}", offset,
                     name, writes ? "the later one writes" : "the earlier one writes"),
                 .buffer = name,
                 .byte_offset = offset,
                 .bytes = width,
                 .other = OtherAccess{other_line, block.id, block.launch->thread_at(theirs)}});
    return false;
}

/// `warps`: the bit of the reader's warp; none for an asynchronous product, which is known by its name alone.
void SharedMemory::note_read(uint32_t granule, uint32_t who, Mask warps) {
    const uint32_t stamp = read_stamp_[granule], thread = thread_of(who);
    if (stamp == kFlightStamp) return;  // a copy reads it too, and is the later one to be done
    const bool fresh =
        stamp <= order_->block_seen() || read_who_[granule] == kNobody ||
        (read_other_[granule] == kNobody && order_->in_order(thread, thread_of(read_who_[granule]), stamp));
    if (fresh) {
        read_stamp_[granule] = order_->now();
        read_who_[granule] = who;
        read_other_[granule] = kNobody;
        read_warps_[granule] = warps;
        return;
    }
    if (thread_of(read_who_[granule]) != thread) read_other_[granule] = who;
    read_warps_[granule] |= warps;
}

bool SharedMemory::unwritten(Warp& warp, const Instruction& in, Mask lanes, uint64_t address, uint32_t width) {
    const auto [name, offset] = name_of(address);
    warp.fault(
        in, lanes,
        {.check = Check::uninitialised,
         .message = fmt::format("byte {} of shared variable {} is read before anything is written to it", offset, name),
         .buffer = name,
         .byte_offset = offset,
         .bytes = width});
    return false;
}

bool SharedMemory::check_lane(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t width,
                              bool reads, bool writes, const std::byte* values) {
    // What the library does in the system's memory counts on shuffles that order memory. It is nothing to report.
    if (program_->reserved_shared && address >= kTileMemory && address < kTileMemory + kTileBytes) return true;
    const uint32_t thread = warp.thread(lane), me = thread | in.index << kThreadBits;
    const bool strong = (in.mode & kStrong) != 0;
    const auto both_strong = [&](uint32_t who) { return strong && this->strong(who); };
    if (strong && behind_.empty()) behind_.resize(write_stamp_.size());
    for (uint32_t g = address >> shift_; g <= (address + width - 1) >> shift_; ++g) {
        const uint32_t written = write_stamp_[g];
        if (written == kGapStamp) continue;
        if (written == kPeerStamp || read_stamp_[g] == kPeerStamp)
            return check_peer(warp, in, lane, address, width, reads, writes, values);
        if (reads && written < order_->start()) {
            if (warp.block->cluster->defer(warp, in)) return false;
            return unwritten(warp, in, Mask{1} << lane, address, width);
        }
        if (written == kFlightStamp) {
            const Flight& flight = flights_[write_who_[g]];
            if (!awaited(*order_, thread, flight) && (reads || !writes_the_same(flight, address, width, values)))
                return flight_race(warp, in, lane, address, width, flight, false);
        } else if (written >= order_->start() && !order_->in_order(thread, thread_of(write_who_[g]), written) &&
                   !both_strong(write_who_[g]) && !observed(g, thread)) {
            const bool same = !reads && values != nullptr && std::memcmp(bytes_.data() + address, values, width) == 0;
            if (!same) return race(warp, in, lane, address, width, write_who_[g], writes);
        }
        if (const uint32_t who = behind_.empty() ? kNobody : behind_race(in, thread, g); who != kNobody) {
            const bool same = !reads && values != nullptr && std::memcmp(bytes_.data() + address, values, width) == 0;
            if (!same) return race(warp, in, lane, address, width, who, writes);
        }
        if (writes) {
            const uint32_t read = read_stamp_[g];
            if (read == kFlightStamp) {
                return flight_race(warp, in, lane, address, width, flights_[read_who_[g]], true);
            } else if (read >= order_->start() && read > order_->block_seen()) {
                for (const uint32_t who : {read_who_[g], read_other_[g]})
                    if (who != kNobody && !read_before(thread, who, read) && !both_strong(who))
                        return race(warp, in, lane, address, width, who, true);
                // More readers than the two that are known by name: by warp, with the oldest stamp of all.
                for (Mask rest = read_warps_[g] & ~(1u << warp.index); rest != 0 && !strong; rest &= rest - 1) {
                    const uint32_t other = first_lane(rest) * kLanes, someone = other | instruction_of(read_who_[g])
                                                                                            << kThreadBits;
                    // Which of its lanes read is not known: one that is in order is believed to be the one.
                    bool fine = false;
                    for (uint32_t i = 0; i < kLanes && !fine; ++i) fine = order_->in_order(thread, other + i, read);
                    if (!fine) return race(warp, in, lane, address, width, someone, true);
                }
                if (const uint32_t who = products_.empty() ? kNobody : behind_product(thread, g); who != kNobody)
                    return race(warp, in, lane, address, width, who, true);
            }
            if (written == kFlightStamp) forget_flight(write_who_[g]);
            if (!behind_.empty()) note_write(in, thread, g, reads);
            write_stamp_[g] = order_->now();
            write_who_[g] = me;
            read_stamp_[g] = 0;
            read_who_[g] = read_other_[g] = kNobody;
            read_warps_[g] = 0;
        } else {
            note_read(g, me, 1u << warp.index);
            if (strong) behind_[g].observer = {me, order_->now()};
        }
    }
    return true;
}

bool SharedMemory::read(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width,
                        const Pattern& pattern) {
    if (pattern.high > bytes_.size() - width) return !out_of_bounds(warp, in, address, active, width);
    const uint32_t first = pattern.low >> shift_, count = ((pattern.high + width - 1) >> shift_) - first + 1;
    if (!pattern.contiguous) {
        bool gap = false;
        for (uint32_t lane = 0; lane < kLanes; ++lane) gap |= in_gap(address[lane], width);
        if (gap && out_of_bounds(warp, in, address, active, width)) return false;
        if (!checks_) return true;
        if (pattern.low == pattern.high) {
            // All lanes read one place: two of them stand for all.
            const uint32_t one = first_lane(active);
            if (!check_lane(warp, in, one, pattern.low, width, true, false, nullptr)) return false;
            active &= active - 1;
            return active == 0 || check_lane(warp, in, first_lane(active), pattern.low, width, true, false, nullptr);
        }
        for (Mask rest = active; rest != 0; rest &= rest - 1)
            if (!check_lane(warp, in, first_lane(rest), address[first_lane(rest)], width, true, false, nullptr))
                return false;
        return true;
    }
    uint32_t bad = 0, shared = 0;
    const uint32_t *written = write_stamp_.data() + first, start = order_->start(), seen = order_->block_seen();
    uint32_t* read = read_stamp_.data() + first;
    for (uint32_t i = 0; i < count; ++i) {
        bad |= written[i] - start > seen - start;
        shared |= read[i] > seen;
    }
    if ((bad | shared) != 0) {
        if (out_of_bounds(warp, in, address, active, width)) return false;
        if (!checks_) return true;
        for (uint32_t lane = 0; lane < kLanes; ++lane)
            if (!check_lane(warp, in, lane, address[lane], width, true, false, nullptr)) return false;
        return true;
    }
    if (!checks_) return true;
    const uint32_t lane_shift = std::countr_zero(width) - shift_, me = warp.thread(0) | in.index << kThreadBits,
                   bit = 1u << warp.index;
    for (uint32_t i = 0; i < count; ++i) {
        read[i] = order_->now();
        read_who_[first + i] = me + (i >> lane_shift);
        read_other_[first + i] = kNobody;
        read_warps_[first + i] = bit;
    }
    return true;
}

bool SharedMemory::write(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width,
                         const Pattern& pattern, const std::byte* values) {
    constexpr uint32_t kStep = 32;  // bytes between two lanes' values
    bool gap = pattern.high > bytes_.size() - width;
    for (uint32_t lane = 0; lane < kLanes && !gap; ++lane) gap = in_gap(address[lane], width);
    if (gap && out_of_bounds(warp, in, address, active, width)) return false;
    if (pattern.contiguous && checks_) {
        const uint32_t first = pattern.low >> shift_, count = ((pattern.high + width - 1) >> shift_) - first + 1;
        uint32_t bad = 0;
        const uint32_t seen = order_->block_seen();
        for (uint32_t i = 0; i < count; ++i) bad |= write_stamp_[first + i] > seen || read_stamp_[first + i] > seen;
        if (bad == 0) {
            const uint32_t lane_shift = std::countr_zero(width) - shift_, me = warp.thread(0) | in.index << kThreadBits;
            for (uint32_t i = 0; i < count; ++i) {
                write_stamp_[first + i] = order_->now();
                write_who_[first + i] = me + (i >> lane_shift);
            }
            for (uint32_t lane = 0; lane < kLanes; ++lane)
                std::memcpy(bytes_.data() + address[lane], values + lane * kStep, width);
            return true;
        }
    }
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        if (checks_ && !check_lane(warp, in, lane, address[lane], width, false, true, values + lane * kStep))
            return false;
        std::memcpy(bytes_.data() + address[lane], values + lane * kStep, width);
    }
    return true;
}

bool SharedMemory::atomic(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t width) {
    uint64_t addresses[kLanes];
    std::fill(addresses, addresses + kLanes, address);
    if (misplaced(address, width)) {
        out_of_bounds(warp, in, addresses, Mask{1} << lane, width);
        return false;
    }
    return !checks_ || check_lane(warp, in, lane, address, width, true, true, nullptr);
}

void SharedMemory::join_cluster(uint32_t rank, uint32_t ranks, Places* places) {
    rank_ = rank;
    ranks_ = ranks;
    places_ = places;
}

}  // namespace recuda::vgpu

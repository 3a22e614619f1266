// Shared memory under asynchronous copies (cp.async, cp.async.bulk, st.async).
//
// From its issue to its landing a copy owns the bytes that it writes, and nobody may write what it reads: an access in
// between is a race, whoever does it, because nothing in a program says when a copy happens. Landing is late and
// deterministic (transfers.h): at the wait that covers the copy. What a thread has waited for itself lands as a write
// of that thread, and plain barriers order it for the others. What an mbarrier waits for lands as a write of an agent
// of its own, a column of the clocks beside those of the warps: only who has taken up that column, from the mbarrier or
// from somebody who did, may touch the bytes. The granules stay out of the fast shadow until they are written again or
// a barrier of the block has made the column known to all.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/vgpu/block.h"
#include "device/vgpu/cluster.h"
#include "device/vgpu/memory/shared.h"

namespace recuda::vgpu {
namespace {

constexpr uint32_t kPiece = 16;  // bytes that are checked as one access

}  // namespace

uint32_t SharedMemory::take_off(const Warp& warp, const Instruction& in, uint32_t lane, uint32_t address,
                                uint32_t bytes) {
    uint32_t number = static_cast<uint32_t>(flights_.size());
    if (free_flights_.empty()) {
        flights_.emplace_back();
    } else {
        number = free_flights_.back();
        free_flights_.pop_back();
    }
    flights_[number] = {.from = address,
                        .to = address + bytes,
                        .rank = warp.block->rank,
                        .thread = warp.thread(lane),
                        .in = &in,
                        .line = warp.block->line_of(in, warp.frame),
                        .stamp = warp.block->order.now(),
                        .sent_at = order_->mark(),
                        .granules = 0};
    return number;
}

void SharedMemory::forget_flight(uint32_t number) {
    Flight& flight = flights_[number];
    if (--flight.granules != 0) return;
    std::erase(landed_, number);
    free_flights_.push_back(number);
}

/// Two writes of one value are no race, a copy's either.
bool SharedMemory::writes_the_same(const Flight& flight, uint64_t address, uint32_t width,
                                   const std::byte* values) const {
    if (values == nullptr || address < flight.from || address + width > flight.to) return false;
    const std::byte* other = flight.landed ? bytes_.data() + address : flight.data + (address - flight.from);
    return std::memcmp(other, values, width) == 0;
}

bool SharedMemory::send(Warp& warp, const Instruction& in, uint32_t lane, uint32_t address, uint32_t bytes,
                        const std::byte* data, uint32_t* number) {
    *number = kNoFlight;
    if (misplaced(address, bytes)) {
        uint64_t addresses[kLanes];
        std::fill(addresses, addresses + kLanes, address);
        return !out_of_bounds(warp, in, addresses, Mask{1} << lane, bytes);
    }
    if (!checks_ || bytes == 0) return true;
    const bool own = warp.block == &warp.block->cluster->block(rank_);
    for (uint32_t at = 0; at < bytes; at += kPiece) {
        const uint32_t width = std::min(kPiece, bytes - at);
        if (!(own ? check_lane(warp, in, lane, address + at, width, false, true, data + at)
                  : check_peer(warp, in, lane, address + at, width, false, true, data + at)))
            return false;
    }
    *number = take_off(warp, in, lane, address, bytes);
    flights_[*number].data = data;
    for (uint32_t g = address >> shift_; g <= (address + bytes - 1) >> shift_; ++g) {
        peers_.erase(g);
        write_stamp_[g] = kFlightStamp;
        write_who_[g] = *number;
        read_stamp_[g] = 0;
        ++flights_[*number].granules;
    }
    return true;
}

bool SharedMemory::pin(Warp& warp, const Instruction& in, uint32_t lane, uint32_t address, uint32_t bytes,
                       const std::vector<bool>& used, uint32_t* number) {
    *number = kNoFlight;
    if (misplaced(address, bytes)) {
        uint64_t addresses[kLanes];
        std::fill(addresses, addresses + kLanes, address);
        return !out_of_bounds(warp, in, addresses, Mask{1} << lane, bytes);
    }
    if (!checks_ || bytes == 0) return true;
    for (uint32_t at = 0; at < bytes; at += kPiece) {
        if (!used.empty() && !used[at / kPiece]) continue;
        if (!check_lane(warp, in, lane, address + at, std::min(kPiece, bytes - at), true, false, nullptr)) return false;
    }
    *number = take_off(warp, in, lane, address, bytes);
    for (uint32_t g = address >> shift_; g <= (address + bytes - 1) >> shift_; ++g) {
        if (read_stamp_[g] == kPeerStamp) continue;  // its own record has the read
        read_stamp_[g] = kFlightStamp;
        read_who_[g] = *number;
    }
    return true;
}

bool SharedMemory::check_reduction(Warp& warp, const Instruction& in, uint32_t lane, uint32_t address, uint32_t bytes,
                                   uint32_t element) {
    if (misplaced(address, bytes)) {
        uint64_t addresses[kLanes];
        std::fill(addresses, addresses + kLanes, address);
        return !out_of_bounds(warp, in, addresses, Mask{1} << lane, bytes);
    }
    if (!checks_) return true;
    const bool own = warp.block == &warp.block->cluster->block(rank_);
    for (uint32_t at = 0; at < bytes; at += element)
        if (!(own ? check_lane(warp, in, lane, address + at, element, true, true, nullptr)
                  : check_peer(warp, in, lane, address + at, element, true, true, nullptr)))
            return false;
    return true;
}

void SharedMemory::unpin(uint32_t number, bool waited) {
    if (number == kNoFlight) return;
    const Flight& flight = flights_[number];
    for (uint32_t g = flight.from >> shift_; g <= (flight.to - 1) >> shift_; ++g) {
        if (read_stamp_[g] != kFlightStamp || read_who_[g] != number) continue;
        read_stamp_[g] = waited ? order_->now() : flight.stamp;
        read_who_[g] = flight.thread | flight.in->index << kThreadBits;
        read_other_[g] = kNobody;
        read_warps_[g] = 1u << flight.thread / kLanes;
    }
    free_flights_.push_back(number);
}

void SharedMemory::land_own(uint32_t number, const std::byte* data, uint32_t address, uint32_t bytes) {
    std::memcpy(bytes_.data() + address, data, bytes);
    if (number == kNoFlight) return;
    Flight& flight = flights_[number];
    flight.landed = true;
    for (uint32_t g = flight.from >> shift_; g <= (flight.to - 1) >> shift_; ++g) {
        if (write_stamp_[g] != kFlightStamp || write_who_[g] != number) continue;
        write_stamp_[g] = order_->now();
        write_who_[g] = flight.thread | flight.in->index << kThreadBits;
    }
    flight.granules = 0;
    free_flights_.push_back(number);
}

void SharedMemory::land_signalled(uint32_t number, const std::byte* data, uint32_t address, uint32_t bytes,
                                  uint64_t barrier, Clock& clock) {
    std::memcpy(bytes_.data() + address, data, bytes);
    if (number == kNoFlight) return;
    Flight& flight = flights_[number];
    flight.landed = true;
    flight.agent = static_cast<uint32_t>(barrier / 8 % Order::kAgents);
    flight.landed_at = order_->mark();
    order_->note_agent(clock, rank_, flight.agent, flight.landed_at);
    if (flight.granules == 0)
        free_flights_.push_back(number);
    else
        landed_.push_back(number);
}

bool SharedMemory::awaited(const Order& order, uint32_t thread, const Flight& flight) const {
    return flight.landed && order.knows_agent(thread, rank_, flight.agent, flight.landed_at);
}

// Not in clusters, where another block may know a flight and not the barrier.
void SharedMemory::settle_flights() {
    if (landed_.empty() || ranks_ > 1) return;
    std::erase_if(landed_, [&](uint32_t number) {
        Flight& flight = flights_[number];
        if (!awaited(*order_, 0, flight)) return false;
        for (uint32_t g = flight.from >> shift_; g <= (flight.to - 1) >> shift_; ++g) {
            if (write_stamp_[g] != kFlightStamp || write_who_[g] != number) continue;
            write_stamp_[g] = flight.landed_at;
            write_who_[g] = flight.thread | flight.in->index << kThreadBits;
        }
        flight.granules = 0;
        free_flights_.push_back(number);
        return true;
    });
}

SharedMemory::Clock SharedMemory::clock_of(uint32_t warp) {
    Clock clock;
    if (checks_) order_->release(warp, clock);
    return clock;
}

bool SharedMemory::flight_race(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t width,
                               const Flight& flight, bool reads_source) {
    Block& block = *warp.block;
    Block& issuer = block.cluster->block(flight.rank);
    const auto [name, offset] = name_of(address);
    uint32_t line = block.line_of(in, warp.frame), other_line = flight.line != 0 ? flight.line : line;
    uint32_t mine = warp.thread(lane), theirs = flight.thread;
    Block *shown = &block, *other = &issuer;
    std::string message =
        reads_source ? fmt::format(
                           "byte {} of shared variable {} is written while an asynchronous copy reads it: no wait for "
                           "the copy comes before the write",
                           offset, name)
        : flight.landed
            ? fmt::format(
                  "byte {} of shared variable {} is used by a thread that no wait or barrier orders behind the "
                  "asynchronous copy to it",
                  offset, name)
            : fmt::format(
                  "byte {} of shared variable {} is used while an asynchronous copy to it is under way: no "
                  "wait for the copy comes before the access",
                  offset, name);
    // The lower line in the file is shown first, as of any race.
    if (other_line > line) {
        std::swap(line, other_line);
        std::swap(mine, theirs);
        std::swap(shown, other);
    }
    shown->raise(line, mine, 1,
                 {.check = Check::shared_race,
                  .message = std::move(message),
                  .buffer = name,
                  .byte_offset = offset,
                  .bytes = width,
                  .other = OtherAccess{other_line, other->id, block.launch->thread_at(theirs)}});
    block.stop();
    return false;
}

}  // namespace recuda::vgpu

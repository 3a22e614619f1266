#include "device/vgpu/ops/phase.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/vgpu/cluster.h"
#include "device/vgpu/memory/layout.h"

namespace recuda::vgpu {

void illegal_phase(Warp& warp, const Instruction& in, uint32_t lane, std::string message) {
    warp.fault(in, Mask{1} << lane, {.check = Check::illegal_instruction, .message = std::move(message)});
}

bool reach_word(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, Reached& reached,
                bool thread_does) {
    const Cluster& cluster = *warp.block->cluster;
    const uint32_t rank = rank_of_address(address).value_or(warp.block->rank);
    const uint64_t inside = address & (kRankUnit - 1);
    // What a copy signals is no access of the thread: it is not noted for races.
    const bool quiet = !thread_does && (address < kRankUnit || rank_of_address(address)) && rank < cluster.size() &&
                       inside % kWordBytes == 0 && cluster.block(rank).live_threads > 0 &&
                       cluster.block(rank).shared.holds(inside, kWordBytes);
    if (!quiet) {
        uint64_t addresses[kLanes];
        std::fill(addresses, addresses + kLanes, address);
        Access access;
        if (!reach(warp, in, ptx::Space::shared, addresses, Mask{1} << lane, kWordBytes, Intent::atomic, access))
            return false;
    }
    SharedMemory& shared = cluster.block(rank).shared;
    reached.at = shared.data() + inside;
    uint64_t bits;
    std::memcpy(&bits, reached.at, kWordBytes);
    reached.word = PhaseWord::of(bits);
    reached.clocks = &shared.phase_clocks[inside];
    if (reached.word.valid) return true;
    illegal_phase(warp, in, lane, "what lies here is no mbarrier: it has not been initialised or is invalid again");
    return false;
}

void settle(Warp& warp, Reached& reached, bool may_complete) {
    PhaseWord& word = reached.word;
    const bool over = may_complete && word.pending == 0 && word.bytes == 0;
    if (over) {
        word.phase = !word.phase;
        word.pending = word.expected;
        reached.clocks->met = std::exchange(reached.clocks->gathered, {});
        reached.clocks->told = {};
    }
    const uint64_t bits = word.bits();
    std::memcpy(reached.at, &bits, kWordBytes);
    ++warp.block->changes;
    if (over) warp.block->cluster->phase_over();
}

bool add_bytes(Warp& warp, const Instruction& in, uint32_t lane, PhaseWord& word, int64_t bytes) {
    const int64_t sum = word.bytes + bytes;
    word.bytes = static_cast<int32_t>(sum);
    if (sum <= int64_t{PhaseWord::kMost} && sum >= -int64_t{PhaseWord::kMost}) return true;
    illegal_phase(warp, in, lane,
                  fmt::format("an mbarrier that waits for {} bytes: at most {}", sum, PhaseWord::kMost));
    return false;
}

PhaseWord PhaseWord::of(uint64_t bits) {
    return {.pending = static_cast<uint32_t>(bits & kMost),
            .expected = static_cast<uint32_t>(bits >> 20 & kMost),
            .bytes = static_cast<int32_t>(bits >> 40 & 0x1fffff) - static_cast<int32_t>(kMost),
            .phase = (bits >> 61 & 1) != 0,
            .valid = (bits >> 62 & 1) != 0};
}

uint64_t PhaseWord::bits() const {
    return pending | uint64_t{expected} << 20 | static_cast<uint64_t>(bytes + static_cast<int64_t>(kMost)) << 40 |
           uint64_t{phase} << 61 | uint64_t{valid} << 62;
}

bool check_mbarrier(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address) {
    Reached reached;
    return reach_word(warp, in, lane, address, reached, false);
}

bool complete_bytes(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, int64_t bytes,
                    const SharedMemory::Clock& clock) {
    Reached reached;
    if (!reach_word(warp, in, lane, address, reached, false) || !add_bytes(warp, in, lane, reached.word, -bytes))
        return false;
    Order::join_clock(reached.clocks->gathered, clock);
    settle(warp, reached, true);
    return true;
}

bool expect_arrival(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address) {
    Reached reached;
    if (!reach_word(warp, in, lane, address, reached, false)) return false;
    if (++reached.word.pending > PhaseWord::kMost) {
        illegal_phase(warp, in, lane, "an mbarrier that waits for more arrivals than it can count");
        return false;
    }
    settle(warp, reached, false);
    return true;
}

bool arrive_late(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, const SharedMemory::Clock& clock) {
    Reached reached;
    if (!reach_word(warp, in, lane, address, reached, false)) return false;
    if (reached.word.pending == 0) {
        illegal_phase(warp, in, lane, "an arrival at an mbarrier that waits for none");
        return false;
    }
    --reached.word.pending;
    Order::join_clock(reached.clocks->gathered, clock);
    settle(warp, reached, true);
    return true;
}

}  // namespace recuda::vgpu

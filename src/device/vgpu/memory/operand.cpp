// Shared memory as operands of asynchronous instructions: read by the hardware between the instruction and its wait.
#include <fmt/format.h>

#include "device/vgpu/block.h"
#include "device/vgpu/cluster.h"
#include "device/vgpu/memory/order.h"
#include "device/vgpu/memory/shared.h"
#include "device/vgpu/ops/wgmma.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {

uint32_t SharedMemory::mark() { return order_->mark(); }

bool SharedMemory::read_operand(Warp& warp, const Instruction& in, uint64_t address, uint32_t width) {
    uint64_t addresses[kLanes];
    const auto outside = [&] {
        for (uint64_t& at : addresses) at = address;
        return out_of_bounds(warp, in, addresses, 1, width);
    };
    if (address + width > bytes_.size()) return !outside();
    const uint32_t first = address >> shift_, count = ((address + width - 1) >> shift_) - first + 1;
    uint32_t bad = 0;
    for (uint32_t i = 0; i < count; ++i)
        bad |= write_stamp_[first + i] - order_->start() > order_->block_seen() - order_->start();
    if (bad == 0) return true;
    if (outside()) return false;
    for (uint32_t g = first; checks_ && g < first + count; ++g) {
        const uint32_t written = write_stamp_[g];
        if (written == kGapStamp || written == kPeerStamp) continue;
        if (written == kFlightStamp) {
            const Flight& flight = flights_[write_who_[g]];
            if (!awaited(*order_, warp.thread(0), flight))
                return flight_race(warp, in, 0, address, width, flight, false);
            continue;
        }
        if (written < order_->start()) {
            if (warp.block->cluster->defer(warp, in)) return false;
            return unwritten(warp, in, kFullMask, address, width);
        }
        if (!order_->in_order(warp.thread(0), thread_of(write_who_[g]), written))
            return race(warp, in, 0, address, width, write_who_[g], false);
    }
    return true;
}

bool SharedMemory::end_read(Warp& warp, const Instruction& read, uint64_t address, uint32_t width, uint32_t mark) {
    const uint32_t me = warp.thread(0) | read.index << kThreadBits;
    for (uint64_t g = address >> shift_; g <= (address + width - 1) >> shift_; ++g) {
        const uint32_t written = write_stamp_[g];
        if (written == kGapStamp) continue;
        if (read_stamp_[g] == kPeerStamp) {
            peers_[g].reads.push_back({.rank = rank_,
                                       .thread = warp.thread(0) / kProductThreads * kProductThreads,
                                       .at = &read,
                                       .line = warp.block->line_of(read, warp.frame),
                                       .stamp = order_->now(),
                                       .threads = kProductThreads});
        } else {
            note_product(g, me);
        }
        if (written <= mark || written == kPeerStamp) continue;
        if (written == kFlightStamp) {
            const Flight& flight = flights_[write_who_[g]];
            if (flight.sent_at <= mark) continue;
            return flight_race(warp, read, 0, address, width, flight, false);
        }
        const uint32_t who = write_who_[g], thread = thread_of(who);
        const auto [name, offset] = name_of(address);
        Block& block = *warp.block;
        const uint32_t line = block.line_of(program_->code[instruction_of(who)], nullptr);
        block.raise(block.line_of(read, warp.frame), warp.thread(0), 1,
                    {.check = Check::shared_race,
                     .message = fmt::format("byte {} of shared variable {} is written before the asynchronous "
                                            "instruction that reads it has been waited for",
                                            offset, name),
                     .buffer = name,
                     .byte_offset = offset,
                     .bytes = width,
                     .other = OtherAccess{line, block.id, block.launch->thread_at(thread)}});
        return false;
    }
    return true;
}

void SharedMemory::note_product(uint32_t granule, uint32_t who) {
    note_read(granule, who, 0);
    if (read_stamp_[granule] == kFlightStamp) return;
    if (products_.empty()) products_.resize(read_stamp_.size());
    Products& products = products_[granule];
    if (products.stamp != read_stamp_[granule]) products = {.stamp = read_stamp_[granule]};
    products.groups |= 1u << thread_of(who) / kProductThreads;
    products.instruction = instruction_of(who);
}

/// A warpgroup's product that has read the granule and is not ordered before what the thread does now; kNobody: none.
uint32_t SharedMemory::behind_product(uint32_t thread, uint32_t granule) const {
    const Products& products = products_[granule];
    if (products.stamp != read_stamp_[granule]) return kNobody;
    for (Mask rest = products.groups; rest != 0; rest &= rest - 1) {
        const uint32_t who = first_lane(rest) * kProductThreads | products.instruction << kThreadBits;
        if (!read_before(thread, who, products.stamp)) return who;
    }
    return kNobody;
}

/// Whether a read is ordered before what the thread does now; one of an asynchronous product is where any thread of its
/// warpgroup hands it on, once one of them has waited.
bool SharedMemory::read_before(uint32_t thread, uint32_t who, uint32_t stamp) const {
    if (order_->in_order(thread, thread_of(who), stamp)) return true;
    if (!is_async_product(program_->code[instruction_of(who)])) return false;
    const uint32_t first = thread_of(who) / kProductThreads * kProductThreads;
    for (uint32_t other = first; other < first + kProductThreads; ++other)
        if (order_->in_order(thread, other, stamp)) return true;
    return false;
}

}  // namespace recuda::vgpu

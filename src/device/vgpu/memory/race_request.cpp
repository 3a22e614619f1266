#include "device/vgpu/memory/race_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <utility>

#include "device/vgpu/memory/global.h"

namespace recuda::vgpu {

using enum RaceShadow::Slot;
using Slot = RaceShadow::Slot;

RaceRequest::RaceRequest(Warp& warp, const Instruction& in, Buffer& buffer, const uint64_t* address, Mask active,
                         uint32_t width, Intent intent, const WrittenValues* values, const Events& events,
                         uint32_t first_cell, uint32_t event, bool replicas)
    : warp_(warp),
      in_(in),
      buffer_(buffer),
      shadow_(*buffer.races),
      order_(warp.block->order),
      launch_(*warp.block->launch),
      address_(address),
      active_(active),
      width_(width),
      reads_(intent != Intent::write),
      writes_(intent != Intent::read),
      strong_((in.mode & kStrong) != 0),
      stale_(in.read_only && intent == Intent::read),
      replicas_(replicas && !strong_),
      written_(values),
      events_(events),
      first_cell_(first_cell),
      mine_(event << kLaneBits),
      me_(order_.number()) {}

bool RaceRequest::run() {
    for (Mask rest = active_; rest != 0; rest &= rest - 1)
        if (!lane(first_lane(rest))) return false;
    return true;
}

/// Whether what the slot holds is of earlier launches, of the lanes themselves, or ordered before them by a barrier.
bool RaceRequest::quiet(Slot slot, uint64_t from, uint32_t count, uint32_t lane_shift) const {
    if (!used(slot)) return true;
    const uint32_t* cells = this->cells(slot) + from;
    uint32_t newest = 0;
    for (uint32_t i = 0; i < count; ++i) newest = std::max(newest, cells[i]);
    if (newest < first_cell_) return true;
    if (stale_ && slot != kRead && slot != kOtherRead) return false;
    for (uint32_t i = 0; i < count;) {
        const uint32_t number = cells[i] >> kLaneBits;
        if (cells[i] < first_cell_) {
            ++i;
            continue;
        }
        const Event& event = events_.at(number);
        if (event.block != me_) return false;
        const bool before = event.stamp <= order_.block_seen();
        if (!before && event.warp != warp_.index) return false;
        for (; i < count && cells[i] >> kLaneBits == number; ++i)
            if (!before && (cells[i] & (kLanes - 1)) != i >> lane_shift) return false;
    }
    return true;
}

/// Whether two other blocks' reads are known of every granule, so that this one need not be.
bool RaceRequest::full(uint64_t from, uint32_t count) const {
    if (!used(kRead) || !used(kOtherRead)) return false;
    const uint32_t *one = cells(kRead) + from, *other = cells(kOtherRead) + from;
    uint32_t last_one = 0, last_other = 0;
    for (uint32_t i = 0; i < count; ++i) {
        if (one[i] < first_cell_ || other[i] < first_cell_) return false;
        if (one[i] >> kLaneBits == last_one && other[i] >> kLaneBits == last_other) continue;
        last_one = one[i] >> kLaneBits, last_other = other[i] >> kLaneBits;
        const uint32_t a = events_.at(last_one).block, b = events_.at(last_other).block;
        if (a == me_ || b == me_ || a == b) return false;
    }
    return true;
}

void RaceRequest::put(Slot slot, uint64_t from, uint32_t count, uint32_t lane_shift) {
    uint32_t* cells = this->cells(slot) + from;
    const uint32_t cell = mine_;
    for (uint32_t i = 0; i < count; ++i) cells[i] = cell | i >> lane_shift;
}

bool RaceRequest::contiguous(uint64_t low) {
    const uint64_t from = (low - buffer_.base) >> shadow_.shift;
    const uint32_t lane_shift = std::countr_zero(width_) - shadow_.shift, count = kLanes << lane_shift;
    if (!quiet(kPlain, from, count, lane_shift) || !quiet(kStrongWrite, from, count, lane_shift) ||
        !quiet(kOlderStrong, from, count, lane_shift))
        return false;
    const bool alone = quiet(kRead, from, count, lane_shift) && quiet(kOtherRead, from, count, lane_shift);
    if (!alone) return !writes_ && full(from, count);
    // A write leaves its own lanes' reads where a replica may still ask for them.
    const bool keeps = writes_ && replicas_;
    if (!keeps && used(kOtherRead)) std::fill_n(cells(kOtherRead) + from, count, 0);
    if (!keeps && writes_ && used(kRead)) std::fill_n(cells(kRead) + from, count, 0);
    put(writes_ ? kPlain : kRead, from, count, lane_shift);
    return true;
}

RaceRequest::Before RaceRequest::before(Slot slot, uint64_t granule) const {
    const uint32_t cell = cells(slot)[granule];
    const Event& event = events_.at(cell >> kLaneBits);
    return {&event, &launch_.program->code[event.instruction], event.warp * kLanes + cell % kLanes};
}

std::optional<uint32_t> RaceRequest::rank(uint32_t block) const {
    const Dim3 cluster = launch_.cluster;
    if (cluster.volume() == 1) return std::nullopt;
    const Dim3 id = launch_.block_at(block - launch_.first_block), own = warp_.block->id;
    if (id.x / cluster.x != own.x / cluster.x || id.y / cluster.y != own.y / cluster.y ||
        id.z / cluster.z != own.z / cluster.z)
        return std::nullopt;
    return id.x % cluster.x + cluster.x * (id.y % cluster.y + cluster.y * (id.z % cluster.z));
}

bool RaceRequest::ordered(const Before& before) const {
    const auto [block, stamp, instruction, warp] = *before.event;
    if (block == me_) return order_.in_order(thread_, before.thread, stamp);
    if (const auto other = rank(block)) return order_.in_order(thread_, *other, before.thread, stamp);
    return order_.in_order_by_flags(thread_, block, before.thread, stamp);
}

/// Whether the scopes of strong accesses by two blocks name each other's threads.
bool RaceRequest::scopes_meet(uint32_t one, uint8_t mode, uint32_t other, uint8_t others) const {
    const Scope narrower = std::min(scope_of(mode), scope_of(others));
    const auto near = [&](uint32_t block) { return block == me_ || rank(block); };
    return narrower == Scope::gpu || one == other || (narrower == Scope::cluster && near(one) && near(other));
}

/// Whether a strong write was read by a strong read of this thread, or of one that is ordered before it: then what
/// comes behind the read is ordered behind the write (PTX's observation order), without a fence. Lanes of a warp that
/// read one place are noted by two of them, so that one of them stands for its warp.
bool RaceRequest::observed(Slot slot, const Before& write, uint64_t granule) const {
    if ((write.at->mode & kStrong) == 0 || !holds(kObserver, granule)) return false;
    // An earlier one was read only as far as the last one has handed it on.
    if (slot == kOlderStrong && (!holds(kStrongWrite, granule) || before(kStrongWrite, granule).at->mix != Mix::atomic))
        return false;
    const Before read = before(kObserver, granule);
    if (!scopes_meet(write.event->block, write.at->mode, read.event->block, read.at->mode)) return false;
    return (read.event->block == me_ && read.thread / kLanes == warp_.index) || ordered(read);
}

bool RaceRequest::conflicts(Slot slot, uint64_t granule) const {
    if (!holds(slot, granule)) return false;
    if (stale_ && slot != kRead && slot != kOtherRead) return true;
    const Before earlier = before(slot, granule);
    if (strong_ && (earlier.at->mode & kStrong) != 0 && scopes_meet(earlier.event->block, earlier.at->mode))
        return false;
    return !ordered(earlier) && !observed(slot, earlier, granule) && !(replicas_ && replica(earlier, slot, granule));
}

/// Whether of a plain read and a plain write by threads of one block the writer had read the granule by the reader's
/// instruction before it wrote: the reader is its replica, whose value nobody uses.
bool RaceRequest::replica(const Before& earlier, Slot slot, uint64_t granule) const {
    if (earlier.event->block != me_ || (earlier.at->mode & kStrong) != 0 || writes_ == (slot == kPlain)) return false;
    const uint32_t writer = writes_ ? thread_ : earlier.thread,
                   instruction = writes_ ? earlier.event->instruction : in_.index,
                   write = writes_ ? mine_ : cells(kPlain)[granule];
    for (const Slot other : {kRead, kOtherRead}) {
        // A warp's events have their numbers in the order in which it first did them.
        if (!holds(other, granule) || cells(other)[granule] >> kLaneBits >= write >> kLaneBits) continue;
        const Before read = before(other, granule);
        if (read.event->block == me_ && read.thread == writer && read.event->instruction == instruction) return true;
    }
    return false;
}

/// Whether what the slot holds is of this very thread.
bool RaceRequest::own(Slot slot, uint64_t granule) const {
    if (!holds(slot, granule)) return false;
    const Before earlier = before(slot, granule);
    return earlier.event->block == me_ && earlier.thread == thread_;
}

/// Whether a store writes what the other one has written.
bool RaceRequest::same_value(uint32_t lane, Slot slot, uint64_t granule) {
    const Before earlier = before(slot, granule);
    if (reads_ || written_ == nullptr || earlier.at->mix == Mix::atomic) return false;
    if (!std::exchange(has_values_, true)) written_->get(values_);
    // Of another lane of this very access nothing is in memory yet.
    const uint32_t other = earlier.thread % kLanes;
    if (cells(slot)[granule] >> kLaneBits == mine_ >> kLaneBits && other < lane && (active_ >> other & 1) != 0 &&
        address_[other] == address_[lane])
        return std::memcmp(values_ + lane * kValueStep, values_ + other * kValueStep, width_) == 0;
    const uint64_t offset = address_[lane] - buffer_.base, begin = std::max(offset, granule << shadow_.shift),
                   end = std::min(offset + width_, (granule + 1) << shadow_.shift);
    return std::memcmp(buffer_.data + begin, values_ + lane * kValueStep + (begin - offset), end - begin) == 0;
}

bool RaceRequest::dominated(Slot slot, uint64_t granule) const {
    if (!holds(slot, granule)) return true;
    const Before earlier = before(slot, granule);
    // A plain read tells more than a strong one, with which other strong accesses do not race.
    return !(strong_ && (earlier.at->mode & kStrong) == 0) && ordered(earlier);
}

void RaceRequest::note_read(uint64_t granule) {
    const uint32_t mine = mine_ | thread_ % kLanes;
    if (strong_) cells(kObserver)[granule] = mine;
    uint32_t &one = cells(kRead)[granule], &other = cells(kOtherRead)[granule];
    if (dominated(kRead, granule)) {
        one = mine;
        if (other != 0 && dominated(kOtherRead, granule)) other = 0;
        return;
    }
    const auto block = [&](Slot slot) { return before(slot, granule).event->block; };
    if (dominated(kOtherRead, granule) || (!strong_ && block(kRead) != me_ && block(kRead) == block(kOtherRead)))
        other = mine;
    // Of replicas the first thread is the one that writes.
    else if (replicas_ && block(kOtherRead) == me_ && before(kOtherRead, granule).event->instruction == in_.index &&
             thread_ < before(kOtherRead, granule).thread)
        other = mine;
}

void RaceRequest::note_plain_write(uint64_t granule) {
    // What is ordered before it needs no more be known. (Not all is: two writes may have one value.)
    for (const Slot slot : {kOlderStrong, kStrongWrite})
        if (used(slot) && !conflicts(slot, granule)) cells(slot)[granule] = 0;
    cells(kPlain)[granule] = mine_ | thread_ % kLanes;
    for (const Slot slot : {kRead, kOtherRead})
        if (used(slot) && !(replicas_ && own(slot, granule))) cells(slot)[granule] = 0;
}

void RaceRequest::note_strong_write(uint64_t granule) {
    uint32_t &last = cells(kStrongWrite)[granule], &older = cells(kOlderStrong)[granule];
    const auto behind = [&](Slot slot) {
        if (!holds(slot, granule)) return true;
        const Before write = before(slot, granule);
        return ordered(write) || observed(slot, write, granule);
    };
    // An atomic whose result is used has read what was there, and with it what that had read.
    if (reads_ && !in_.unread)
        older = 0;
    else if (!behind(kStrongWrite) && behind(kOlderStrong))
        older = last;
    last = mine_ | thread_ % kLanes;
    if (used(kObserver)) cells(kObserver)[granule] = 0;
}

bool RaceRequest::lane(uint32_t lane) {
    thread_ = warp_.thread(lane);
    const uint64_t offset = address_[lane] - buffer_.base;
    if (offset >= shadow_.followed) return true;
    const uint64_t last = std::min((offset + width_ - 1) >> shadow_.shift, shadow_.granules - 1);
    for (uint64_t granule = offset >> shadow_.shift; granule <= last; ++granule) {
        for (const Slot slot : {kPlain, kStrongWrite, kOlderStrong})
            if (conflicts(slot, granule) && !same_value(lane, slot, granule)) return report(slot, granule);
        for (const Slot slot : {kRead, kOtherRead})
            if (writes_ && conflicts(slot, granule)) return report(slot, granule);
        if (!writes_)
            note_read(granule);
        else if (strong_)
            note_strong_write(granule);
        else
            note_plain_write(granule);
    }
    return true;
}

std::string RaceRequest::reason(const Before& earlier) const {
    const auto [block, stamp, instruction, warp] = *earlier.event;
    if (stale_)
        return "a load of read-only data (ld.global.nc, from __ldg or const __restrict__) does not see what the launch "
               "writes";
    const bool other_strong = (earlier.at->mode & kStrong) != 0;
    if (strong_ && other_strong)
        return fmt::format(
            "the scope of one of them is no more than its {}",
            std::min(scope_of(in_.mode), scope_of(earlier.at->mode)) == Scope::block ? "block" : "cluster");
    if (order_.lacks_fence(thread_, block, earlier.thread, stamp)) return "a flag is read without a fence behind it";
    if (strong_ || other_strong) return "only one of them is atomic or volatile";
    return block == me_ ? "there is no barrier between them"
                        : "a release by one block and an acquire by the other would order them";
}

bool RaceRequest::report(Slot slot, uint64_t granule) {
    const Before earlier = before(slot, granule);
    struct Party {
        uint32_t line;
        uint64_t block;
        uint32_t thread;
    };
    Block& block = *warp_.block;
    Party mine{block.line_of(in_, warp_.frame), block.linear, thread_},
        theirs{block.line_of(*earlier.at, nullptr), earlier.event->block - launch_.first_block, earlier.thread};
    if (theirs.line == 0) theirs.line = mine.line;
    const bool both_write = writes_ && slot != kRead && slot != kOtherRead;
    // The lower line in the file is shown first, so that the report does not depend on which access came first.
    const auto key = [](const Party& party) { return std::tuple(~party.line, party.block, party.thread); };
    const bool same_block = mine.block == theirs.block;
    std::string why = reason(earlier);
    if (key(theirs) < key(mine)) std::swap(mine, theirs);
    const uint64_t offset = std::max(address_[thread_ % kLanes] - buffer_.base, granule << shadow_.shift);
    block.raise(
        mine.line, mine.thread, 1,
        {.check = Check::global_race,
         .message = stale_ ? fmt::format("byte {} of buffer {} is read after the launch has written it: {}", offset,
                                         buffer_.name, why)
                           : fmt::format("two threads of {} access byte {} of buffer {} in no order, and {}: {}",
                                         same_block ? "a block" : "different blocks", offset, buffer_.name,
                                         both_write ? "both write" : "one of them writes", why),
         .buffer = buffer_.name,
         .byte_offset = static_cast<int64_t>(address_[thread_ % kLanes] - buffer_.base),
         .bytes = width_,
         .other = OtherAccess{theirs.line, launch_.block_at(theirs.block), launch_.thread_at(theirs.thread)},
         .block = mine.block});
    return false;
}

}  // namespace recuda::vgpu

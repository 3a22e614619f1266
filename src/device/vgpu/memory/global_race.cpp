#include "device/vgpu/memory/global_race.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/global.h"
#include "device/vgpu/memory/race_shadow.h"

namespace recuda::vgpu {
namespace {

using enum RaceShadow::Slot;
using Slot = RaceShadow::Slot;
using Column = RaceShadow::Column;

constexpr uint32_t kStep = 32;  // bytes between two lanes' values
constexpr uint32_t kThreadMask = (1u << kThreadBits) - 1;

/// One warp-wide access of a buffer.
class Request {
 public:
    Request(Warp& warp, const Instruction& in, Buffer& buffer, const uint64_t* address, Mask active, uint32_t width,
            Intent intent, const WrittenValues* values)
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
          written_(values),
          first_block_(launch_.first_block),
          me_(order_.number()) {}

    bool is_plain() const { return !strong_; }
    bool run() {
        for (Mask rest = active_; rest != 0; rest &= rest - 1)
            if (!lane(first_lane(rest))) return false;
        return true;
    }
    bool one(uint32_t lane_number) { return lane(lane_number); }
    /// A plain access of all lanes side by side, granule by granule in loops that the compiler vectorises; false where
    /// it has to be looked at lane by lane.
    bool contiguous(uint64_t low);

 private:
    bool used(Slot slot) const { return shadow_.columns[slot].used == first_block_; }
    bool quiet(Slot slot, uint64_t from, uint32_t count, uint32_t lane_shift) const;
    bool full(uint64_t from, uint32_t count) const;
    void put(Slot slot, uint64_t from, uint32_t count, uint32_t lane_shift);
    bool lane(uint32_t lane);
    bool ordered(uint32_t block, uint32_t thread, uint32_t stamp) const;
    bool conflicts(Slot slot, uint64_t granule) const;
    bool same_value(uint32_t lane, Slot slot, uint64_t granule);
    void note_read(uint64_t granule);
    void note(Slot slot, uint64_t granule);
    bool dominated(Slot slot, uint64_t granule) const;
    bool report(Slot slot, uint64_t granule);
    std::string reason(Slot slot, uint64_t granule) const;
    const Instruction& instruction(uint32_t who) const { return launch_.program->code[who >> kThreadBits]; }
    bool scopes_meet(uint32_t block, uint8_t mode) const;
    std::optional<uint32_t> rank(uint32_t block) const;

    Warp& warp_;
    const Instruction& in_;
    Buffer& buffer_;
    RaceShadow& shadow_;
    Order& order_;
    LaunchState& launch_;
    const uint64_t* address_;
    Mask active_;
    uint32_t width_;
    bool reads_, writes_, strong_;
    const WrittenValues* written_;
    bool has_values_ = false;
    uint32_t first_block_, me_;
    uint32_t thread_ = 0;  // of the lane that is being looked at
    alignas(64) std::byte values_[kLanes * kStep];
};

/// Whether what the slot holds is of earlier launches, of the lanes themselves, or ordered before them by a barrier.
bool Request::quiet(Slot slot, uint64_t from, uint32_t count, uint32_t lane_shift) const {
    if (!used(slot)) return true;
    const Column& column = shadow_.columns[slot];
    const uint32_t *block = column.block.get() + from, *who = column.who.get() + from,
                   *stamp = column.stamp.get() + from;
    const uint32_t first = first_block_, me = me_, seen = order_.block_seen(), thread = warp_.thread(0);
    uint32_t bad = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t mine = static_cast<uint32_t>(stamp[i] <= seen) |
                              static_cast<uint32_t>((who[i] & kThreadMask) == thread + (i >> lane_shift));
        bad |= static_cast<uint32_t>(block[i] >= first) & ~(static_cast<uint32_t>(block[i] == me) & mine);
    }
    return (bad & 1) == 0;
}

/// Whether two other blocks' reads are known of every granule, so that this one need not be.
bool Request::full(uint64_t from, uint32_t count) const {
    if (!used(kRead) || !used(kOtherRead)) return false;
    const uint32_t *one = shadow_.columns[kRead].block.get() + from,
                   *other = shadow_.columns[kOtherRead].block.get() + from;
    const uint32_t first = first_block_, me = me_;
    uint32_t room = 0;
    for (uint32_t i = 0; i < count; ++i)
        room |= static_cast<uint32_t>(one[i] < first) | static_cast<uint32_t>(other[i] < first) |
                static_cast<uint32_t>(one[i] == me) | static_cast<uint32_t>(other[i] == me) |
                static_cast<uint32_t>(one[i] == other[i]);
    return room == 0;
}

void Request::put(Slot slot, uint64_t from, uint32_t count, uint32_t lane_shift) {
    Column& column = shadow_.columns[slot];
    uint32_t *block = column.block.get() + from, *who = column.who.get() + from, *stamp = column.stamp.get() + from;
    const uint32_t me = me_, now = order_.now(), first = warp_.thread(0) | in_.index << kThreadBits;
    for (uint32_t i = 0; i < count; ++i) block[i] = me;
    for (uint32_t i = 0; i < count; ++i) who[i] = first + (i >> lane_shift);
    for (uint32_t i = 0; i < count; ++i) stamp[i] = now;
}

bool Request::contiguous(uint64_t low) {
    const uint64_t from = (low - buffer_.base) >> shadow_.shift;
    const uint32_t lane_shift = std::countr_zero(width_) - shadow_.shift, count = kLanes << lane_shift;
    if (!quiet(kPlain, from, count, lane_shift) || !quiet(kStrongWrite, from, count, lane_shift)) return false;
    const bool alone = quiet(kRead, from, count, lane_shift) && quiet(kOtherRead, from, count, lane_shift);
    if (!alone) return !writes_ && full(from, count);
    if (used(kOtherRead)) std::fill_n(shadow_.columns[kOtherRead].block.get() + from, count, 0);
    if (writes_ && used(kRead)) std::fill_n(shadow_.columns[kRead].block.get() + from, count, 0);
    put(writes_ ? kPlain : kRead, from, count, lane_shift);
    return true;
}

std::optional<uint32_t> Request::rank(uint32_t block) const {
    const Dim3 cluster = launch_.cluster;
    if (cluster.volume() == 1) return std::nullopt;
    const Dim3 id = launch_.block_at(block - first_block_), own = warp_.block->id;
    if (id.x / cluster.x != own.x / cluster.x || id.y / cluster.y != own.y / cluster.y ||
        id.z / cluster.z != own.z / cluster.z)
        return std::nullopt;
    return id.x % cluster.x + cluster.x * (id.y % cluster.y + cluster.y * (id.z % cluster.z));
}

bool Request::ordered(uint32_t block, uint32_t thread, uint32_t stamp) const {
    if (block == me_) return order_.in_order(thread_, thread, stamp);
    if (const auto other = rank(block)) return order_.in_order(thread_, *other, thread, stamp);
    return order_.in_order_by_flags(thread_, block, thread, stamp);
}

/// Whether the scopes of two strong accesses, this one's and another block's, name each other's threads.
bool Request::scopes_meet(uint32_t block, uint8_t mode) const {
    const Scope narrower = std::min(scope_of(in_.mode), scope_of(mode));
    return narrower == Scope::gpu || block == me_ || (narrower == Scope::cluster && rank(block));
}

bool Request::conflicts(Slot slot, uint64_t granule) const {
    if (!used(slot)) return false;
    const Column& column = shadow_.columns[slot];
    const uint32_t block = column.block[granule], who = column.who[granule];
    if (block < first_block_) return false;
    const uint8_t mode = instruction(who).mode;
    if (strong_ && (mode & kStrong) != 0 && scopes_meet(block, mode)) return false;
    return !ordered(block, who & kThreadMask, column.stamp[granule]);
}

/// Whether a store writes what the other one has written.
bool Request::same_value(uint32_t lane, Slot slot, uint64_t granule) {
    const Column& column = shadow_.columns[slot];
    const uint32_t who = column.who[granule];
    if (reads_ || written_ == nullptr || instruction(who).mix == Mix::atomic) return false;
    if (!std::exchange(has_values_, true)) written_->get(values_);
    // Of another lane of this very access nothing is in memory yet.
    const uint32_t thread = who & kThreadMask, other = thread % kLanes;
    if (column.block[granule] == me_ && who >> kThreadBits == in_.index && thread / kLanes == warp_.index &&
        column.stamp[granule] == order_.now() && other < lane && (active_ >> other & 1) != 0 &&
        address_[other] == address_[lane])
        return std::memcmp(values_ + lane * kStep, values_ + other * kStep, width_) == 0;
    const uint64_t offset = address_[lane] - buffer_.base, begin = std::max(offset, granule << shadow_.shift),
                   end = std::min(offset + width_, (granule + 1) << shadow_.shift);
    return std::memcmp(buffer_.data + begin, values_ + lane * kStep + (begin - offset), end - begin) == 0;
}

bool Request::dominated(Slot slot, uint64_t granule) const {
    if (!used(slot)) return true;
    const Column& column = shadow_.columns[slot];
    const uint32_t block = column.block[granule], who = column.who[granule];
    if (block < first_block_) return true;
    // A plain read tells more than a strong one, with which other strong accesses do not race.
    if (strong_ && (instruction(who).mode & kStrong) == 0) return false;
    return ordered(block, who & kThreadMask, column.stamp[granule]);
}

void Request::note(Slot slot, uint64_t granule) {
    Column& column = shadow_.columns[slot];
    column.block[granule] = me_;
    column.who[granule] = thread_ | in_.index << kThreadBits;
    column.stamp[granule] = order_.now();
}

void Request::note_read(uint64_t granule) {
    uint32_t &one = shadow_.columns[kRead].block[granule], &other = shadow_.columns[kOtherRead].block[granule];
    if (dominated(kRead, granule)) {
        note(kRead, granule);
        if (other != 0 && dominated(kOtherRead, granule)) other = 0;
    } else if (dominated(kOtherRead, granule) || (one == other && me_ != one && !strong_)) {
        note(kOtherRead, granule);
    }
}

bool Request::lane(uint32_t lane) {
    thread_ = warp_.thread(lane);
    const uint64_t offset = address_[lane] - buffer_.base;
    if (offset >= shadow_.followed) return true;
    const uint64_t last = std::min((offset + width_ - 1) >> shadow_.shift, shadow_.granules - 1);
    for (uint64_t granule = offset >> shadow_.shift; granule <= last; ++granule) {
        for (const Slot slot : {kPlain, kStrongWrite})
            if (conflicts(slot, granule) && !same_value(lane, slot, granule)) return report(slot, granule);
        for (const Slot slot : {kRead, kOtherRead})
            if (writes_ && conflicts(slot, granule)) return report(slot, granule);
        if (!writes_) {
            note_read(granule);
            continue;
        }
        note(strong_ ? kStrongWrite : kPlain, granule);
        if (strong_) continue;
        for (const Slot slot : {kRead, kOtherRead})
            if (used(slot)) shadow_.columns[slot].block[granule] = 0;
    }
    return true;
}

std::string Request::reason(Slot slot, uint64_t granule) const {
    const Column& column = shadow_.columns[slot];
    const uint32_t block = column.block[granule], who = column.who[granule], stamp = column.stamp[granule];
    const Instruction& other = instruction(who);
    if (strong_ && (other.mode & kStrong) != 0)
        return fmt::format("the scope of one of them is no more than its {}",
                           std::min(scope_of(in_.mode), scope_of(other.mode)) == Scope::block ? "block" : "cluster");
    if (order_.lacks_fence(thread_, block, who & kThreadMask, stamp))
        return "a flag is read without a fence behind it";
    if (block != me_) return "blocks are ordered by a release in one and an acquire in the other, which is missing";
    return strong_ || (other.mode & kStrong) != 0 ? "only one of them is atomic or volatile"
                                                  : "there is no barrier between them";
}

bool Request::report(Slot slot, uint64_t granule) {
    const Column& column = shadow_.columns[slot];
    struct Party {
        uint32_t line;
        uint64_t block;
        uint32_t thread;
    };
    Block& block = *warp_.block;
    const uint32_t who = column.who[granule];
    Party mine{block.line_of(in_, warp_.frame), block.linear, thread_},
        theirs{block.line_of(instruction(who), nullptr), column.block[granule] - first_block_, who & kThreadMask};
    if (theirs.line == 0) theirs.line = mine.line;
    const bool both_write = writes_ && (slot == kPlain || slot == kStrongWrite);
    // The lower line in the file is shown first, so that the report does not depend on which access came first.
    const auto key = [](const Party& party) { return std::tuple(~party.line, party.block, party.thread); };
    const bool same_block = mine.block == theirs.block;
    std::string why = reason(slot, granule);
    if (key(theirs) < key(mine)) std::swap(mine, theirs);
    const uint64_t offset = std::max(address_[thread_ % kLanes] - buffer_.base, granule << shadow_.shift);
    block.raise(mine.line, mine.thread, 1,
                {.check = Check::global_race,
                 .message = fmt::format("two threads of {} access byte {} of buffer {} in no order, and {}: {}",
                                        same_block ? "a block" : "different blocks", offset, buffer_.name,
                                        both_write ? "both write" : "one of them writes", why),
                 .buffer = buffer_.name,
                 .byte_offset = static_cast<int64_t>(address_[thread_ % kLanes] - buffer_.base),
                 .bytes = width_,
                 .other = OtherAccess{theirs.line, launch_.block_at(theirs.block), launch_.thread_at(theirs.thread)},
                 .block = mine.block});
    return false;
}

}  // namespace

void GlobalRaces::begin(GlobalMemory& memory, uint64_t blocks, bool parallel) {
    parallel_ = parallel;
    if (blocks >= ~uint32_t{0} - next_) {
        memory.forget_races();
        next_ = 1;
    }
    first_ = next_;
    next_ += static_cast<uint32_t>(blocks);
    for (Order::Places& places : places_) places.clear();
}

const Order::Place* GlobalRaces::find_place(uint64_t address) const {
    const Order::Places& places = places_[Stripes::of(address)];
    const auto found = places.find(address);
    return found == places.end() ? nullptr : &found->second;
}

void GlobalRaces::hold(StripesHeld& held, const uint64_t* address, Mask active, uint32_t width,
                       const Pattern& pattern) {
    if (!parallel_) return;
    Stripes::Set set = 0;
    if (pattern.contiguous) {
        set = Stripes::of(pattern.low, uint64_t{width} * kLanes);
    } else {
        for (Mask rest = active; rest != 0; rest &= rest - 1) set |= Stripes::of(address[first_lane(rest)], width);
    }
    held.hold(stripes_, set);
}

bool GlobalRaces::check(Warp& warp, const Instruction& in, Buffer& buffer, const uint64_t* address, Mask active,
                        uint32_t width, Intent intent, const Pattern& pattern, const WrittenValues* values,
                        StripesHeld& held) {
    const bool strong = (in.mode & kStrong) != 0;
    const uint32_t shift = std::countr_zero(std::min(width, 16u));
    const auto ready = [&](Slot slot) { return buffer.races->columns[slot].used == first_; };
    const bool reads = intent == Intent::read;
    const Slot slot = reads ? kRead : strong ? kStrongWrite : kPlain;
    if (buffer.races == nullptr || buffer.races->granules == 0 || buffer.races->shift > shift || !ready(slot) ||
        (reads && !ready(kOtherRead))) {
        // Nobody else is to see the shadow while it changes as a whole.
        const Stripes::Set set = held.set();
        if (parallel_) held.hold(stripes_, ~Stripes::Set{0});
        if (buffer.races == nullptr) buffer.races = std::make_unique<RaceShadow>();
        buffer.races->split(shift, buffer.size);
        buffer.races->use(slot, first_);
        if (reads) buffer.races->use(kOtherRead, first_);
        if (parallel_) held.hold(stripes_, set);
    }
    Request request(warp, in, buffer, address, active, width, intent, values);
    const uint64_t end = pattern.high - buffer.base + width;
    if (pattern.contiguous && !strong && end <= buffer.races->followed && request.contiguous(pattern.low)) return true;
    if (intent == Intent::read && pattern.low == pattern.high) {
        // All lanes read one place: two of them stand for all.
        const Mask others = active & (active - 1);
        return request.one(first_lane(active)) && (others == 0 || request.one(first_lane(others)));
    }
    return request.run();
}

}  // namespace recuda::vgpu

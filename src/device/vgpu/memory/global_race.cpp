#include "device/vgpu/memory/global_race.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/global.h"
#include "device/vgpu/memory/race_request.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {

namespace {

/// Triton names the source file and the number of threads; Numba, whose sources are Python too, does not do the latter.
bool made_by_triton(const Program& program) {
    if (program.entry->source->required_threads[0] == 0) return false;
    const auto& files = program.module->files;
    return std::any_of(files.begin(), files.end(), [](const auto& file) { return file.second.ends_with(".py"); });
}

}  // namespace

void GlobalRaces::begin(GlobalMemory& memory, const Program& program, uint64_t blocks, bool parallel) {
    parallel_ = parallel;
    replicas_ = made_by_triton(program);
    memory_ = &memory;
    if (blocks >= ~uint32_t{0} - next_)
        next_ = 1;  // the events of earlier launches do not count, whatever their blocks
    first_ = next_;
    next_ += static_cast<uint32_t>(blocks);
    if (!events_.begin(&first_cell_)) forget();
    for (Order::Places& places : places_) places.clear();
}

void GlobalRaces::forget() {
    memory_->forget_races();
    events_.forget();
    events_.begin(&first_cell_);
}

uint32_t GlobalRaces::event(const Warp& warp, const Instruction& in, StripesHeld& held) {
    const Order& order = warp.block->order;
    const Event event{order.number(), order.now(), in.index, warp.index};
    Events::Writer& writer = warp.block->worker->events;
    uint32_t number = events_.number(writer, event);
    while (number == 0) {
        exclusively(held, [&] {
            if ((number = events_.number(writer, event)) == 0) forget();
        });
    }
    return number;
}

/// Nobody else looks at shadows or events meanwhile.
template <typename F>
void GlobalRaces::exclusively(StripesHeld& held, F body) {
    const Stripes::Set set = held.set();
    if (parallel_) held.hold(stripes_, ~Stripes::Set{0});
    body();
    if (parallel_) held.hold(stripes_, set);
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
    const bool strong = (in.mode & kStrong) != 0, reads = intent == Intent::read;
    const uint32_t shift = std::countr_zero(std::min(width, 16u));
    // The columns that the access may write.
    std::array<RaceShadow::Slot, 3> slots{};
    uint32_t count = 0;
    if (reads) slots[count++] = RaceShadow::kRead, slots[count++] = RaceShadow::kOtherRead;
    if (reads && strong) slots[count++] = RaceShadow::kObserver;
    if (!reads) slots[count++] = strong ? RaceShadow::kStrongWrite : RaceShadow::kPlain;
    if (!reads && strong) slots[count++] = RaceShadow::kOlderStrong;
    const uint32_t number = event(warp, in, held);
    const auto ready = [&] {
        const RaceShadow* shadow = buffer.races.get();
        return shadow != nullptr && shadow->granules != 0 && shadow->shift <= shift &&
               std::all_of(slots.begin(), slots.begin() + count,
                           [&](RaceShadow::Slot slot) { return shadow->columns[slot].used == first_cell_; });
    };
    while (!ready())
        exclusively(held, [&] {
            if (buffer.races == nullptr) buffer.races = std::make_unique<RaceShadow>();
            buffer.races->split(shift, buffer.size);
            for (uint32_t i = 0; i < count; ++i) buffer.races->use(slots[i], first_cell_);
        });
    RaceRequest request(warp, in, buffer, address, active, width, intent, values, events_, first_cell_, number,
                        replicas_);
    const uint64_t end = pattern.high - buffer.base + width;
    if (pattern.contiguous && !strong && end <= buffer.races->followed && request.contiguous(pattern.low)) return true;
    if (intent == Intent::read && pattern.low == pattern.high) {
        // All lanes read one place: two of them stand for all.
        const Mask others = active & (active - 1);
        return request.lane(first_lane(active)) && (others == 0 || request.lane(first_lane(others)));
    }
    return request.run();
}

}  // namespace recuda::vgpu

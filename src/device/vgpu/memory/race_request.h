// One warp-wide access of a buffer, checked against its race shadow and noted there: the rules of global_race.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/access.h"
#include "device/vgpu/memory/events.h"
#include "device/vgpu/memory/race_shadow.h"

namespace recuda::vgpu {

class RaceRequest {
 public:
    static constexpr uint32_t kValueStep = 32;  // bytes between two lanes' values

    /// `event` is the number of what the warp does; the locks of the buffer's pages are held. `replicas`: several
    /// threads of a block may read an element of which one alone is the owner (global_race.h).
    RaceRequest(Warp& warp, const Instruction& in, Buffer& buffer, const uint64_t* address, Mask active, uint32_t width,
                Intent intent, const WrittenValues* values, const Events& events, uint32_t first_cell, uint32_t event,
                bool replicas);

    /// Checks and notes the access of one lane, or of all of them; false after a fault.
    bool lane(uint32_t lane);
    bool run();
    /// A plain access of all lanes side by side, granule by granule in loops that the compiler vectorises; false where
    /// it has to be looked at lane by lane.
    bool contiguous(uint64_t low);

 private:
    /// An earlier access that a slot holds.
    struct Before {
        const Event* event;
        const Instruction* at;
        uint32_t thread;
    };
    uint32_t* cells(RaceShadow::Slot slot) const { return shadow_.columns[slot].cells.get(); }
    bool used(RaceShadow::Slot slot) const { return shadow_.columns[slot].used == first_cell_; }
    /// Whether the slot holds an access of this launch.
    bool holds(RaceShadow::Slot slot, uint64_t granule) const {
        return used(slot) && cells(slot)[granule] >= first_cell_;
    }
    Before before(RaceShadow::Slot slot, uint64_t granule) const;
    bool quiet(RaceShadow::Slot slot, uint64_t from, uint32_t count, uint32_t lane_shift) const;
    bool full(uint64_t from, uint32_t count) const;
    void put(RaceShadow::Slot slot, uint64_t from, uint32_t count, uint32_t lane_shift);
    bool ordered(const Before& before) const;
    bool conflicts(RaceShadow::Slot slot, uint64_t granule) const;
    bool replica(const Before& earlier, RaceShadow::Slot slot, uint64_t granule) const;
    bool own(RaceShadow::Slot slot, uint64_t granule) const;
    bool same_value(uint32_t lane, RaceShadow::Slot slot, uint64_t granule);
    void note_read(uint64_t granule);
    bool dominated(RaceShadow::Slot slot, uint64_t granule) const;
    bool report(RaceShadow::Slot slot, uint64_t granule);
    std::string reason(const Before& earlier) const;
    bool scopes_meet(uint32_t block, uint8_t mode) const { return scopes_meet(block, mode, me_, in_.mode); }
    bool scopes_meet(uint32_t one, uint8_t mode, uint32_t other, uint8_t others) const;
    bool observed(RaceShadow::Slot slot, const Before& write, uint64_t granule) const;
    void note_strong_write(uint64_t granule);
    void note_plain_write(uint64_t granule);
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
    bool stale_;  // it may read what was there before the launch, whatever orders it: any write of the launch conflicts
    bool replicas_;
    const WrittenValues* written_;
    bool has_values_ = false;
    const Events& events_;
    uint32_t first_cell_, mine_;  // of the launch, and of this access without a lane
    uint32_t me_;                 // the block's number
    uint32_t thread_ = 0;         // of the lane that is being looked at
    alignas(64) std::byte values_[kLanes * kValueStep];
};

}  // namespace recuda::vgpu

// A warp: 32 lanes with one register file a function activation, and the groups into which they have diverged.
//
// Lanes that stand at one program counter of one activation form a group. The group of the deepest activation and
// lowest program counter runs until it reaches the next group's, where both become one; a group that loops backwards
// for long gives the others a turn, so that lanes of one warp may wait for each other. Groups wait at barriers and at
// warp-wide instructions whose mask names lanes that have not come yet.
#pragma once

#include <memory>
#include <vector>

#include "device/vgpu/machine.h"

namespace recuda::vgpu {

struct Block;
struct Fault;
struct FunctionCode;

/// One activation of a function by some lanes of a warp.
struct Frame {
    const FunctionCode* function = nullptr;
    Frame* caller = nullptr;
    uint32_t return_pc = 0;
    uint32_t depth = 0;
    Mask lanes = 0;           // lanes that have not returned
    uint64_t local_base = 0;  // local address of the first byte of `local`
    std::byte* registers = nullptr;
    std::byte* local = nullptr;       // local_bytes a lane, lane after lane
    uint8_t* local_shadow = nullptr;  // a byte a byte: 1 where written, 2 between variables
    std::unique_ptr<std::byte[]> storage;
};

/// Lanes at one place that do not run at the moment.
struct Group {
    /// at_phase: for a phase of an mbarrier to end; at_peer: for a write by another block of the cluster, see
    /// Cluster::defer.
    enum class State : uint8_t { runnable, at_barrier, at_warp_sync, at_peer, at_phase };
    Frame* frame = nullptr;
    uint32_t pc = 0;
    Mask lanes = 0;
    State state = State::runnable;
    uint8_t barrier = 0;              // at_barrier: its number
    Mask needed = 0;                  // lanes for which it waits, itself included
    uint32_t yields = 0;              // turns given away while looping
    const Instruction* at = nullptr;  // the instruction at which it waits
};

/// A kernel may come to very many barriers and still end: each of the first ones gives back some of the fuel used.
inline constexpr uint32_t kBarriersWithFuel = 1u << 21, kFuelOfBarrier = 256;

struct Warp : RegisterFile {
    static constexpr uint32_t kNoLimit = 0xffffffffu;

    // The running group.
    uint32_t pc = 0;            // of the next instruction
    uint32_t limit = kNoLimit;  // another group starts here; 0: look at what has happened
    Mask active = 0;            // its lanes; 0: no group is loaded
    int64_t budget = 0;         // instructions left of this turn, counted at backward branches and calls
    Frame* frame = nullptr;
    uint32_t loops = 0;  // backward branches of the warp since a group last gave way
    uint32_t yields = 0;
    uint32_t last_loop = 0;  // index of the last backward branch taken: where a runaway loops

    Mask expired = 0;    // lanes whose next mbarrier.try_wait does not wait: nothing else could run
    Mask alive = 0;      // threads of the launch that have not exited
    uint32_t index = 0;  // in its block
    Block* block = nullptr;
    uint64_t fuel = 0;           // instructions left before the warp is a runaway
    uint32_t barriers_left = 0;  // so many more barriers add to the fuel
    std::vector<Group> groups;   // all others

    /// Sends the lanes `taken` of the running group to instruction `target`; the rest goes on at pc.
    void branch(uint32_t target, Mask taken);
    /// Ends threads.
    void exit(Mask lanes);
    /// Enters a function with `lanes`; they come back to `return_pc`. The caller has copied no argument yet: the new
    /// frame is returned.
    Frame* call(const FunctionCode& function, Mask lanes, uint32_t return_pc);
    /// Leaves the function; from the entry it ends the threads.
    void ret(Mask lanes);
    /// Takes `lanes` out of the running group; they wait at `in` (a barrier: they go on behind it; a warp instruction:
    /// they run it again).
    void wait(const Instruction& in, Mask lanes, Group::State state, uint8_t barrier, Mask needed);
    /// Reports what `lanes` did wrong and stops the block.
    void fault(const Instruction& in, Mask lanes, Fault fault);

    /// Ready to run the entry from its start with the lanes of `alive`.
    void start(const FunctionCode& entry);
    /// Puts the running group among the others.
    void park();
    /// Merges groups at one place and loads the next runnable one; false where none is.
    bool pick();
    bool waits() const { return !groups.empty(); }

    uint32_t thread(uint32_t lane) const { return index * kLanes + lane; }
    Frame* frame_at(
        uint64_t local_address);  // the activation, of the running group's chain, whose local memory holds the address

 private:
    Frame* new_frame(const FunctionCode& function);
    void release(Frame* frame);
    void load(const Group& group);

    std::vector<std::unique_ptr<Frame>> idle_;  // frames to use again, of any function
    std::vector<std::unique_ptr<Frame>> live_;
    uint64_t held_bytes_ = 0;  // of the frames in live_
};

}  // namespace recuda::vgpu

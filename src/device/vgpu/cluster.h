// The blocks of a cluster, which are resident together: what the scheduler of a launch hands out. Without clusters, one
// block by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/vgpu/block.h"
#include "device/vgpu/transfers.h"

namespace recuda::vgpu {

/// The number under which threads wait at the cluster's barrier; 0 to 15 are those of a block.
inline constexpr uint8_t kClusterBarrier = 16;
/// The same for who waits for a phase of an mbarrier.
inline constexpr uint8_t kPhaseWait = 17;
/// And for who waits for the other warps of its warpgroup.
inline constexpr uint8_t kWarpgroupWait = 18;

class Cluster {
 public:
    Cluster() = default;
    Cluster(const Cluster&) = delete;

    void start(Worker& worker, uint64_t number);
    /// Runs the blocks in turn; `spinning` and `finished` mean all of them. One that fails ends the others too.
    Block::State run(Worker& worker, int64_t slice);

    uint32_t size() const { return static_cast<uint32_t>(blocks_.size()); }
    Block& block(uint32_t rank) const { return *blocks_[rank]; }
    /// The block's place in the grid.
    uint64_t linear_of(uint32_t rank) const;
    uint64_t number() const { return number_; }
    /// Stores and atomics of all blocks that may have changed memory.
    uint64_t changes() const;
    /// A report that the first block which still runs does so for ever.
    void runaway(Worker& worker, const char* why);

    /// `lanes` come to the cluster's barrier; the last ones release it. What they did before is ordered before who
    /// waits there, where `releases`.
    void arrive(Warp& warp, const Instruction& in, Mask lanes, bool releases);
    /// `lanes` wait for the phase at which they have arrived.
    void wait(Warp& warp, const Instruction& in, Mask lanes);
    /// A warp reads memory that nobody has written. Another thread may be about to write it without any order, which
    /// would be a race: the lanes wait until all others do, then read again. False where they have.
    bool defer(Warp& warp, const Instruction& in);
    /// Lets go on who has been put off by defer(); false where nobody is.
    bool resume_deferred();
    /// A phase of an mbarrier is over: who waits for one looks again.
    void phase_over();
    /// Threads have ended: the barrier may be complete now.
    void threads_ended();

    /// Global reads of all blocks.
    uint64_t outside() const;

    Transfers transfers;  // asynchronous copies of all blocks

    bool busy = false, polls = false;  // grid.cpp: its last slice was used up; it read global memory and changed none
    // grid.cpp: while it is suspended in a loop that waits for others, the launch's epoch of changes (1 and more) when
    // it last looked; else 0.
    uint64_t spin_epoch = 0;

 private:
    struct Arrivals {
        Mask now = 0;   // lanes at the current phase
        Mask owed = 0;  // lanes at a complete phase that have not waited for it
    };
    Arrivals& arrivals(const Warp& warp);
    bool complete() const;
    void release();
    bool resume(Group::State state);
    bool resume_stuck();
    void check_stuck();

    LaunchState* launch_ = nullptr;
    std::vector<std::unique_ptr<Block>> blocks_;
    std::vector<uint32_t> order_;
    std::vector<bool> done_;
    uint64_t number_ = 0, phases_ = 0;
    uint64_t expired_at_ = 0;  // phases and changes when try_wait last gave up
    bool patient_ = true;      // defer() makes lanes wait
    bool arriving_ = false;    // somebody is at the current phase
    std::vector<Arrivals> arrivals_;
    SharedMemory::Clock gathered_, met_;  // of the arrivals at the current and at the last phase
    SharedMemory::Places places_;
};

}  // namespace recuda::vgpu

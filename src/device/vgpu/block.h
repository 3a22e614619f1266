// A block: its warps, barriers and shared memory, as a machine that can be stopped after any slice and resumed later.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/vgpu/faults.h"
#include "device/vgpu/memory/events.h"
#include "device/vgpu/memory/global.h"
#include "device/vgpu/memory/order.h"
#include "device/vgpu/memory/shared.h"
#include "device/vgpu/program.h"
#include "device/vgpu/tally.h"
#include "device/vgpu/warp.h"

namespace recuda::vgpu {

class GlobalRaces;

/// What all blocks of one launch share. Nothing in it changes while blocks run, but for the atomics.
struct LaunchState {
    const Program* program = nullptr;
    GlobalMemory* memory = nullptr;
    GlobalRaces* races = nullptr;  // null without checks
    uint32_t first_block = 0;      // its number for the race checks; the others follow
    uint64_t workspace = 0;        // address of what grids of a cooperative launch meet by; 0 for other launches
    Dim3 grid, block, cluster;
    uint32_t threads = 0, warps = 0;  // of a block
    uint32_t dynamic_shared = 0;
    std::vector<std::byte> parameters;
    std::vector<uint64_t> global_addresses;  // of Program::globals
    uint32_t dynamic_start = 0;
    bool checks = true, count = true;
    bool cooperative = false;  // all blocks are resident
    uint64_t schedule = 0, seed = 0, fuel = 0;
    uint32_t sm_count = 1;
    uint64_t grid_id = 0;
    uint64_t timer = 0;  // where %globaltimer starts, in ns since 1970
    std::string file, kernel;
    std::chrono::steady_clock::time_point deadline;
    std::atomic<bool> stop = false;  // a runaway or the deadline: no block goes on
    std::atomic<bool> timed_out = false;
    std::atomic<uint32_t> spinning = 0;  // clusters of blocks that wait in a loop for others
    std::atomic<bool> faulted = false;   // some block: others may wait for what it does not do any more
    std::atomic<uint64_t> printed_bytes = 0;

    uint64_t blocks() const { return grid.volume(); }
    Dim3 thread_at(uint32_t linear) const {
        return {linear % block.x, linear / block.x % block.y, linear / block.x / block.y};
    }
    Dim3 block_at(uint64_t linear) const {
        return {static_cast<uint32_t>(linear % grid.x), static_cast<uint32_t>(linear / grid.x % grid.y),
                static_cast<uint32_t>(linear / grid.x / grid.y)};
    }
};

/// One host thread's part of a launch.
struct Worker {
    explicit Worker(LaunchState& launch);
    /// Keeps what a block prints, as far as it fits into a launch's share.
    void print(uint64_t block, std::string text);
    /// Whether anything of the share is left.
    bool may_print() const;

    LaunchState& launch;
    Tally tally;
    FaultLog faults;
    Events::Writer events;                                  // of the race checks
    std::vector<Buffer*> last_buffer;                       // by instruction: where its last access went
    std::vector<std::pair<uint64_t, std::string>> printed;  // by block
};

struct Barrier {
    bool in_use = false;
    uint32_t expected = 0;    // threads; 0: all of the block that live
    uint32_t arrived = 0;     // threads (all) or, with a count, threads rounded up to whole warps
    std::vector<Mask> lanes;  // by warp: who has arrived since the warp was last complete
    uint32_t popc = 0;
    bool all = true, any = false;  // of a reduction
    Order::Clock clock;
};

class Cluster;

/// Asynchronous products that a warpgroup has begun: what they read from shared memory must stay until they have been
/// waited for.
struct PendingProduct {
    const Instruction* at = nullptr;
    uint64_t descriptors[2] = {};  // of A, where it lies in shared memory, and of B
    uint32_t stamp = 0;            // of shared memory's clock when it began
    uint32_t group = 0;            // that it will belong to when it is committed
};
struct Warpgroup {
    static constexpr uint32_t kWarps = 4;
    std::vector<PendingProduct> pending;
    uint32_t committed[kWarps] = {};  // groups, by warp
    uint8_t gave_way[kWarps] = {};    // how often a warp has let others run before it waits
};

struct Block {
    /// waiting: nothing can run before another block of the cluster comes to its barrier.
    /// yielding: others that spin are to see what it has just seen or left before it goes on.
    enum class State { ready, yielding, spinning, waiting, finished };

    Block() = default;
    Block(const Block&) = delete;

    /// Ready to run block `linear`; in a cluster, `places` are where its blocks' strong accesses meet.
    void start(Worker& worker, uint64_t linear, SharedMemory::Places* places = nullptr);
    /// Runs warps in turn until all have ended, one has failed, all wait or spin without any change to memory, or
    /// `slice` instructions are done.
    State run(Worker& worker, int64_t slice);

    const Program& program() const { return *launch->program; }
    /// Adds a report for `count` lanes, of which `thread` is the first, and stops the block.
    void raise(uint32_t line, uint32_t thread, uint32_t count, Fault fault);
    uint32_t line_of(const Instruction& in, const Frame* frame) const;

    /// `lanes` of a warp come to barrier `id`; the caller makes them wait where `waits`. Releases the barrier when it
    /// is complete. `votes` are the lanes whose predicate is true, for reductions.
    void arrive(Warp& warp, const Instruction& in, uint32_t id, uint32_t count, Mask lanes, bool waits, Mask votes);
    /// Threads have ended: barriers may be complete now.
    void threads_ended(uint32_t count);
    /// The running warp's turn ends when its handler returns.
    void give_way() { released_ = true; }
    /// Nothing of the block runs any more.
    void stop();
    /// A flag between blocks has been written or seen to be written. Whoever polls it looks at it now and not after the
    /// block has gone on to its next flag: then it would be ordered behind all until that one, and races would hide.
    void show_flag(Warp& warp);
    /// Reports where lanes of a warp that come to wait at a barrier find others of it at another one.
    bool diverges(Warp& warp, const Instruction& in, Mask lanes);
    /// Reports who waits for ever; nothing can run.
    void check_stuck();
    /// A report that this warp loops for ever.
    void runaway(Warp& warp, const char* why);

    LaunchState* launch = nullptr;
    Worker* worker = nullptr;
    Cluster* cluster = nullptr;
    uint32_t rank = 0;  // in the cluster
    uint64_t linear = 0;
    Dim3 id{0, 0, 0};
    std::vector<std::unique_ptr<Warp>> warps;
    uint32_t live_threads = 0;
    Order order;
    SharedMemory shared;
    Barrier barriers[16];
    std::vector<Warpgroup> warpgroups;
    bool stopped = false;
    uint64_t changes = 0;   // stores and atomics that may have changed memory
    uint64_t outside = 0;   // reads of global memory
    uint64_t executed = 0;  // instructions given to warps so far: the block's clock

 private:
    struct Snapshot {
        std::vector<std::pair<uint32_t, Mask>> places;  // of all groups
        const Frame* frame = nullptr;
        uint64_t changes = 0;
        uint32_t repeats = 0;  // turns since then that changed nothing
        uint64_t outside = 0;
        bool valid = false, same = false;
        bool alone = false;  // the same, and nothing of the block has read global memory since
        std::vector<std::byte> registers;
    };
    void run_warp(Warp& warp);
    void release(uint32_t id);
    bool complete(const Barrier& barrier) const;
    void compare_snapshot(Warp& warp);
    bool all_spin() const;
    /// All spin and none looks at memory that another block could change.
    bool spins_alone() const;
    bool waits_for_cluster() const;

    uint32_t spins_ = 0;     // rounds in which all spun
    bool yielding_ = false;  // the slice is over once the turn is
    bool released_ = false;  // a barrier has been completed in this turn, or it is over for another reason
    std::vector<Snapshot> snapshots_;
    std::vector<uint32_t> order_;
};

}  // namespace recuda::vgpu

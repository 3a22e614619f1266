// What orders the accesses of a block's threads: a clock of stamps that ticks at every synchronisation, and what each
// thread has been ordered behind by it.
//
// Barriers are known by stamps alone: all of the block up to block_seen, a warp's lanes up to warp_seen, and after
// barriers of a part of the block or of a cluster other warps up to a matrix entry. Flags and locks are followed thread
// by thread, also between blocks: a fence sets aside what the thread knows (`fenced`), a strong write behind it leaves
// that at its place, a strong read takes it up there (`taken`), a fence behind that makes it known. Barriers hand on
// all three, so that a fence before a barrier and the flag's write behind it work as GPUs make them work.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "device/vgpu/machine.h"
#include "device/vgpu/memory/known.h"
#include "device/vgpu/memory/mode.h"

namespace recuda::vgpu {

class Order {
 public:
    /// What threads hand on, by scope.
    struct Views {
        View known;
        std::array<View, kScopes> fenced, taken;
    };
    /// What is ordered before a barrier: by warp of the cluster (of the block, where there is no cluster) the stamp of
    /// its block's clock, and what the threads hand on.
    struct Clock {
        std::vector<uint32_t> seen;
        Views views;
    };
    /// What strong writes have left at an address for threads of a scope: that of the whole GPU, and those of single
    /// clusters and blocks by their number.
    struct Place {
        struct Left {
            Scope scope;
            uint32_t owner;
            View view;
        };
        std::vector<Left> left;
    };
    using Places = std::unordered_map<uint64_t, Place>;

    /// For blocks of so many threads. `flags`: the program has fences, releases or acquires; `narrow`: some of them, or
    /// its atomics, have the scope of a block or cluster.
    void prepare(uint32_t threads, bool flags, bool narrow);
    void join_cluster(uint32_t rank, uint32_t ranks);
    /// A new block, one of a cluster whose rank 0 has the number `first` among blocks: nobody has synchronised.
    /// `numbers` are those of the cluster's blocks.
    void begin(std::vector<uint32_t> numbers);
    /// Starts the clock anew where it has run far: the stamps before mean nothing then.
    bool restart();

    uint32_t now() const { return now_; }
    /// The time now; what happens later has a later stamp.
    uint32_t mark() { return now_++; }
    uint32_t start() const { return start_; }
    uint32_t block_seen() const { return block_seen_; }
    uint32_t number() const { return number_; }
    bool flags() const { return flags_; }

    /// Whether what `other` of the block did at `stamp` is ordered before what `thread` does now.
    bool in_order(uint32_t thread, uint32_t other, uint32_t stamp) const;
    /// The same of a thread of the cluster's block `rank`.
    bool in_order(uint32_t thread, uint32_t rank, uint32_t other, uint32_t stamp) const;
    /// The same of any block.
    bool in_order_by_flags(uint32_t thread, uint32_t block, uint32_t other, uint32_t stamp) const;
    /// Whether it would be if the thread had put a fence behind its reads of flags.
    bool lacks_fence(uint32_t thread, uint32_t block, uint32_t other, uint32_t stamp) const;
    /// Whether any thread of this block is ordered behind it.
    bool anyone_in_order(uint32_t rank, uint32_t other, uint32_t stamp) const;

    /// Copies that mbarriers wait for are done by agents, some for each block of the cluster, whose accesses are
    /// ordered before who has taken up their clocks and before nobody else, a barrier's threads without such a one
    /// included.
    static constexpr uint32_t kAgents = 4;
    void note_agent(Clock& clock, uint32_t rank, uint32_t agent, uint32_t stamp) const;
    bool knows_agent(uint32_t thread, uint32_t rank, uint32_t agent, uint32_t stamp) const;
    static void join_clock(Clock& to, const Clock& from);

    /// All live threads of the block met.
    void sync_block();
    /// The lanes of a warp met.
    void sync_warp(uint32_t warp, Mask lanes, Mask alive);
    /// A barrier that only some take part in: an arriving warp leaves its clock with the barrier, a waiting one takes
    /// it up.
    void release(uint32_t warp, Clock& clock);
    void acquire(uint32_t warp, const Clock& clock);

    /// A fence by lanes of a warp.
    void fence(uint32_t warp, Mask lanes, Scope scope, bool acquires, bool releases);
    /// Strong accesses of a thread. `keeps`: an atomic, which leaves what earlier writes left there too.
    /// True where the one learns and the other leaves something new.
    bool strong_read(uint32_t thread, const Place& place, uint8_t mode);
    bool strong_write(uint32_t thread, Place& place, uint8_t mode, bool keeps);

 private:
    struct Fenced {
        View view;
        uint32_t own = 0;  // the thread's own accesses up to this stamp
    };
    struct Thread {
        View known;
        std::array<View, kScopes> taken;
        std::array<Fenced, kScopes> fenced;
        View polled;  // what it took up last, so that a loop which waits does it once
        bool acquired = false;
    };
    uint32_t owner(Scope scope) const;
    View view_of(uint32_t warp, uint32_t lane) const;
    void leave(uint32_t warp, Views& views) const;
    void leave_fenced(uint32_t warp, uint32_t scope, uint32_t common, Views& views) const;
    void take(Thread& thread, const Views& views);
    void meet(uint32_t first, Mask lanes);
    void allocate_pairs();
    uint32_t agent_column(uint32_t rank, uint32_t agent) const { return ranks_ * warps_ + rank * kAgents + agent; }

    uint32_t now_ = 1, start_ = 1, block_seen_ = 0;
    uint32_t threads_ = 0, warps_ = 0, rank_ = 0, ranks_ = 1, number_ = 0;
    // The block's first column among those of its cluster, and how many those are: one a warp, then kAgents a block.
    uint32_t base_ = 0, total_ = 0;
    uint32_t first_scope_ = 0;  // of those that are followed
    bool flags_ = false, partial_ = false;
    bool dirty_ = false;             // what threads hand on has changed since they last met
    bool used_ = false;              // any of them has anything
    std::vector<uint32_t> numbers_;  // of the cluster's blocks
    std::vector<uint32_t> warp_seen_;
    // [warp][other of the cluster]: the other's accesses up to this stamp are ordered before this warp
    std::vector<uint32_t> pairs_;
    std::map<uint32_t, std::vector<uint32_t>> lanes_;  // warp → [lane][other], once lanes met in part
    std::vector<Thread> by_thread_;                    // with flags_
    uint32_t dirty_warps_ = 0;                         // whose lanes may differ in what they hand on
};

}  // namespace recuda::vgpu

// Asynchronous copies that have been issued and have not landed: of the blocks of a cluster, which copy to each other.
//
// A copy's source is read when it is issued; its bytes land at the wait that covers it, so that a thread which did not
// wait finds stale bytes, and memory/flight.cpp reports it. That wait is cp.async.wait_group or
// cp.async.bulk.wait_group of the issuing thread, or the first test of the mbarrier that the copy signals; what nobody
// waits for lands in global memory when the block has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "device/vgpu/memory/access.h"
#include "device/vgpu/memory/shared.h"
#include "device/vgpu/ops/atomic.h"

namespace recuda::vgpu {

/// Elements that are combined with what lies at the destination.
struct Reduction {
    Update update = nullptr;
    uint32_t bytes = 0;  // of an element; 0: a plain copy
};

/// One lane's copy. The bytes go to `shared` or to runs of global memory.
struct Transfer {
    struct Run {
        uint64_t address = 0;
        uint32_t at = 0, bytes = 0;  // in `data`
    };
    Warp* warp = nullptr;
    uint32_t lane = 0;
    const Instruction* in = nullptr;
    std::vector<std::byte> data;
    SharedMemory* shared = nullptr;
    uint32_t address = 0;
    uint32_t flight = SharedMemory::kNoFlight;  // at the destination
    uint32_t source = SharedMemory::kNoFlight;  // pinned in the issuer's shared memory
    std::vector<Run> runs;
    uint64_t low = 0, high = 0;  // bounds of the runs
    Reduction reduction;
    uint32_t signal_bytes = 0;  // what the mbarrier is told
    bool arrives = false;       // not a copy: the arrival of cp.async.mbarrier.arrive, after the lane's batches so far
    uint64_t order = 0;         // arrives: of the first batch that it does not wait for
    uint32_t group = 0;         // of the issuing thread's bulk groups
    SharedMemory::Clock clock;  // what its warp knew at the issue
};

/// The cp.async of one warp's lanes by one instruction.
struct Batch {
    static constexpr uint32_t kMost = 16;  // bytes a lane
    const Instruction* in = nullptr;
    Mask lanes = 0;
    uint32_t width = 0;
    uint64_t order = 0;
    uint32_t address[kLanes], group[kLanes], flight[kLanes];
    std::byte data[kLanes * kMost];
};

class Transfers {
 public:
    /// A cluster begins.
    void start();
    /// A block has ended: its stores land, in order.
    void finish(Block& block);

    /// A copy that the mbarrier at `barrier` of block `rank` is told of.
    void signal(uint32_t rank, uint64_t barrier, Transfer transfer);
    /// Lands the next copy, or carries out the next arrival, that this mbarrier waits for. False where there is none.
    bool land_next(uint32_t rank, uint64_t barrier);

    /// A copy of its thread's next bulk group.
    void collect(Transfer transfer);
    void commit(Warp& warp, Mask lanes);
    /// Lands all but the last `keep` groups of these lanes; where `sources`, their sources alone are free again.
    void wait(Warp& warp, Mask lanes, uint32_t keep, bool sources);

    /// cp.async and its groups.
    void collect(Warp& warp, std::unique_ptr<Batch> batch);
    void commit_async(Warp& warp, Mask lanes);
    void wait_async(Warp& warp, Mask lanes, uint32_t keep);
    uint64_t next_order() const { return order_; }

    /// Copies under way to global memory, and whether an access keeps away from them; false after a fault.
    uint32_t stores() const { return stores_; }
    bool clear_of(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width,
                  Intent intent) const;

 private:
    struct Groups {
        uint32_t committed = 0;
        std::deque<Transfer> pending;
    };
    struct WarpCopies {
        uint32_t committed[kLanes] = {};
        std::vector<std::unique_ptr<Batch>> pending;
    };
    using Key = std::pair<uint32_t, uint64_t>;  // rank, and thread, warp or address

    bool land_first(Groups& groups);
    static void land_batch(Warp& warp, Batch& batch, Mask lanes);
    bool land_signalled(Transfer& transfer, uint32_t rank, uint64_t barrier);
    void land_batches(Transfer& arrival, uint64_t barrier);

    std::map<Key, std::deque<Transfer>> signalled_;
    std::map<Key, Groups> groups_;
    std::map<Key, WarpCopies> copies_;
    uint64_t order_ = 0;
    uint32_t stores_ = 0;
    uint64_t bytes_ = 0;  // of pending transfers; past a bound the oldest land early, so that memory stays bounded
};

/// One lane reads or writes a run of global bytes, in pieces of at most 16 bytes at their own alignment; false after a
/// fault. Where `data` is null, a write is only checked, and counts as nothing.
bool read_run(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t bytes, std::byte* data);
bool write_run(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t bytes,
               const std::byte* data, const Reduction& reduction);

}  // namespace recuda::vgpu

// Shared memory of a block with a shadow that finds races, reads of what nobody wrote, and accesses between variables.
//
// The shadow keeps, for each granule (the program's smallest access, at most 4 bytes), the last write and the reads
// since as (thread, instruction, stamp); order.h says what is ordered before an access. An access is a race with an
// earlier one that is not ordered before it, when one of the two writes, unless both are atomic or volatile, or both
// write one same value. Constant memory an address, no false alarms; of more than two concurrent readers only the
// oldest stamp is kept, which can hide a race but not invent one. Where the last write is strong, a record beside it
// (Behind) keeps the plain write before it, which is no less unordered to others for it, and another thread's strong
// one.
//
// Stamps go on from block to block, so a new block starts without clearing: what lies before its first stamp is
// unwritten.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/vgpu/machine.h"
#include "device/vgpu/memory/order.h"
#include "device/vgpu/memory/pattern.h"

namespace recuda::vgpu {

class Program;
struct Warp;

/// Stamps of granules that are no time.
inline constexpr uint32_t kGapStamp = 0xffffffffu;   // between variables
inline constexpr uint32_t kPeerStamp = 0xfffffffeu;  // touched by another block: see the granule's PeerShadow
/// A copy is on its way: write_who_ or, of what it reads, read_who_ is the number of its Flight.
inline constexpr uint32_t kFlightStamp = 0xfffffffdu;
inline constexpr uint32_t kNobody = 0xffffffffu;
inline constexpr uint32_t kThreadBits = 10;                           // who = thread | instruction << kThreadBits
inline constexpr uint32_t kMostWarps = (1u << kThreadBits) / kLanes;  // of a block

/// Threads that stand for each other where an asynchronous product has read: one's wait is enough for all.
inline constexpr uint32_t kProductThreads = 128;

inline uint32_t thread_of(uint32_t who) { return who & ((1u << kThreadBits) - 1); }
inline uint32_t instruction_of(uint32_t who) { return who >> kThreadBits; }

struct Block;

class SharedMemory {
 public:
    using Clock = Order::Clock;
    using Places = Order::Places;

    /// What arrivals at an mbarrier have left: at its current phase and at the one before. And by warp of its block the
    /// lanes that have been told once that the current phase is not over.
    struct PhaseClocks {
        Clock gathered, met;
        std::array<Mask, kMostWarps> told{};
    };
    std::map<uint64_t, PhaseClocks> phase_clocks;  // by address

    /// For blocks of this program with so many dynamic bytes, whose threads `order` orders.
    void prepare(const Program& program, uint32_t dynamic_bytes, Order& order, bool checks);
    /// A new block begins: nothing is written. To be called when `order` has begun. `restarted`: its clock too.
    void begin(bool restarted);
    /// Before begin(): the block is `rank` of a cluster of `ranks`, whose strong accesses leave what they hand on in
    /// `places`.
    void join_cluster(uint32_t rank, uint32_t ranks, Places* places);

    std::byte* data() { return bytes_.data(); }
    uint32_t size() const { return bytes_.size(); }

    /// Checks a read of lanes and notes it; false after a fault. Addresses count from 0. Then data() + address is the
    /// host's.
    bool read(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width,
              const Pattern& pattern);
    /// Checks and carries out a write: lane i's bytes are at values + i * 32.
    bool write(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width,
               const Pattern& pattern, const std::byte* values);
    /// Checks and notes one lane's atomic access; false after a fault.
    bool atomic(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t width);

    /// One lane's access from another block of the cluster, or from this one to a place that another one has touched:
    /// bounds, initialisation and races as above; false after a fault. `values` are what a write will write, null for
    /// an atomic. (peer.cpp)
    bool check_peer(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t width, bool reads,
                    bool writes, const std::byte* values);
    /// For reads that are not a thread's own (operands of asynchronous products): checks that `width` bytes, at most a
    /// line of 16, lie in a variable, are written, and were written before this instruction of `warp`; nothing is
    /// noted. False after a fault. (operand.cpp)
    bool read_operand(Warp& warp, const Instruction& in, uint64_t address, uint32_t width);
    /// The time now; what is written later has a later stamp.
    uint32_t mark();
    /// A warp has waited for `read`, an asynchronous product of its warpgroup: reports a write to bytes of its operands
    /// after `mark`, and notes them as read now. Who is ordered behind any warp of the group from now on may write
    /// them.
    bool end_read(Warp& warp, const Instruction& read, uint64_t address, uint32_t width, uint32_t mark);

    /// The block has ended: reports an access by another block that is not ordered before it.
    void check_left(Block& owner);
    /// An address that this block's threads use for shared memory of the cluster, its rank made explicit.
    uint64_t cluster_address(uint64_t address) const;

    /// Whether these bytes lie in a variable and have been written.
    bool holds(uint64_t address, uint32_t width) const;

    /// What strong accesses have left at an address of shared memory, of this block or, with a rank, of its cluster.
    Order::Place& place(uint64_t address) { return (*places_)[cluster_address(address)]; }

    /// Name and offset of the variable nearest to an address.
    std::pair<std::string, int64_t> name_of(uint64_t address) const;

    // Asynchronous copies (flight.cpp). Without checks nothing is in flight.

    /// What an asynchronous copy does to a run of bytes: it is under way until it has landed.
    struct Flight {
        uint32_t from = 0, to = 0;
        uint32_t rank = 0, thread = 0;  // who has issued it
        const Instruction* in = nullptr;
        uint32_t line = 0, stamp = 0;  // of the issue, in the clock of the issuer's block
        uint32_t sent_at = 0;          // the same in the clock of this one
        bool landed = false;
        uint32_t agent = 0, landed_at = 0;  // who knows this block's agent up to then has waited for it
        uint32_t granules = 0;              // that still name it; 0: free
        const std::byte* data = nullptr;    // what it writes, as long as it has not landed
    };
    static constexpr uint32_t kNoFlight = 0xffffffffu;

    /// One lane, of this block or of another, issues a copy to these bytes: checked as a write of it, and in flight
    /// from then on. `data` stays until it lands. False after a fault; `flight` is kNoFlight without checks.
    bool send(Warp& warp, const Instruction& in, uint32_t lane, uint32_t address, uint32_t bytes, const std::byte* data,
              uint32_t* flight);
    /// One lane of this block issues a copy from these bytes: checked as a read, where `used` is not empty only of the
    /// pieces of 16 bytes that it names; until `unpin` nobody may write them.
    bool pin(Warp& warp, const Instruction& in, uint32_t lane, uint32_t address, uint32_t bytes,
             const std::vector<bool>& used, uint32_t* flight);
    /// One lane issues a reduction of elements of these bytes: checked as atomics. False after a fault.
    bool check_reduction(Warp& warp, const Instruction& in, uint32_t lane, uint32_t address, uint32_t bytes,
                         uint32_t element);
    /// The copy has read its source. Where its thread `waited`, that is an access of now, else one of the issue.
    void unpin(uint32_t flight, bool waited);
    /// The bytes arrive, as a write of the issuing thread, which has waited for them.
    void land_own(uint32_t flight, const std::byte* data, uint32_t address, uint32_t bytes);
    /// The bytes arrive and are ordered before who takes up `clock`, an mbarrier's; `barrier` is its address.
    void land_signalled(uint32_t flight, const std::byte* data, uint32_t address, uint32_t bytes, uint64_t barrier,
                        Clock& clock);
    /// What a warp knows now, to be handed on later.
    Clock clock_of(uint32_t warp);
    /// After a barrier of the whole block: landed copies that all of it knows are plain writes of the past.
    void settle_flights();

 private:
    struct Region {
        uint32_t from, to;
        std::string name;
    };
    /// Reports a read of what nobody has written; false.
    bool unwritten(Warp& warp, const Instruction& in, Mask lanes, uint64_t address, uint32_t width);
    bool check_lane(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t width, bool reads,
                    bool writes, const std::byte* values);
    bool out_of_bounds(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width);
    bool race(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t width, uint32_t who,
              bool writes);
    bool awaited(const Order& order, uint32_t thread, const Flight& flight) const;
    bool writes_the_same(const Flight& flight, uint64_t address, uint32_t width, const std::byte* values) const;
    bool flight_race(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t width,
                     const Flight& flight, bool reads_source);
    uint32_t take_off(const Warp& warp, const Instruction& in, uint32_t lane, uint32_t address, uint32_t bytes);
    void forget_flight(uint32_t flight);
    bool strong(uint32_t who) const;
    bool read_before(uint32_t thread, uint32_t who, uint32_t stamp) const;
    bool observed(uint32_t granule, uint32_t thread) const;
    uint32_t behind_race(const Instruction& in, uint32_t thread, uint32_t granule) const;
    void note_write(const Instruction& in, uint32_t thread, uint32_t granule, bool reads);
    void note_read(uint32_t granule, uint32_t who, Mask warps);
    void note_product(uint32_t granule, uint32_t who);
    uint32_t behind_product(uint32_t thread, uint32_t granule) const;
    bool misplaced(uint64_t address, uint32_t width) const;
    bool in_gap(uint64_t address, uint32_t width) const;

    /// An access that concerns more than one block. Its stamp is of the clock of the thread's own block.
    struct PeerAccess {
        uint32_t rank = 0, thread = 0;
        const Instruction* at = nullptr;
        uint32_t line = 0, stamp = 0;
        uint32_t threads = 1;  // from `thread` on, of which any one may have done it
    };
    /// A granule that another block has touched: the last write and the reads since, the last one of each warp.
    struct PeerShadow {
        PeerAccess write;
        std::vector<PeerAccess> reads;
    };
    PeerShadow& peer_shadow(uint32_t granule);
    void peer_race(Warp& warp, const PeerAccess& mine, const PeerAccess& before, uint64_t address, uint32_t width,
                   bool writes);

    const Program* program_ = nullptr;
    bool checks_ = true;
    uint32_t shift_ = 2;  // log2 of the granule
    std::vector<std::byte> bytes_;
    std::vector<Region> regions_;
    std::vector<uint32_t> write_stamp_, write_who_, read_stamp_, read_who_, read_other_, read_warps_;
    /// What a granule's last write, a strong one, does not tell (behind.cpp). A stamp of 0: nothing.
    struct Behind {
        struct Record {
            uint32_t who = kNobody, stamp = 0;
        };
        Record plain;     // the plain write before it
        Record older;     // a strong one before it that it neither was ordered behind nor has read
        Record observer;  // the last strong read since
    };
    std::vector<Behind> behind_;  // by granule, once there was a strong access
    Order* order_ = nullptr;
    /// Warpgroups whose asynchronous products have read a granule since its read_stamp_ was `stamp`: bit i for the
    /// i-th.
    struct Products {
        uint32_t stamp = 0, groups = 0, instruction = 0;
    };
    std::vector<Products> products_;  // by granule, once there was such a product
    uint32_t rank_ = 0, ranks_ = 1;
    Places own_places_;                               // what strong writes have left
    Places* places_ = &own_places_;                   // the same of the whole cluster
    std::unordered_map<uint32_t, PeerShadow> peers_;  // by granule, in clusters
    std::vector<Flight> flights_;
    std::vector<uint32_t> free_flights_, landed_;
};

}  // namespace recuda::vgpu

// Shared memory of a block with a shadow that finds races, reads of what nobody wrote, and accesses between variables.
//
// The shadow keeps, for each granule (the program's smallest access, at most 4 bytes), the last write and the reads
// since as (thread, instruction, stamp). Stamps are a clock of the block that ticks at every synchronisation. What
// thread t has been ordered behind is known by stamps too: all of the block up to block_seen, its warp's lanes up to
// warp_seen, and after partial barriers other warps up to a matrix entry. An access is a race with an earlier one that
// is not ordered before it, when one of the two writes, unless both are atomic or volatile, or both write one same
// value. Constant memory an address, no false alarms; of more than two concurrent readers only the oldest stamp is
// kept, which can hide a race but not invent one.
//
// Stamps go on from block to block, so a new block starts without clearing: what lies before its first stamp is
// unwritten.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/vgpu/machine.h"
#include "device/vgpu/memory/pattern.h"

namespace recuda::vgpu {

class Program;
struct Warp;

/// Mode bits of memory instructions: set by the decoder, read by the race checks.
inline constexpr uint8_t kStrong = 0x80;    // atomic, volatile, relaxed …: does not race with its like
inline constexpr uint8_t kWideBase = 0x40;  // the address register has 64 bits
inline constexpr uint8_t kReleases = 0x20;  // orders what came before it
inline constexpr uint8_t kAcquires = 0x10;  // orders what comes after it

class SharedMemory {
 public:
    /// For blocks of this program with so many dynamic bytes and warps.
    void prepare(const Program& program, uint32_t dynamic_bytes, uint32_t warps, bool checks);
    /// A new block begins: nothing is written, nobody has synchronised.
    void begin();

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

    /// All live threads of the block met.
    void sync_block();
    /// The lanes of a warp met.
    void sync_warp(uint32_t warp, Mask lanes, Mask alive);
    /// A barrier that only some take part in: an arriving warp leaves its clock with the barrier, a waiting one takes
    /// it up.
    struct Clock {
        std::vector<uint32_t> seen;  // by warp
    };
    void release(uint32_t warp, Clock& clock);
    void acquire(uint32_t warp, const Clock& clock);

    /// A fence of a warp, and its strong (atomic, volatile, relaxed) accesses to a place of any memory: a place written
    /// behind a fence hands on what came before the fence to whoever reads it and then fences. Locks and flags are made
    /// of these.
    void fence(uint32_t warp);
    void strong_access(uint32_t warp, uint64_t place, bool reads, bool writes, uint8_t mode);

    /// Name and offset of the variable nearest to an address.
    std::pair<std::string, int64_t> name_of(uint64_t address) const;

 private:
    struct Region {
        uint32_t from, to;
        std::string name;
    };
    bool in_order(uint32_t warp, uint32_t thread, uint32_t who, uint32_t stamp) const;
    bool check_lane(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t width, bool reads,
                    bool writes, const std::byte* values);
    bool out_of_bounds(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width);
    bool race(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t width, uint32_t who,
              bool writes);
    void note_read(uint32_t granule, uint32_t who, uint32_t warp);
    bool misplaced(uint64_t address, uint32_t width) const;
    bool in_gap(uint64_t address, uint32_t width) const;

    const Program* program_ = nullptr;
    bool checks_ = true;
    uint32_t shift_ = 2;  // log2 of the granule
    std::vector<std::byte> bytes_;
    std::vector<Region> regions_;
    std::vector<uint32_t> write_stamp_, write_who_, read_stamp_, read_who_, read_other_, read_warps_;
    uint32_t now_ = 1, start_ = 1, block_seen_ = 0;
    std::vector<uint32_t> warp_seen_;
    uint32_t warps_ = 0;
    bool partial_ = false;         // pairs_ holds something for this block
    std::vector<uint32_t> pairs_;  // [warp][other]: the other's accesses up to this stamp are ordered before this warp
    std::vector<Clock> fenced_;    // by warp: what its next strong write hands on
    std::vector<Clock> taken_;     // by warp: what its strong reads have seen since its last fence
    std::map<uint64_t, Clock> places_;                 // what strong writes have left
    std::map<uint32_t, std::vector<uint32_t>> lanes_;  // warp → [lane][other], once lanes met in part
};

}  // namespace recuda::vgpu

// Races in global memory, between the threads of a block and between blocks, by happens-before: two accesses of one
// byte race where no barrier, fence or flag orders them (order.h), one of them writes, and not both are strong with
// scopes that name each other. It does not matter which of them ran first. Two writes of one same value are no race.
//
// The shadow of a buffer (race_shadow.h) is constant memory an address, as in HiRace (arXiv 2401.04701): of several
// unordered reads two are kept, of different blocks where there are such, and two strong writes. That can hide a race,
// not invent one.
//
// A Triton program is sequential, but where it has fewer elements than threads all of them load and one stores: late
// loads race with the store by PTX's letter, and nobody uses their values. So in what Triton has compiled a plain read
// and a plain write by threads of one block are no race where the writer had read the bytes by the reader's instruction
// before. Buffers that a launch cannot write (written.h) are not followed at all.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "device/vgpu/memory/access.h"
#include "device/vgpu/memory/events.h"
#include "device/vgpu/memory/order.h"
#include "device/vgpu/memory/stripes.h"

namespace recuda::vgpu {

class GlobalMemory;
class Program;
struct Buffer;

class GlobalRaces {
 public:
    /// A launch of so many blocks begins; `parallel`: on several host threads.
    void begin(GlobalMemory& memory, const Program& program, uint64_t blocks, bool parallel);
    /// The number of the launch's first block; the others follow.
    uint32_t first_block() const { return first_; }

    /// Holds the locks for an access, where there is need of locks.
    void hold(StripesHeld& held, const uint64_t* address, Mask active, uint32_t width, const Pattern& pattern);
    /// Checks the lanes' access of a buffer and notes it; false after a fault. The locks of its pages are held.
    bool check(Warp& warp, const Instruction& in, Buffer& buffer, const uint64_t* address, Mask active, uint32_t width,
               Intent intent, const Pattern& pattern, const WrittenValues* values, StripesHeld& held);
    /// What strong writes have left at an address, whose lock is held.
    Order::Place& place(uint64_t address) { return places_[Stripes::of(address)][address]; }
    const Order::Place* find_place(uint64_t address) const;

 private:
    uint32_t event(const Warp& warp, const Instruction& in, StripesHeld& held);
    template <typename F>
    void exclusively(StripesHeld& held, F body);
    void forget();

    GlobalMemory* memory_ = nullptr;
    bool parallel_ = false;
    bool replicas_ = false;  // the program is Triton's
    uint32_t first_ = 1, next_ = 1;
    uint32_t first_cell_ = 1;
    Events events_;
    Stripes stripes_;
    std::array<Order::Places, Stripes::kCount> places_;
};

}  // namespace recuda::vgpu

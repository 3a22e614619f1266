// Locks of global memory for blocks that run on several host threads: whoever checks an access holds the locks of its
// pages until the access is done, so that what a check finds does not depend on how host threads interleave.
#pragma once

#include <bit>
#include <cstdint>
#include <mutex>
#include <utility>

namespace recuda::vgpu {

class Stripes {
 public:
    static constexpr uint32_t kCount = 64, kPageShift = 12;
    using Set = uint64_t;

    static uint32_t of(uint64_t address) {
        return static_cast<uint32_t>((address >> kPageShift) * 0x9e3779b97f4a7c15u >> 58);
    }
    /// Those of the pages of `bytes` bytes.
    static Set of(uint64_t address, uint64_t bytes) {
        Set set = 0;
        for (uint64_t page = address >> kPageShift; page <= (address + bytes - 1) >> kPageShift; ++page)
            set |= Set{1} << of(page << kPageShift);
        return set;
    }

    void lock(Set set) {
        for (; set != 0; set &= set - 1) stripes_[std::countr_zero(set)].mutex.lock();
    }
    void unlock(Set set) {
        for (; set != 0; set &= set - 1) stripes_[std::countr_zero(set)].mutex.unlock();
    }

 private:
    struct alignas(64) Stripe {
        std::mutex mutex;
    };
    Stripe stripes_[kCount];
};

/// Holds locks of some pages, or none.
class StripesHeld {
 public:
    StripesHeld() = default;
    StripesHeld(const StripesHeld&) = delete;
    ~StripesHeld() { release(); }

    void hold(Stripes& stripes, Stripes::Set set) {
        release();
        stripes.lock(set);
        stripes_ = &stripes;
        set_ = set;
    }
    void release() {
        if (set_ != 0) stripes_->unlock(std::exchange(set_, 0));
    }
    Stripes::Set set() const { return set_; }

 private:
    Stripes* stripes_ = nullptr;
    Stripes::Set set_ = 0;
};

}  // namespace recuda::vgpu

// Many copies of a case's buffers behind one another: what timing rotates through, so that nothing it reads lies in the
// L2.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "judge/cases.h"

namespace recuda {

/// Sets of a workload's buffers. All sets of one tensor lie in one buffer, at multiples of 256 bytes.
class Ring {
 public:
    /// `l2_bytes` is exceeded three times by all sets together, as far as 4 GiB allow; at least two sets.
    Ring(const Task& task, Device& device, const Case& contents, uint64_t l2_bytes);

    size_t sets() const { return sets_; }
    bool is_cold() const { return cold_; }
    /// The first of `count` sets that no timing has used for longest.
    size_t take(size_t count);
    /// Also under the names by which a timed reference knows them: `res_out` of an inout `res`, and auxiliary tensors
    /// (one for all sets).
    Places places(size_t set) const;
    /// Poisons all outputs, and puts inout tensors of `count` sets from `first` on (round the ring) in their first
    /// state.
    void reset(size_t first, size_t count, std::byte poison);
    /// Rows of the written tensors of one set.
    Outputs read(size_t set) const;

 private:
    void write(const std::string& name, size_t first, size_t count);

    const Task& task_;
    Device& device_;
    Axes axes_;
    InputContents contents_;
    Buffers buffers_;
    std::map<std::string, uint64_t, std::less<>> strides_;  // bytes from one set to the next; 0: one for all
    size_t sets_ = 2, next_ = 0;
    bool cold_ = false;
};

}  // namespace recuda

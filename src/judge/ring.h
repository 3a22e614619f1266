// Many copies of a workload's buffers: what timing rotates through, so that nothing it reads lies in the L2.
//
// The sets hold several inputs in turn, so that the set before and the set after any other have another right answer,
// and so have as many sets in a row as there are inputs. Where the sets of a tensor lie in memory is an order of its
// own, chosen at random: nothing is to be found a step further on.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "judge/cases.h"

namespace recuda {

/// Sets of a workload's buffers. All sets of one tensor lie in one buffer, at multiples of 256 bytes.
class Ring {
 public:
    /// `variants` are the inputs, at least one. `l2_bytes` is exceeded four times by all sets together, as far as 4 GiB
    /// allow; at least two sets and one for each input.
    Ring(const Task& task, Device& device, const Axes& axes, const std::vector<const InputContents*>& variants,
         uint64_t l2_bytes);

    size_t sets() const { return sets_; }
    size_t variants() const { return variants_; }
    size_t variant(size_t set) const { return set % sets_ % variants_; }
    /// More than three times the L2 together.
    bool is_cold() const { return cold_; }
    /// The first of `count` sets that no timing has used for longest.
    size_t take(size_t count);
    /// Also under the names by which a timed reference knows them: `res_out` of an inout `res`, and auxiliary tensors
    /// (one for all sets).
    Places places(size_t set) const;
    /// Poisons the outputs of `count` sets from `first` on (round the ring), and puts their inout tensors in their
    /// first state.
    void reset(size_t first, size_t count, std::byte poison);
    /// Rows of the written tensors of one set.
    Outputs read(size_t set) const;
    /// Where the written tensors of a set lie, in the order of written_tensors, with the first state of inout ones; the
    /// hashes are left to be filled in.
    std::vector<TimedOutput> outputs(size_t set) const;
    /// The first input of any set that is no longer as it was, "" where all are.
    std::string changed_input() const;

 private:
    uint64_t bytes(const TensorSpec& tensor) const;
    uint64_t offset(std::string_view name, size_t set) const;
    void write_all(const TensorSpec& input, const std::vector<const InputContents*>& variants);

    const Task& task_;
    Device& device_;
    Axes axes_;
    Buffers buffers_;
    std::map<std::string, uint64_t, std::less<>> strides_;  // bytes from one place to the next; 0: one for all
    std::map<std::string, std::vector<uint32_t>, std::less<>> order_;  // place of each set
    std::map<std::string, uint64_t, std::less<>> hashes_;              // of the inputs' buffers as they were written
    std::vector<std::map<std::string, std::vector<std::byte>, std::less<>>> originals_;  // of inout tensors, by variant
    size_t sets_ = 2, variants_ = 1, next_ = 0;
    bool cold_ = false;
};

}  // namespace recuda

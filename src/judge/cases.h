// Cases: one workload with one input each, its buffers on the device, and what is right for it. They are made once and
// kept for all candidates of a session, because inputs and answers cost more than judging one candidate by them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "judge/acceptance.h"
#include "judge/inputs.h"
#include "judge/reference.h"
#include "judge/run.h"

namespace recuda {

struct Case {
    explicit Case(Device& device) : buffers(device), moved(device) {}

    Axes axes;
    Battery battery = Battery::normal;
    unsigned variant = 0;
    InputContents inputs;
    std::map<std::string, uint64_t, std::less<>> hashes;  // of the inputs' buffers
    Buffers buffers;  // inputs and outputs, guarded after their ends; empty: not on the device
    Buffers moved;    // the same guarded before their beginnings; made when it is asked for
    Outputs answers;  // the reference's, of tensors that outputs are judged by: scores of a choice, the choice itself
    std::map<std::string, Expected, std::less<>> expected;  // by written tensor
    std::map<std::string, OwnError, std::less<>> own;       // the trusted implementation's, where there is one
    double trusted_ns = 0;                                  // its time on the device; 0: unknown
    uint64_t last_use = 0;

    uint64_t bytes() const;
};

class Cases {
 public:
    /// `trusted` is the op's plain seed for these workloads, or null; it must live as long.
    Cases(const Task& task, Device& device, Reference& reference, uint64_t seed);

    /// The program whose own errors bound others'. Only workloads that it was built for have one.
    void trust(std::unique_ptr<LoadedProgram> trusted);

    /// The case, complete and on the device. `variant` tells inputs of one kind apart: each has data of its own, or is
    /// another part. Throws Error where the reference does not run or the trusted implementation is wrong.
    Case& at(const Axes& axes, Battery battery, unsigned variant = 0);
    /// Its other buffers, with the inputs in them.
    Buffers& moved(Case& one);

    /// Puts a case's buffers in the state that a run must find: inout tensors as they were, outputs `poison` and
    /// uninitialised.
    void reset(Case& one, std::byte poison);
    /// Whole buffers of the written tensors.
    Outputs read_written(const Buffers& buffers, const Axes& axes);
    Outputs read_written(Case& one) { return read_written(one.buffers, one.axes); }
    /// The first input that is no longer as it was, "" where all are; it is put right.
    std::string changed_input(Case& one) { return changed_input(one, one.buffers); }
    std::string changed_input(Case& one, const Buffers& buffers);

    /// Judges outputs (dense rows) by every criterion; null `own` where the trusted implementation's errors must not
    /// count.
    Finding judge(const Case& one, const Outputs& outputs, const std::map<std::string, OwnError, std::less<>>& own);

    /// What outputs (dense rows) add to the criterion `bias` over several cases, by tensor.
    std::map<std::string, BiasSums> biases(const Case& one, const Outputs& outputs) const;

    /// Drops what was used longest ago until what is kept fits the budget.
    void trim();
    /// The device's process is gone: buffers are made again when they are needed.
    void forget();
    /// All cases are dropped; those made from now on have inputs of this seed.
    void reseed(uint64_t seed);

 private:
    void load(Case& one, Buffers& buffers, Guard guard);
    void answer(Case& one);
    void measure_trusted(Case& one);
    Expected expected_of(const Case& one, const TensorSpec& spec, const Tensor& answer) const;
    Finding judge_one(const Case& one, const TensorSpec& spec, const Outputs& outputs, const OwnError* own);
    Expected given_other(const Case& one, const TensorSpec& spec, const Tensor& chosen);

    const Task& task_;
    Device& device_;
    Reference& reference_;
    std::unique_ptr<LoadedProgram> trusted_;
    uint64_t seed_;
    uint64_t uses_ = 0;
    std::map<std::tuple<Axes, Battery, unsigned>, std::unique_ptr<Case>> cases_;
    std::vector<std::byte> read_back_;  // of inputs, kept because a fresh page costs more than its bytes
};

/// Rows of every written tensor, without what lies between them.
Outputs dense_outputs(const Task& task, const Axes& axes, const Outputs& buffers);

}  // namespace recuda

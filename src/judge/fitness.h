// Whether this machine is fit to prove: what it said of kernels that were compared with copies of themselves.
//
// After each kProofsPerTest proofs the baseline is proven against its copy before
// the next. A machine that calls such a pair FASTER or
// SLOWER has noise that sessions do not average out; until it passes such a test its comparisons are INCONCLUSIVE and
// say why. Kept in a file of the cache folder, {"MACHINE": {"proofs", "since_test", "tested", "unfit"}}, because proofs
// of one machine are spread over many runs.
#pragma once

#include <filesystem>
#include <string>

#include "evaluation/evaluation.h"

namespace recuda {

inline constexpr int kProofsPerTest = 20;

class Fitness {
 public:
    /// `machine` names the device and its driver. A file that cannot be read counts as none.
    Fitness(std::filesystem::path file, std::string machine) : file_(std::move(file)), machine_(std::move(machine)) {}

    /// Whether the next proof needs a test before it: after each kProofsPerTest, and always while the machine is unfit.
    bool test_is_due() const;
    /// A test gave this comparison of two equal kernels over all workloads.
    void tested(const Comparison& comparison) const;
    /// One more proof was made.
    void proven() const;
    /// Why nothing can be proven here, "" where it can.
    std::string unfit() const;

 private:
    struct Record {
        int proofs = 0, since_test = 0;
        std::string tested, unfit;
    };
    Record record() const;
    template <typename Change>
    void change(Change how) const;

    std::filesystem::path file_;
    std::string machine_;
};

}  // namespace recuda

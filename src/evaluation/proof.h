// The raw record of a proof: every sample of every session with its clock, the order in which they were taken and the
// seeds of their inputs, so that its verdict can be computed again anywhere.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace recuda {

/// One workload in one session. Sample i of the candidate and of the baseline are a pair. Blocks of
/// Proof::block_samples were taken in the order A B B A A B B A …, A being who began.
struct ProofSession {
    uint64_t seed = 0;            // of the session's inputs
    bool baseline_began = false;  // else the candidate
    std::vector<double> candidate_ns, baseline_ns;
    std::vector<double> candidate_clock_mhz, baseline_clock_mhz;  // SM clock beside each sample; may be empty
    double log_ratio = 0;                                         // median over the pairs of log(baseline / candidate)
};

struct WorkloadProof {
    std::map<std::string, int64_t, std::less<>> axes;
    std::string method, baseline_method;
    std::vector<ProofSession> sessions;
};

/// A candidate against one baseline.
struct Proof {
    std::string baseline;
    size_t promotion = 1;        // of its run, from 1
    double level = 0;            // chance of either bound of an interval to be wrong
    double margin = 0;           // ratios nearer to one are no difference
    uint32_t block_samples = 0;  // taken at a time
    size_t voided = 0;           // sessions in which the card changed, which were taken again
    std::string unfit;           // why this machine proves nothing; "" where it does
    std::vector<WorkloadProof> workloads;
};

nlohmann::json to_json(const Proof& proof);
/// Throws what nlohmann-json throws for JSON that is no proof.
Proof proof_from_json(const nlohmann::json& json);

}  // namespace recuda

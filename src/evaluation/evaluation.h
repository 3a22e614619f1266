// What the judge found of one candidate on one device, as plain data with a JSON form: one line of evaluations.jsonl.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/proof.h"
#include "kernel/binary.h"
#include "kernel/candidate.h"
#include "kernel/facts.h"
#include "kernel/outcome.h"
#include "kernel/report.h"

namespace recuda {

/// One workload of a verification: axes and the input of the battery that came out worst.
struct WorkloadVerdict {
    std::map<std::string, int64_t, std::less<>> axes;
    Outcome outcome = Outcome::correct;
    double max_error = 0;  // largest error in units of its own scale, NaN or infinite where a result is or should be …
    double bound = 0;  // … and the bound it must not exceed, for the criterion that came nearest to failing (or failed)
    std::string input;   // the battery's name of that input: "normal", "special" …
    std::string detail;  // of a failure: tensor, row, element, seen and wanted value, criterion
};

/// What was found about correctness: data, never an exception.
struct Verdict {
    Outcome outcome = Outcome::correct;
    std::vector<WorkloadVerdict> workloads;
    std::vector<Report> reports;
    std::vector<std::string>
        left_out;     // workloads that the virtual GPU leaves out for their size, as "T=2048, V=131072"
    std::string log;  // what a person or a model needs to mend it; bounded
};

/// What the virtual GPU said of a candidate before a card was asked: its small workloads with every input. Only `wrong`
/// and `faulted` turn a candidate down.
struct Filtered {
    std::string device;  // "vgpu sm_90"
    Outcome outcome = Outcome::correct;
    bool complete = true;  // false: the time for it was over before every input had been tried
    std::vector<WorkloadVerdict> workloads;
    std::vector<Report> reports;
    std::string log;
    std::optional<double> estimate;  // from counters: a number to rank by
    double seconds = 0;
    std::string profile{};  // goes into the evaluation

    bool turns_down() const { return outcome == Outcome::wrong || outcome == Outcome::faulted; }
};

/// Times of one workload: samples and their statistics. Unstable ones say why; never silently empty.
struct Measurement {
    std::map<std::string, int64_t, std::less<>> axes;
    std::vector<double> samples_ns;
    double median_ns = 0, low_ns = 0, high_ns = 0;  // low, high: 95 % interval of the median by order statistics
    int64_t bytes = 0;                              // least traffic of the op
    double bytes_per_ns = 0;                        // that traffic over the median: GB/s
    std::optional<double>
        share_of_peak;              // of the memory bandwidth measured when the session began; none where it was not
    double clock_mhz = 0;           // median SM clock, 0 where unknown
    std::optional<double> warm_ns;  // median of runs on the same data again; the others' data is cold
    std::vector<double> warm_samples_ns;
    double floor_ns = 0;   // what no right program can go below by much, 0 where unknown …
    std::string floor_of;  // … by "memory" or "arithmetic"
    std::string method;
    std::string unstable;  // "" or the reason
};

enum class Comparing { faster, slower, equivalent, inconclusive };
std::string_view name(Comparing outcome);  // "FASTER" …

/// A candidate against a baseline: ratio = baseline time / candidate time, with its interval.
struct Comparison {
    std::string baseline;  // "plain", "reference" …
    Comparing outcome = Comparing::inconclusive;
    double ratio = 0, low = 0, high = 0;
    std::map<std::string, int64_t, std::less<>> axes;  // empty: over all bench workloads (geometric mean)
    std::string evidence;                              // how: "screening: medians of 30 samples, one session" …
    bool proof = false;         // by sessions with new data; else a screening, which claims nothing
    std::optional<bool> ships;  // of a proof over all workloads: FASTER on the whole and nowhere slower by 2 %
};

/// The times behind one workload's comparison: sample i of the candidate and of the baseline belong together.
struct BaselineMeasurement {
    std::string baseline;
    Measurement measurement;                   // of the baseline
    std::vector<double> candidate_samples_ns;  // taken in turns with the baseline's
};

/// Verdict, measurement and environment of one candidate on one device.
struct Evaluation {
    std::string id;  // of this line: "<run>-<number>"
    std::string digest, task;
    Outcome outcome = Outcome::correct;
    Origin origin = Origin::user;
    std::string parent;    // what it was made from
    std::string step;      // of the search that made it: "propose", "repair" …; "" where its origin says all
    std::string file;      // the candidate's own file, relative to the run directory: "candidates/<digest>.cu"
    std::string language;  // "cuda", "triton"
    std::string idea;
    Point tunables;
    std::string device;  // "vgpu sm_90", "cuda NVIDIA H200 sm_90"
    std::string target;
    Verdict verdict;
    std::optional<Filtered> filter;         // where a filter came first; the verdict is its own where it turns down
    Resources resources;                    // of the entry that uses most registers
    Facts facts;                            // what its code does
    std::string profile;                    // what the virtual GPU counted, in words: hot lines, occupancy, advice
    std::vector<Measurement> measurements;  // one a bench workload; empty where the device does not measure time
    std::optional<double> median_ns;        // geometric mean of the bench workloads' medians
    std::optional<double>
        estimate;  // from counters, where the device does not measure time: a number to rank by, not a time
    std::vector<Comparison> comparisons;
    std::vector<BaselineMeasurement> baseline_measurements;  // one a baseline and workload of `comparisons`
    std::vector<Proof> proofs;                               // raw samples of the comparisons that are proofs
    std::string stage;                                       // how far it was judged: "screen", "whole"
    double build_seconds = 0, judge_seconds = 0;
    double verify_seconds = 0, measure_seconds = 0;  // parts of judge_seconds
    uint64_t seed = 0;                               // of the inputs it was judged with: `--seed` gives them again
    std::string when;                                // UTC, "2026-11-30T11:02:33Z"
};

nlohmann::json to_json(const WorkloadVerdict& workload);
nlohmann::json to_json(const Measurement& measurement);
nlohmann::json to_json(const Comparison& comparison);
nlohmann::json to_json(const BaselineMeasurement& baseline);
nlohmann::json to_json(const Filtered& filtered);
nlohmann::json to_json(const Evaluation& evaluation);
nlohmann::json to_json(const Resources& resources);

/// The reverse of to_json; throws Error for JSON that is no evaluation.
Evaluation evaluation_from_json(const nlohmann::json& json);

/// "2026-11-30T11:02:33Z"
std::string utc_now();

/// Whether `a` ranks before `b`: correct before others, then by median_ns, else by estimate.
bool ranks_before(const Evaluation& a, const Evaluation& b);

}  // namespace recuda

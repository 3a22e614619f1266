#include "evaluation/evaluation.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace recuda {
namespace {

constexpr std::array<std::string_view, 4> kComparings{"FASTER", "SLOWER", "EQUIVALENT", "INCONCLUSIVE"};

Comparing comparing_named(std::string_view name) {
    const auto found = std::find(kComparings.begin(), kComparings.end(), name);
    if (found == kComparings.end()) throw Error("there is no comparison {}", name);
    return static_cast<Comparing>(found - kComparings.begin());
}

template <typename T>
Json array_of(const std::vector<T>& all) {
    Json array = Json::array();
    for (const T& one : all) array.push_back(to_json(one));
    return array;
}

Json optional_number(const std::optional<double>& value) { return value ? json_number(*value) : Json(nullptr); }

std::optional<double> optional_number(const Json& json) {
    if (json.is_null()) return std::nullopt;
    return number_from_json(json);
}

Resources resources_from_json(const Json& json) {
    Resources resources;
    json.at("registers").get_to(resources.registers);
    json.at("spill_bytes").get_to(resources.spill_bytes);
    json.at("shared_bytes").get_to(resources.shared_bytes);
    json.at("local_bytes").get_to(resources.local_bytes);
    json.at("barriers").get_to(resources.barriers);
    return resources;
}

WorkloadVerdict workload_from_json(const Json& json) {
    WorkloadVerdict workload;
    json.at("axes").get_to(workload.axes);
    workload.outcome = outcome_named(json.at("outcome").get<std::string>());
    workload.max_error = number_from_json(json.at("max_error"));
    workload.bound = number_from_json(json.at("bound"));
    json.at("input").get_to(workload.input);
    json.at("detail").get_to(workload.detail);
    return workload;
}

Measurement measurement_from_json(const Json& json) {
    Measurement measurement;
    json.at("axes").get_to(measurement.axes);
    measurement.samples_ns = numbers_from_json(json.at("samples_ns"));
    measurement.median_ns = number_from_json(json.at("median_ns"));
    measurement.low_ns = number_from_json(json.at("low_ns"));
    measurement.high_ns = number_from_json(json.at("high_ns"));
    measurement.bytes_per_ns = number_from_json(json.at("bytes_per_ns"));
    // Lines of the first version have neither.
    measurement.bytes = json.value("bytes", int64_t{0});
    if (json.contains("share_of_peak")) measurement.share_of_peak = optional_number(json.at("share_of_peak"));
    measurement.clock_mhz = number_from_json(json.at("clock_mhz"));
    // Nor these.
    if (json.contains("warm_ns")) {
        measurement.warm_ns = optional_number(json.at("warm_ns"));
        for (const Json& sample : json.at("warm_samples_ns"))
            measurement.warm_samples_ns.push_back(number_from_json(sample));
        measurement.floor_ns = number_from_json(json.at("floor_ns"));
        json.at("floor_of").get_to(measurement.floor_of);
    }
    json.at("method").get_to(measurement.method);
    json.at("unstable").get_to(measurement.unstable);
    return measurement;
}

Comparison comparison_from_json(const Json& json) {
    Comparison comparison;
    json.at("baseline").get_to(comparison.baseline);
    comparison.outcome = comparing_named(json.at("outcome").get<std::string>());
    comparison.ratio = number_from_json(json.at("ratio"));
    comparison.low = number_from_json(json.at("low"));
    comparison.high = number_from_json(json.at("high"));
    json.at("axes").get_to(comparison.axes);
    json.at("evidence").get_to(comparison.evidence);
    // Lines of earlier versions have neither.
    comparison.proof = json.value("proof", false);
    if (json.contains("ships") && !json.at("ships").is_null()) comparison.ships = json.at("ships").get<bool>();
    return comparison;
}

BaselineMeasurement baseline_from_json(const Json& json) {
    BaselineMeasurement baseline;
    json.at("baseline").get_to(baseline.baseline);
    baseline.measurement = measurement_from_json(json.at("measurement"));
    baseline.candidate_samples_ns = numbers_from_json(json.at("candidate_samples_ns"));
    return baseline;
}

Filtered filtered_from_json(const Json& json) {
    Filtered filtered;
    json.at("device").get_to(filtered.device);
    filtered.outcome = outcome_named(json.at("outcome").get<std::string>());
    json.at("complete").get_to(filtered.complete);
    for (const Json& workload : json.at("workloads")) filtered.workloads.push_back(workload_from_json(workload));
    for (const Json& report : json.at("reports")) filtered.reports.push_back(report_from_json(report));
    json.at("log").get_to(filtered.log);
    filtered.estimate = optional_number(json.at("estimate"));
    filtered.seconds = number_from_json(json.at("seconds"));
    return filtered;
}

Evaluation read(const Json& json) {
    Evaluation evaluation;
    json.at("id").get_to(evaluation.id);
    json.at("digest").get_to(evaluation.digest);
    json.at("task").get_to(evaluation.task);
    evaluation.outcome = outcome_named(json.at("outcome").get<std::string>());
    evaluation.origin = origin_named(json.at("origin").get<std::string>());
    json.at("parent").get_to(evaluation.parent);
    evaluation.step = json.value("step", "");
    json.at("file").get_to(evaluation.file);
    json.at("language").get_to(evaluation.language);
    json.at("idea").get_to(evaluation.idea);
    json.at("tunables").get_to(evaluation.tunables);
    json.at("device").get_to(evaluation.device);
    json.at("target").get_to(evaluation.target);
    evaluation.verdict.outcome = evaluation.outcome;
    for (const Json& workload : json.at("workloads"))
        evaluation.verdict.workloads.push_back(workload_from_json(workload));
    for (const Json& report : json.at("reports")) evaluation.verdict.reports.push_back(report_from_json(report));
    json.at("left_out").get_to(evaluation.verdict.left_out);
    json.at("log").get_to(evaluation.verdict.log);
    evaluation.resources = resources_from_json(json.at("resources"));
    if (json.contains("filter") && !json.at("filter").is_null())
        evaluation.filter = filtered_from_json(json.at("filter"));
    evaluation.profile = json.value("profile", "");
    if (json.contains("facts")) evaluation.facts = facts_from_json(json.at("facts"));  // since the second version
    for (const Json& measurement : json.at("measurements"))
        evaluation.measurements.push_back(measurement_from_json(measurement));
    evaluation.median_ns = optional_number(json.at("median_ns"));
    evaluation.estimate = optional_number(json.at("estimate"));
    for (const Json& comparison : json.at("comparisons"))
        evaluation.comparisons.push_back(comparison_from_json(comparison));
    if (json.contains("baseline_measurements"))
        for (const Json& baseline : json.at("baseline_measurements"))
            evaluation.baseline_measurements.push_back(baseline_from_json(baseline));
    if (json.contains("proofs"))
        for (const Json& proof : json.at("proofs")) evaluation.proofs.push_back(proof_from_json(proof));
    json.at("stage").get_to(evaluation.stage);
    evaluation.build_seconds = number_from_json(json.at("build_seconds"));
    evaluation.judge_seconds = number_from_json(json.at("judge_seconds"));
    if (json.contains("verify_seconds")) {  // with `facts`
        evaluation.verify_seconds = number_from_json(json.at("verify_seconds"));
        evaluation.measure_seconds = number_from_json(json.at("measure_seconds"));
    }
    evaluation.seed = json.value("seed", uint64_t{0});
    json.at("when").get_to(evaluation.when);
    return evaluation;
}

}  // namespace

std::string_view name(Comparing outcome) { return kComparings[static_cast<size_t>(outcome)]; }

Json to_json(const WorkloadVerdict& workload) {
    return {{"axes", workload.axes},
            {"outcome", name(workload.outcome)},
            {"max_error", json_number(workload.max_error)},
            {"bound", json_number(workload.bound)},
            {"input", workload.input},
            {"detail", json_text(workload.detail)}};
}

Json to_json(const Measurement& measurement) {
    return {{"axes", measurement.axes},
            {"samples_ns", json_numbers(measurement.samples_ns)},
            {"median_ns", json_number(measurement.median_ns)},
            {"low_ns", json_number(measurement.low_ns)},
            {"high_ns", json_number(measurement.high_ns)},
            {"bytes", measurement.bytes},
            {"bytes_per_ns", json_number(measurement.bytes_per_ns)},
            {"share_of_peak", optional_number(measurement.share_of_peak)},
            {"clock_mhz", json_number(measurement.clock_mhz)},
            {"warm_ns", optional_number(measurement.warm_ns)},
            {"warm_samples_ns", json_numbers(measurement.warm_samples_ns)},
            {"floor_ns", json_number(measurement.floor_ns)},
            {"floor_of", measurement.floor_of},
            {"method", json_text(measurement.method)},
            {"unstable", json_text(measurement.unstable)}};
}

Json to_json(const Comparison& comparison) {
    return {{"baseline", json_text(comparison.baseline)},
            {"outcome", name(comparison.outcome)},
            {"ratio", json_number(comparison.ratio)},
            {"low", json_number(comparison.low)},
            {"high", json_number(comparison.high)},
            {"axes", comparison.axes},
            {"evidence", json_text(comparison.evidence)},
            {"proof", comparison.proof},
            {"ships", comparison.ships ? Json(*comparison.ships) : Json(nullptr)}};
}

Json to_json(const BaselineMeasurement& baseline) {
    return {{"baseline", json_text(baseline.baseline)},
            {"measurement", to_json(baseline.measurement)},
            {"candidate_samples_ns", json_numbers(baseline.candidate_samples_ns)}};
}

Json to_json(const Resources& resources) {
    return {{"registers", resources.registers},
            {"spill_bytes", resources.spill_bytes},
            {"shared_bytes", resources.shared_bytes},
            {"local_bytes", resources.local_bytes},
            {"barriers", resources.barriers}};
}

Json to_json(const Filtered& filtered) {
    return {{"device", json_text(filtered.device)},
            {"outcome", name(filtered.outcome)},
            {"complete", filtered.complete},
            {"workloads", array_of(filtered.workloads)},
            {"reports", array_of(filtered.reports)},
            {"log", json_text(filtered.log)},
            {"estimate", optional_number(filtered.estimate)},
            {"seconds", json_number(filtered.seconds)}};
}

Json to_json(const Evaluation& evaluation) {
    return {{"id", json_text(evaluation.id)},
            {"digest", evaluation.digest},
            {"task", json_text(evaluation.task)},
            {"outcome", name(evaluation.outcome)},
            {"origin", name(evaluation.origin)},
            {"parent", json_text(evaluation.parent)},
            {"step", evaluation.step},
            {"file", json_text(evaluation.file)},
            {"language", evaluation.language},
            {"idea", json_text(evaluation.idea)},
            {"tunables", Json(evaluation.tunables)},
            {"device", json_text(evaluation.device)},
            {"target", evaluation.target},
            {"workloads", array_of(evaluation.verdict.workloads)},
            {"reports", array_of(evaluation.verdict.reports)},
            {"left_out", evaluation.verdict.left_out},
            {"log", json_text(evaluation.verdict.log)},
            {"filter", evaluation.filter ? to_json(*evaluation.filter) : Json(nullptr)},
            {"resources", to_json(evaluation.resources)},
            {"facts", to_json(evaluation.facts)},
            {"profile", json_text(evaluation.profile)},
            {"measurements", array_of(evaluation.measurements)},
            {"median_ns", optional_number(evaluation.median_ns)},
            {"estimate", optional_number(evaluation.estimate)},
            {"comparisons", array_of(evaluation.comparisons)},
            {"baseline_measurements", array_of(evaluation.baseline_measurements)},
            {"proofs", array_of(evaluation.proofs)},
            {"stage", evaluation.stage},
            {"build_seconds", json_number(evaluation.build_seconds)},
            {"judge_seconds", json_number(evaluation.judge_seconds)},
            {"verify_seconds", json_number(evaluation.verify_seconds)},
            {"measure_seconds", json_number(evaluation.measure_seconds)},
            {"seed", evaluation.seed},
            {"when", evaluation.when}};
}

Evaluation evaluation_from_json(const Json& json) {
    try {
        return read(json);
    } catch (const Json::exception& error) {
        throw Error("this is no evaluation: {}", error.what());
    }
}

std::string utc_now() {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

bool ranks_before(const Evaluation& a, const Evaluation& b) {
    const bool a_correct = a.outcome == Outcome::correct, b_correct = b.outcome == Outcome::correct;
    if (a_correct != b_correct) return a_correct;
    if (a.median_ns.has_value() != b.median_ns.has_value()) return a.median_ns.has_value();
    if (a.median_ns && *a.median_ns != *b.median_ns) return *a.median_ns < *b.median_ns;
    if (a.median_ns) return false;
    if (a.estimate.has_value() != b.estimate.has_value()) return a.estimate.has_value();
    return a.estimate && *a.estimate < *b.estimate;
}

}  // namespace recuda

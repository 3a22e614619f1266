// The estimate over kept evidence: what it gives for each variant, and constants fitted to some of the ops.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "judge/estimate.h"

namespace recuda::calibration {

/// A variant as it was counted and timed.
struct Variant {
    std::string id, op, workload;
    Counters counters;
    LaunchPlan plan;
    double least_bytes = 0;
    double median_ns = 0;
    double scale = 1;  // of the counters to the workload that was timed
};

Variant variant_from_json(const Json& json);

double estimate_of(const Variant& variant, const EstimateConstants& constants);

/// What was known of the constants before anything was fitted: the beginning of every fit.
EstimateConstants documented();

/// Constants by coordinate descent from the documented ones: least mean absolute logarithm of estimate over time, over
/// all variants and (twice as heavy, for it is what ranks candidates) within each workload.
EstimateConstants fitted(std::span<const Variant> variants);

Json to_json(const EstimateConstants& constants);

}  // namespace recuda::calibration

#include "judge/peaks.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "device/device.h"
#include "judge/peak_kernels.h"
#include "judge/statistics.h"

namespace recuda {
namespace {

constexpr uint64_t kCaches = 16;  // buffer over L2: what is left in the cache of a pass does not count
// An idle card needs some milliseconds to raise its clocks, hence the long warm-up; several runs a sample make the
// launch of 2 us small beside what is measured (200 us for 1 GB on an H200).
constexpr uint32_t kWarmups = 25, kSamples = 15, kRunsASample = 4;

struct Rate {
    Median median;  // of a run's time
    Timing timing;
    double amount = 0;
};

Rate timed(Device& device, const PeakKernels::Work& work, uint32_t runs_per_sample) {
    TimingRequest request{.sequences = {{work.launch}}, .samples = kSamples, .warmups = kWarmups};
    request.runs_per_sample = runs_per_sample;
    request.deadline_s = 10;
    Rate rate{.timing = device.time(request), .amount = work.amount};
    if (rate.timing.outcome != Outcome::correct)
        throw Error("{} is {}: {}", work.launch.entry, name(rate.timing.outcome), rate.timing.log);
    rate.median = median_of(rate.timing.samples_ns);
    if (rate.median.low <= 0) throw Error("{} took no time", work.launch.entry);
    return rate;
}

Bandwidth bandwidth(Device& device, const PeakKernels::Work& work) {
    Rate rate = timed(device, work, kRunsASample);
    return {rate.amount / rate.median.value,
            rate.amount / rate.median.high,
            rate.amount / rate.median.low,
            static_cast<uint64_t>(rate.amount),
            std::move(rate.timing.samples_ns),
            median_of(rate.timing.clock_mhz).value,
            rate.timing.method};
}

/// One run a sample: bursts this short are over before a card that reaches its limit of power lowers its clocks.
MatrixRate matrix_rate(Device& device, const PeakKernels& kernels) {
    MatrixRate result{.instruction = kernels.mma_instruction(), .full_rate = kernels.mma_full_rate()};
    try {
        Rate rate = timed(device, kernels.work(PeakKernels::Kind::mma), 1);
        result.flops_per_ns = rate.amount / rate.median.value;
        result.low = rate.amount / rate.median.high;
        result.high = rate.amount / rate.median.low;
        result.flops = rate.amount;
        result.samples_ns = std::move(rate.timing.samples_ns);
        result.clock_mhz = median_of(rate.timing.clock_mhz).value;
        result.method = std::move(rate.timing.method);
    } catch (const DeviceLost&) {
        throw;
    } catch (const Error& error) {
        result.problem = error.what();
    }
    return result;
}

Json numbers(const std::vector<double>& all) {
    Json json = Json::array();
    for (const double one : all) json.push_back(json_number(one));
    return json;
}

Json to_json(const Bandwidth& bandwidth) {
    return {{"bytes_per_ns", json_number(bandwidth.bytes_per_ns)},
            {"low", json_number(bandwidth.low)},
            {"high", json_number(bandwidth.high)},
            {"bytes", bandwidth.bytes},
            {"samples_ns", numbers(bandwidth.samples_ns)},
            {"clock_mhz", json_number(bandwidth.clock_mhz)},
            {"method", json_text(bandwidth.method)}};
}

Json to_json(const MatrixRate& rate) {
    if (rate.flops_per_ns == 0) return {{"problem", json_text(rate.problem)}};
    return {{"flops_per_ns", json_number(rate.flops_per_ns)},
            {"low", json_number(rate.low)},
            {"high", json_number(rate.high)},
            {"flops", json_number(rate.flops)},
            {"samples_ns", numbers(rate.samples_ns)},
            {"clock_mhz", json_number(rate.clock_mhz)},
            {"instruction", json_text(rate.instruction)},
            {"full_rate", rate.full_rate},
            {"method", json_text(rate.method)}};
}

}  // namespace

double Peaks::bytes_per_ns() const { return std::max(read.bytes_per_ns, copy.bytes_per_ns); }

double Peaks::most_flops_per_ns(unsigned operand_bits) const {
    if (!mma.full_rate || operand_bits < 8) return 0;
    return mma.flops_per_ns * (operand_bits < 16 ? 2 : 1);
}

Peaks measure_peaks(Device& device, Builder& builder, const std::string& target) {
    if (!device.info().measures_time) return {};
    Peaks peaks;
    try {
        const PeakKernels kernels(device, builder, target, kCaches);
        peaks.read = bandwidth(device, kernels.work(PeakKernels::Kind::read));
        peaks.copy = bandwidth(device, kernels.work(PeakKernels::Kind::copy));
        peaks.mma = matrix_rate(device, kernels);
    } catch (const Error& error) {
        peaks = {};
        peaks.problem = error.what();
    }
    return peaks;
}

Json to_json(const Peaks& peaks) {
    if (peaks.bytes_per_ns() == 0) return {{"problem", json_text(peaks.problem)}};
    return {{"bytes_per_ns", json_number(peaks.bytes_per_ns())},
            {"read", to_json(peaks.read)},
            {"copy", to_json(peaks.copy)},
            {"mma", to_json(peaks.mma)}};
}

}  // namespace recuda

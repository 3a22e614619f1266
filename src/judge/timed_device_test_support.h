// For tests: a device that measures time without a GPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/counters.h"
#include "device/forwarding_device.h"
#include "tensor/dtype.h"

namespace recuda {

/// A virtual GPU, with a time made of what it counted. Its memory moves `memory_bytes_per_ns` where that is measured.
/// Its library of matrix products has as many algorithms as it is told, which are computed on the host: the first byte
/// of an algorithm is its number, and it takes 1000 ns and 100 more for each lower number; an odd one is wrong.
class TimedDevice : public ForwardingDevice {
 public:
    TimedDevice(std::unique_ptr<Device> under, double ns_an_instruction, unsigned algorithms = 0)
        : ForwardingDevice(std::move(under)), ns_an_instruction_(ns_an_instruction), algorithms_(algorithms) {
        info_.measures_time = true;
        info_.l2_bytes = 64 << 10;
        info_.memory_bytes_per_ns = 0;  // as of cards that share the host's memory
    }
    Execution run(std::span<const Launch> launches, const RunOptions& options) override {
        if (!launches[0].product) return device_->run(launches, options);
        multiply(*launches[0].product, launches[0].arguments);
        return {};
    }

    /// Each sequence runs once and is checked; its further runs take the same time.
    Timing time(const TimingRequest& request) override {
        Timing timing{.method = "counted"};
        std::vector<double> ns(request.sequences.size(), -1);
        size_t next = 0;
        for (uint32_t sample = 0; sample < request.warmups + request.samples; ++sample) {
            double sum = 0;
            for (uint32_t i = 0; i < request.runs_per_sample; ++i, next = (next + 1) % ns.size()) {
                if (ns[next] < 0) ns[next] = run_and_check(request, next, timing);
                if (timing.wrong_sequence) return timing;
                sum += ns[next];
            }
            if (sample >= request.warmups) timing.samples_ns.push_back(sum / request.runs_per_sample);
        }
        timing.clock_mhz.assign(timing.samples_ns.size(), 1980);
        return timing;
    }

    double memory_bytes_per_ns = 1;
    /// Called after a timed run, before it is checked.
    std::function<void(Device& device, const TimingRequest& request, size_t sequence)> after_run;

    ProductAlgorithms product_algorithms(const MatrixProduct&, uint32_t most, uint64_t) override {
        ProductAlgorithms found{"0.0.1", {}};
        for (unsigned i = 0; i < std::min(algorithms_, most); ++i)
            found.algorithms.push_back({{static_cast<std::byte>(i)}, 256, "algorithm " + std::to_string(i)});
        return found;
    }

 private:
    double run_and_check(const TimingRequest& request, size_t sequence, Timing& timing) {
        const auto outputs = request.outputs.empty() ? std::vector<TimedOutput>() : request.outputs[sequence];
        for (const TimedOutput& output : outputs) {
            std::vector<std::byte> before(output.region.bytes, request.poison);
            if (output.original) device_->read(output.original->buffer, output.original->offset_bytes, before);
            device_->write(output.region.buffer, output.region.offset_bytes, before);
        }
        const double ns = run_once(request, sequence);
        if (after_run) after_run(*device_, request, sequence);
        for (const TimedOutput& output : outputs)
            if (device_->hashes(std::span(&output.region, 1)).front() != output.hash) {
                timing.outcome = Outcome::wrong;
                timing.wrong_sequence = static_cast<uint32_t>(sequence);
            }
        timing.checked_runs += outputs.empty() ? 0 : 1;
        return ns;
    }

    double run_once(const TimingRequest& request, size_t sequence) {
        const Launch& first = request.sequences[sequence][0];
        if (first.product) return multiply(*first.product, first.arguments);
        if (first.entry == "peak_mma") return 1e5;  // what would take minutes here
        for (const BufferId buffer : request.cleared) device_->fill(buffer, std::byte{0}, false);
        const Execution execution = device_->run(request.sequences[sequence], {.count = true});
        EXPECT_EQ(execution.outcome, Outcome::correct) << execution.log;
        if (first.entry.starts_with("peak_"))
            return static_cast<double>(execution.counters->global_read.bytes + execution.counters->global_write.bytes) /
                   memory_bytes_per_ns;
        return 10 + ns_an_instruction_ * static_cast<double>(execution.counters->warp_instructions);
    }

    std::vector<std::byte> bytes(const Argument& argument, uint64_t count) {
        std::vector<std::byte> read(count);
        device_->read(argument.buffer, argument.offset_bytes, read);
        return read;
    }

    double multiply(const MatrixProduct& product, const std::vector<Argument>& arguments) {
        EXPECT_EQ(product.dtype, "bf16");
        EXPECT_EQ(arguments.size(), 4u);
        const std::vector<std::byte> left = bytes(arguments[0], product.rows * product.inner * 2);
        const std::vector<std::byte> right = bytes(arguments[1], product.columns * product.inner * 2);
        std::vector<std::byte> result(product.rows * product.columns * 2);
        const auto number = std::to_integer<unsigned>(product.algorithm.at(0));
        for (uint64_t row = 0; row < product.rows; ++row)
            for (uint64_t column = 0; column < product.columns; ++column) {
                double sum = 0;
                for (uint64_t k = number % 2; k < product.inner; ++k)
                    sum += recuda::load(DType::bf16, &left[2 * (row * product.inner + k)]) *
                           recuda::load(DType::bf16, &right[2 * (column * product.inner + k)]);
                recuda::store(DType::bf16, &result[2 * (row * product.columns + column)], sum);
            }
        device_->write(arguments[2].buffer, arguments[2].offset_bytes, result);
        return 1000 + 100 * static_cast<double>(algorithms_ - number);
    }

    double ns_an_instruction_;
    unsigned algorithms_;
};

}  // namespace recuda

// What the card gives: read and copy bandwidth of its memory, and the rate of its matrix units, measured with kernels
// of our own (peak_kernels.h) when a session begins.
//
// A data sheet's number is what no kernel reaches, and cards with shared memory have none; a share of what was measured
// on this card on this day is what a kernel can be held against.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace recuda {

class Builder;
class Device;

/// One bandwidth: the median over the samples, with its 95 % interval, and what it was made of.
struct Bandwidth {
    double bytes_per_ns = 0, low = 0, high = 0;  // 1 byte/ns = 1 GB/s
    uint64_t bytes = 0;                          // moved by one run
    std::vector<double> samples_ns;              // time of one run, each sample
    double clock_mhz = 0;                        // median SM clock, 0 where unknown
    std::string method;
};

/// Products of bf16 matrices, likewise.
struct MatrixRate {
    double flops_per_ns = 0, low = 0, high = 0;  // 1 flop/ns = 1 GFLOP/s
    double flops = 0;                            // of one run
    std::vector<double> samples_ns;
    double clock_mhz = 0;
    std::string instruction, method;
    bool full_rate = false;  // no other instruction of the card is faster
    std::string problem;     // why there is none on a device that measures time
};

struct Peaks {
    Bandwidth read, copy;  // a copied byte counts twice, as read and as written; empty where not measured
    MatrixRate mma;
    std::string problem;  // why there is no bandwidth on a device that measures time

    /// The larger of both: what kernels are held against. 0 where not measured.
    double bytes_per_ns() const;
    /// What no program of operands with this many bits can outrun; 0 where unknown. Operands of 8 bits are multiplied
    /// at twice the rate of 16.
    double most_flops_per_ns(unsigned operand_bits) const;
};

/// Measures on a device that measures time, in about a second; nothing on others. Never throws for what the device or
/// the compiler does not do: `problem` says it.
Peaks measure_peaks(Device& device, Builder& builder, const std::string& target);

nlohmann::json to_json(const Peaks& peaks);

}  // namespace recuda

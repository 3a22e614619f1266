// What the card's memory gives: read and copy bandwidth, measured with kernels of our own when a session begins.
//
// The buffers are 16 times the L2 (at most a sixteenth of the memory each), every thread moves 16 bytes at a time, the
// grid fills the card and strides over the buffer. A data sheet's number is what no kernel reaches, and cards with
// shared memory have none; a share of what was measured on this card on this day is what a kernel can be held against.
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

struct Peaks {
    Bandwidth read, copy;  // a copied byte counts twice, as read and as written; empty where not measured
    std::string problem;   // why there is no measurement on a device that measures time

    /// The larger of both: what kernels are held against. 0 where not measured.
    double bytes_per_ns() const;
};

/// Measures on a device that measures time, in about half a second; nothing on others. Never throws for what the device
/// or the compiler does not do: `problem` says it.
Peaks measure_peaks(Device& device, Builder& builder, const std::string& target);

nlohmann::json to_json(const Peaks& peaks);

}  // namespace recuda

// How long a program takes on a device that measures time: cold, over rotated buffers.
//
// A workload has a ring of buffer sets, copies of its `normal` case, of more than three times the L2 together (or as
// many as fit 4 GiB). Each timing takes the next stretch of the ring, so that what it reads was last touched an L2's
// worth of traffic ago. Workspace is one for all sets, as in a runtime. Outputs of timed runs are judged afterwards.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "evaluation/evaluation.h"
#include "judge/cases.h"
#include "judge/peaks.h"
#include "judge/timed.h"

namespace recuda {

class Ring;

/// A measurement, or why there is none.
struct Measured {
    Outcome outcome = Outcome::correct;  // else faulted, timed_out, launch_refused, wrong, impossible
    std::string log;
    Measurement measurement;
};

class Benchmark {
 public:
    /// All outlive it.
    Benchmark(const Task& task, Device& device, Cases& cases, const Peaks& peaks);
    ~Benchmark();

    /// Times the program's workload with so many samples.
    Measured measure(Program& program, size_t workload, uint32_t samples);

    /// Samples of the program's workload as they come; what was timed is judged.
    Timed time(Program& program, size_t workload, uint32_t samples);
    /// The statistics of such samples, of a program or of a baseline.
    Measurement measurement(const Axes& axes, Timed timed) const;

    /// The device's process is gone.
    void forget();

 private:
    Ring& ring(const Axes& axes);
    double memory_bytes_per_ns() const;
    std::string beyond_memory(const Axes& axes, const Timed& timed, const Measurement& measurement) const;

    const Task& task_;
    Device& device_;
    Cases& cases_;
    const Peaks& peaks_;
    std::map<Axes, std::unique_ptr<Ring>> rings_;
};

}  // namespace recuda

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
    Benchmark(const Task& task, Device& device, Cases& cases);
    ~Benchmark();

    /// Times the program's workload with so many samples.
    Measured measure(Program& program, size_t workload, uint32_t samples);

    /// Times both in turns (A B B A) and gives baseline time / candidate time. `measured` says why where there is no
    /// comparison.
    struct Compared {
        Measured measured;
        Comparison comparison;
    };
    Compared compare(Program& program, size_t workload, Program& baseline, size_t baseline_workload,
                     const std::string& name);

    /// The device's process is gone.
    void forget();

 private:
    struct Timed {
        Outcome outcome = Outcome::correct;
        std::string log, method;
        std::vector<double> samples_ns, clock_mhz;
    };
    Ring& ring(const Axes& axes);
    Timed time(Program& program, size_t workload, uint32_t samples);

    const Task& task_;
    Device& device_;
    Cases& cases_;
    std::map<Axes, std::unique_ptr<Ring>> rings_;
};

}  // namespace recuda

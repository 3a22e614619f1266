// How long a program takes on a device that measures time: cold, over rotated buffers.
//
// A workload has a ring of buffer sets of more than three times the L2 together (or as many as fit 4 GiB), which hold
// several inputs of the kind `normal` in turn. Each timing takes the next stretch of the ring, so that what it reads
// was last touched an L2's worth of traffic ago. The runs of a sample have workspaces of their own.
//
// Every timed run is checked: before its first timing a program runs once on each input and is judged; after each
// sample the device compares the hash of what each run left with that of the judged result, and wipes it. A program
// whose results are not the same bits each time is right where its values are.
#pragma once

#include <map>
#include <memory>
#include <set>
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
    Measured measure(LoadedProgram& program, size_t workload, uint32_t samples);

    /// Samples of the program's workload as they come; what was timed is judged.
    Timed time(LoadedProgram& program, size_t workload, uint32_t samples);
    /// The statistics of such samples, of a program or of a baseline.
    Measurement measurement(const Axes& axes, Timed timed) const;
    /// Why a time is impossible on this card, "" where it is not.
    std::string beyond_floor(const Axes& axes, const Measurement& measurement) const;

    /// The device's process is gone, or the session's cases get new inputs: nothing is known any more.
    void forget();

 private:
    /// What a program leaves for each input where that is right.
    struct Right {
        Outcome outcome = Outcome::correct;
        std::string log;
        std::vector<std::vector<uint64_t>> hashes;  // by variant, then by written tensor
        double run_ns = 0;                          // of one run alone; 0: unknown
        bool varies = false;                        // other bits each time
    };
    struct Floor {
        double ns = 0;
        std::string of;  // "memory", "arithmetic", "" where there is none
    };
    /// What is timed: one workload of a program.
    struct Runs {
        LoadedProgram& program;
        size_t workload;
    };
    /// Sets of a ring, round its end.
    struct Stretch {
        size_t first = 0, count = 0;
    };
    size_t variants_for(const Axes& axes) const;
    Ring& ring(const Axes& axes);
    Right right_outputs(const Runs& runs, Ring& sets);
    void keep(const Runs& runs, const Right& right);
    uint32_t runs_per_sample(const Runs& runs, const Ring& sets, double run_ns) const;
    std::vector<std::unique_ptr<Scratch>> prepare(TimingRequest& request, const Runs& runs, Ring& sets, Stretch stretch,
                                                  const Right& right);
    Timed timed_once(const Runs& runs, uint32_t samples, Ring& sets, Right& right);
    Timed judged_by_value(Timed timed, const TimingRequest& request, Ring& sets, Stretch stretch, const Axes& axes);
    std::string wrong_values(const Axes& axes, const Ring& sets, size_t set);
    Timed time_warm(const Runs& runs, uint32_t samples);
    double memory_bytes_per_ns() const;
    Floor floor_of(const Axes& axes, const Timed& timed) const;

    const Task& task_;
    Device& device_;
    Cases& cases_;
    const Peaks& peaks_;
    std::map<Axes, std::unique_ptr<Ring>> rings_;
    std::map<std::pair<uint64_t, size_t>, Right> right_;                               // by program and workload
    std::map<std::pair<Axes, size_t>, std::set<std::vector<uint64_t>>> judged_right_;  // by workload and variant
};

}  // namespace recuda

// What the offline search can choose from: seeds, each with the points of its tunables that are legal for the task.
//
// An arm is one seed. Its points stand in the order of the file, so the first one is what `check` takes. A file with
// more points than kMostPoints is sampled: that many distinct legal ones, drawn by the seed, the first legal one among
// them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernel/candidate.h"
#include "kernel/limits.h"
#include "task/task.h"

namespace recuda {

inline constexpr size_t kMostPoints = 1 << 12;

struct Arm {
    std::shared_ptr<const KernelFile> file;
    std::vector<Point> points;
    std::vector<size_t> shuffled;  // all but the first point, in the order in which a spread takes them
    bool sampled = false;

    /// Points near points[index], nearest first: one tunable moved to its next legal value up or down, then two.
    std::vector<size_t> neighbours(size_t index) const;

 private:
    friend class Space;
    std::map<Point, size_t> places_;
    std::vector<size_t> steps(size_t index) const;
};

class Space {
 public:
    /// `seeds` are kernel files for the task; those without a legal point are left out and named in `notes`.
    Space(const Task& task, const std::vector<KernelFile>& seeds, const std::vector<Axes>& workloads,
          const DeviceLimits& limits, uint64_t seed);

    const std::vector<Arm>& arms() const { return arms_; }
    const std::vector<std::string>& notes() const { return notes_; }
    size_t size() const;

    /// The candidate of arms()[arm].points[index]: a seed at its first point, else the tuner's work.
    Candidate candidate(size_t arm, size_t index) const;

 private:
    std::vector<Arm> arms_;
    std::vector<std::string> notes_;
};

/// The text with the directive `task NAME`, replacing the one it has: a file that can be checked by itself.
std::string with_task(const std::string& text, Language language, const std::string& task);

/// The workloads that a candidate must be legal for: the task's own, and its small ones where the device runs those.
std::vector<Axes> workloads_of(const Task& task, bool measures_time);

}  // namespace recuda

// What a tuner can choose from: kernel files, each with the points of its tunables that are legal for the task. Seeds
// are there from the beginning; files that a model wrote or that were found in the index join them.
//
// An arm is one file. Its points stand in the order of the file, so the first one is what `check` takes. A file with
// more points than kMostPoints is sampled: that many distinct legal ones, drawn by the seed, the first legal one among
// them.
#pragma once

#include <map>
#include <memory>
#include <optional>
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
    Origin origin = Origin::seed;  // of its first point; the others are the tuner's
    std::string parent;            // what its first point was made from; "": the file's name

    /// Points near points[index], nearest first: one tunable moved to its next legal value up or down, then two.
    std::vector<size_t> neighbours(size_t index) const;

 private:
    friend class Space;
    std::map<Point, size_t> places_;
    std::vector<size_t> steps(size_t index) const;
};

/// A point of an arm.
struct ArmPoint {
    size_t arm = 0, index = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the comparison for a pointer
    auto operator<=>(const ArmPoint&) const = default;
};

class Space {
 public:
    /// `seeds` are kernel files for the task; those without a legal point are left out and named in `notes`.
    Space(const Task& task, const std::vector<KernelFile>& seeds, const std::vector<Axes>& workloads,
          const DeviceLimits& limits, uint64_t seed);

    /// Adds a file as an arm and gives back the candidate of its first point. None, and nothing added, where it has no
    /// legal point.
    std::optional<Candidate> add(std::shared_ptr<const KernelFile> file, Origin origin, const std::string& parent);

    const std::vector<Arm>& arms() const { return arms_; }
    const std::vector<std::string>& notes() const { return notes_; }
    size_t size() const;
    /// Distinct candidates among them.
    size_t distinct() const { return digests_.size(); }

    /// The candidate of a point: of the arm's origin at its first one, else the tuner's work.
    Candidate candidate(ArmPoint place) const;

    /// Where the candidate of that digest is; the first of equal ones. None where it is not.
    std::optional<ArmPoint> place(const std::string& digest) const;

    /// Whether it is not the same candidate as an earlier place.
    bool is_first(ArmPoint place) const { return places_.contains(place); }

    const std::vector<Axes>& workloads() const { return workloads_; }
    const DeviceLimits& limits() const { return limits_; }

 private:
    std::vector<Axes> workloads_;
    DeviceLimits limits_;
    uint64_t seed_;
    std::map<std::string, ArmPoint> digests_;
    std::map<ArmPoint, std::string> places_;  // those of `digests_`
    std::vector<Arm> arms_;
    std::vector<std::string> notes_;
};

/// The text with the directive `task NAME`, replacing the one it has: a file that can be checked by itself.
std::string with_task(const std::string& text, Language language, const std::string& task);

/// The workloads that a candidate must be legal for: the task's own, and its small ones where the device runs those.
std::vector<Axes> workloads_of(const Task& task, bool measures_time);

}  // namespace recuda

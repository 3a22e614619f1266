// A candidate: a kernel file with its tunables fixed. Its identity is the digest of both.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/kernel_file.h"

namespace recuda {

struct Task;
struct DeviceLimits;

/// Where a candidate came from.
enum class Origin { seed, tuner, model, retrieved, user };
std::string_view name(Origin origin);
Origin origin_named(std::string_view name);

struct Candidate {
    std::shared_ptr<const KernelFile> file;
    Point point;
    std::string digest;  // SHA-256, see digest_of
    Origin origin = Origin::user;
    std::string parent;  // what it was made from: a seed's file name or a digest
    std::string step;    // of the search that made it: "propose", "tune" …; "" where its origin says all
};

/// SHA-256 over the source without comments and blank lines, the launch, scratch, require and uses directives, and the
/// values of the tunables. `task`, `idea` and `tune` lines do not count, so a candidate's own file has the digest of
/// its origin.
std::string digest_of(const KernelFile& file, const Point& point);

Candidate make_candidate(std::shared_ptr<const KernelFile> file, Point point, Origin origin = Origin::user,
                         std::string parent = "");

/// Whether every `require` holds at this point, with these axes and limits. An axis that has no value makes Expression
/// throw.
bool is_legal(const KernelFile& file, const Point& point, const Variables& axes, const DeviceLimits& limits);

/// Calls `visit` for the points of the tunables in their order (the last tunable varies fastest) until it returns
/// false.
void for_each_point(const KernelFile& file, const std::function<bool(const Point&)>& visit);

/// Points that are legal for every one of the workloads.
std::vector<Point> legal_points(const KernelFile& file, const std::vector<Variables>& workloads,
                                const DeviceLimits& limits);

/// The first of them; stops looking there.
std::optional<Point> first_legal_point(const KernelFile& file, const std::vector<Variables>& workloads,
                                       const DeviceLimits& limits);

}  // namespace recuda

#include "judge/triton_baseline.h"

#include <algorithm>

#include "base/file.h"
#include "build/builder.h"
#include "build/toolchain.h"
#include "judge/benchmark.h"
#include "judge/build.h"
#include "judge/tuned_baseline.h"
#include "task/catalogue.h"
#include "task/op.h"

namespace recuda {
namespace {

constexpr size_t kMostPoints = 32;

struct TunedPoint {
    std::string words;
    std::unique_ptr<LoadedProgram> program;
};

/// The seed at its legal points, those that could be built; `log` says why the last of the others could not.
std::vector<TunedPoint> built_points(const OwnPlace& place, const std::filesystem::path& path, std::string& log) {
    const auto file = std::make_shared<const KernelFile>(read_kernel_file(path));
    const std::vector<Variables> variables(place.axes.begin(), place.axes.end());
    std::vector<Point> points = legal_points(*file, variables, place.limits);
    points.resize(std::min(points.size(), kMostPoints));
    const CompileOptions options{
        .target = place.target, .candidate = false, .cubin = place.device.info().kind == DeviceKind::cuda};
    std::vector<Order> orders;
    for (const Point& point : points)
        orders.push_back(
            order_of(make_candidate(file, point, Origin::seed), place.task, place.axes, place.limits, options));
    std::vector<Built> built = build_all(place.builder, std::move(orders));
    std::vector<TunedPoint> tuned;
    for (size_t i = 0; i < built.size(); ++i) {
        if (built[i].outcome != Outcome::correct) {
            log = built[i].log;
            continue;
        }
        std::string words;
        for (const auto& [name, value] : points[i])
            words += fmt::format("{}{}={}", words.empty() ? "" : " ", name, value);
        try {
            tuned.push_back({words.empty() ? "no tunables" : words,
                             std::make_unique<LoadedProgram>(place.device, std::move(built[i].compilation),
                                                             std::move(built[i].binaries), place.limits)});
        } catch (const LaunchRefused& refused) {
            log = refused.what();
        }
    }
    return tuned;
}

}  // namespace

Offer offer_triton(const BaselineParts& parts) {
    const Op& op = *parts.place.task.op;
    const std::optional<std::filesystem::path> path = seed_named(op, "triton");
    if (!path) return {nullptr, fmt::format("op {} has no Triton seed", op.name)};
    const TritonPython* python = triton_python();
    if (python == nullptr) return {nullptr, "Triton is missing: run ./setup, or install triton for python3 with pip"};
    std::string log;
    // The ways that time them live as long as the baseline, and so do they.
    const auto points = std::make_shared<std::vector<TunedPoint>>(built_points(parts.place, *path, log));
    if (points->empty()) return {nullptr, fmt::format("no point of {} can be used: {}", shown(*path), log)};
    const auto ways = [points, &benchmark = parts.benchmark](const Axes& axes) {
        std::vector<Way> all;
        for (const TunedPoint& point : *points)
            all.push_back({point.words, [&program = *point.program, &benchmark, axes](uint32_t samples) {
                               return benchmark.time(program, program.workload_of(axes), samples);
                           }});
        return all;
    };
    const auto forget = [points] {
        for (const TunedPoint& point : *points) point.program->forget();
    };
    return {
        make_tuned_baseline({.name = "triton",
                             .about = fmt::format("ops/{}/seeds/{} by Triton {} ahead of time, the fastest of {} "
                                                  "points at each workload",
                                                  op.name, path->filename().string(), python->version, points->size()),
                             .ways = ways,
                             .forget = forget}),
        ""};
}

}  // namespace recuda

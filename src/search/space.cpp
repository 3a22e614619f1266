#include "search/space.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "kernel/source_text.h"
#include "task/op.h"

namespace recuda {
namespace {

/// Number of points, or `limit` when there are more.
size_t count_points(const KernelFile& file, size_t limit) {
    size_t count = 1;
    for (const Tunable& tunable : file.tunables) {
        if (tunable.values.empty()) return 0;
        count = std::min(limit, count * std::min(limit, tunable.values.size()));
    }
    return count;
}

bool is_legal_everywhere(const KernelFile& file, const Point& point, const std::vector<Axes>& workloads,
                         const DeviceLimits& limits) {
    return std::all_of(workloads.begin(), workloads.end(),
                       [&](const Axes& axes) { return is_legal(file, point, axes, limits); });
}

/// Distinct legal points drawn at random; fewer than kMostPoints where legal ones are rare.
std::vector<Point> sample_points(const KernelFile& file, const std::vector<Axes>& workloads, const DeviceLimits& limits,
                                 uint64_t seed) {
    Rng rng(seed, "points of " + file.name);
    std::set<Point> drawn;
    std::vector<Point> legal;
    // The first legal point is what a person gets; it is looked for in the file's order as far as a sample would go.
    size_t looked = 0;
    for_each_point(file, [&](const Point& point) {
        if (is_legal_everywhere(file, point, workloads, limits)) legal.push_back(point);
        return legal.empty() && ++looked < kMostPoints;
    });
    drawn.insert(legal.begin(), legal.end());
    for (size_t i = 0; i < 2 * kMostPoints && legal.size() < kMostPoints; ++i) {
        Point point;
        for (const Tunable& tunable : file.tunables)
            point[tunable.name] = tunable.values[rng.below(tunable.values.size())];
        if (drawn.insert(point).second && is_legal_everywhere(file, point, workloads, limits)) legal.push_back(point);
    }
    return legal;
}

template <typename T>
void shuffle(std::vector<T>& all, Rng& rng) {
    for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[rng.below(i)]);
}

}  // namespace

/// Points one step away: for each tunable the nearest legal value above and below.
std::vector<size_t> Arm::steps(size_t index) const {
    std::vector<size_t> found;
    for (const Tunable& tunable : file->tunables) {
        const std::vector<int64_t>& values = tunable.values;
        const auto here = std::find(values.begin(), values.end(), points[index].at(tunable.name)) - values.begin();
        for (const int direction : {1, -1})
            for (auto i = here + direction; i >= 0 && i < static_cast<ptrdiff_t>(values.size()); i += direction) {
                Point moved = points[index];
                moved[tunable.name] = values[i];
                if (const auto place = places_.find(moved); place != places_.end() && place->second != index) {
                    found.push_back(place->second);
                    break;
                }
            }
    }
    return found;
}

std::vector<size_t> Arm::neighbours(size_t index) const {
    std::vector<size_t> found = steps(index);
    std::set<size_t> seen(found.begin(), found.end());
    seen.insert(index);
    const size_t near = found.size();
    for (size_t i = 0; i < near; ++i)
        for (const size_t second : steps(found[i]))
            if (seen.insert(second).second) found.push_back(second);
    return found;
}

Space::Space(const Task& task, const std::vector<KernelFile>& seeds, const std::vector<Axes>& workloads,
             const DeviceLimits& limits, uint64_t seed)
    : workloads_(workloads), limits_(limits), seed_(seed) {
    for (const KernelFile& given : seeds) {
        auto file = std::make_shared<const KernelFile>(
            parse_kernel_file(with_task(given.text, given.language, task.name), given.name, given.language));
        check_names(*file, *task.op);
        if (!add(std::move(file), Origin::seed, "")) notes_.push_back(given.name + " has no legal point for this task");
    }
}

std::optional<Candidate> Space::add(std::shared_ptr<const KernelFile> file, Origin origin, const std::string& parent) {
    Arm arm;
    arm.file = std::move(file);
    arm.origin = origin;
    arm.parent = parent;
    arm.sampled = count_points(*arm.file, kMostPoints + 1) > kMostPoints;
    arm.points = arm.sampled ? sample_points(*arm.file, workloads_, limits_, seed_)
                             : legal_points(*arm.file, workloads_, limits_);
    if (arm.points.empty()) return std::nullopt;
    for (size_t i = 0; i < arm.points.size(); ++i) arm.places_.emplace(arm.points[i], i);
    arm.shuffled.resize(arm.points.size() - 1);
    std::iota(arm.shuffled.begin(), arm.shuffled.end(), size_t{1});
    Rng rng(seed_, "spread of " + arm.file->name);
    shuffle(arm.shuffled, rng);
    arms_.push_back(std::move(arm));
    const size_t added = arms_.size() - 1;
    for (size_t i = 0; i < arms_.back().points.size(); ++i) {
        const ArmPoint place{added, i};
        if (const std::string digest = candidate(place).digest; digests_.emplace(digest, place).second)
            places_.emplace(place, digest);
    }
    return candidate({added, 0});
}

size_t Space::size() const {
    return std::accumulate(arms_.begin(), arms_.end(), size_t{0},
                           [](size_t sum, const Arm& arm) { return sum + arm.points.size(); });
}

Candidate Space::candidate(ArmPoint place) const {
    const Arm& arm = arms_[place.arm];
    const bool first = place.index == 0;
    std::string parent = first && !arm.parent.empty() ? arm.parent : arm.file->name;
    if (!first && arm.origin != Origin::seed) parent = candidate({place.arm, 0}).digest;
    Candidate candidate =
        make_candidate(arm.file, arm.points[place.index], first ? arm.origin : Origin::tuner, std::move(parent));
    if (!first) candidate.step = "tune";
    return candidate;
}

std::optional<ArmPoint> Space::place(const std::string& digest) const {
    const auto found = digests_.find(digest);
    return found == digests_.end() ? std::nullopt : std::optional(found->second);
}

std::string with_task(const std::string& text, Language language, const std::string& task) {
    const std::string directive = fmt::format("{} task    {}\n", directive_mark(language), task);
    for (const DirectiveLine& line : directive_lines(text, language)) {
        if (line.word != "task") continue;
        const size_t at = static_cast<size_t>(line.word.data() - text.data());
        const size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
        const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        return text.substr(0, begin) + directive + text.substr(end);
    }
    const size_t begin = language == Language::triton && text.starts_with("#!/") ? text.find('\n') + 1 : 0;
    return text.substr(0, begin) + directive + text.substr(begin);
}

std::vector<Axes> workloads_of(const Task& task, bool measures_time) {
    std::vector<Axes> all = task.verify;
    all.insert(all.end(), task.bench.begin(), task.bench.end());
    if (!measures_time) all.insert(all.end(), task.small.begin(), task.small.end());
    return all;
}

}  // namespace recuda

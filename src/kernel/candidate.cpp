#include "kernel/candidate.h"

#include <algorithm>
#include <array>

#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/limits.h"
#include "kernel/source_text.h"

namespace recuda {
namespace {

constexpr std::array<std::string_view, 5> kOrigins{"seed", "tuner", "model", "retrieved", "user"};

/// A directive's text with runs of blanks made one.
std::string normalised(std::string_view text) {
    std::string normal;
    for (const char c : text) {
        const bool blank = c == ' ' || c == '\t';
        if (!blank)
            normal += c;
        else if (!normal.empty() && normal.back() != ' ')
            normal += ' ';
    }
    return normal;
}

}  // namespace

std::string_view name(Origin origin) { return kOrigins[static_cast<size_t>(origin)]; }

Origin origin_named(std::string_view name) {
    const auto found = std::find(kOrigins.begin(), kOrigins.end(), name);
    if (found == kOrigins.end()) throw Error("there is no origin {}", name);
    return static_cast<Origin>(found - kOrigins.begin());
}

std::string digest_of(const KernelFile& file, const Point& point) {
    std::string text = file.language == Language::cuda ? "cuda\n" : "triton\n";
    for (const DirectiveLine& line : directive_lines(file.text, file.language))
        if (line.word != "task" && line.word != "idea" && line.word != "tune")
            text += fmt::format("{} {}\n", line.word, normalised(line.text));
    for (const Tunable& tunable : file.tunables) text += fmt::format("{}={}\n", tunable.name, point.at(tunable.name));
    text += stripped_source(file);
    return sha256(text);
}

Candidate make_candidate(std::shared_ptr<const KernelFile> file, Point point, Origin origin, std::string parent) {
    std::string digest = digest_of(*file, point);
    return {std::move(file), std::move(point), std::move(digest), origin, std::move(parent)};
}

bool is_legal(const KernelFile& file, const Point& point, const Variables& axes, const DeviceLimits& limits) {
    Variables variables = axes;
    variables.insert(point.begin(), point.end());
    variables["SMS"] = limits.sm_count;
    variables["MAX_SHARED"] = limits.max_shared_bytes;
    return std::all_of(file.requirements.begin(), file.requirements.end(), [&](const PlacedExpression& requirement) {
        try {
            return requirement.expression.evaluate(variables) != 0;
        } catch (const ExpressionError& error) {
            throw Error("{}:{}:{}: {}", file.name, requirement.position.line, requirement.position.column + error.at,
                        error.what());
        }
    });
}

void for_each_point(const KernelFile& file, const std::function<bool(const Point&)>& visit) {
    std::vector<size_t> index(file.tunables.size(), 0);
    while (true) {
        Point point;
        for (size_t i = 0; i < index.size(); ++i) point[file.tunables[i].name] = file.tunables[i].values[index[i]];
        if (!visit(point)) return;
        size_t i = index.size();
        while (i > 0 && ++index[i - 1] == file.tunables[i - 1].values.size()) index[--i] = 0;
        if (i == 0) return;
    }
}

std::vector<Point> legal_points(const KernelFile& file, const std::vector<Variables>& workloads,
                                const DeviceLimits& limits) {
    std::vector<Point> legal;
    for_each_point(file, [&](const Point& point) {
        if (std::all_of(workloads.begin(), workloads.end(),
                        [&](const Variables& axes) { return is_legal(file, point, axes, limits); }))
            legal.push_back(point);
        return true;
    });
    return legal;
}

std::optional<Point> first_legal_point(const KernelFile& file, const std::vector<Variables>& workloads,
                                       const DeviceLimits& limits) {
    std::optional<Point> first;
    for_each_point(file, [&](const Point& point) {
        if (std::all_of(workloads.begin(), workloads.end(),
                        [&](const Variables& axes) { return is_legal(file, point, axes, limits); }))
            first = point;
        return !first;
    });
    return first;
}

}  // namespace recuda

#include "tensor/battery.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <string>
#include <utility>

#include "base/rng.h"
#include "tensor/battery_rows.h"

namespace recuda {
namespace {

/// Over many compared columns a walk takes one of these steps: no longer stretch is left out, and no regular pattern of
/// every n-th column but a multiple of the step, n up to width / step.
constexpr int64_t kManyColumns = 8192, kEdges = 64;
constexpr std::array<int64_t, 6> kSteps{113, 127, 131, 137, 139, 149};

/// Places where loops and tiles end and begin: 2^k - 1 and 2^k, the largest k of the row first.
int64_t tile_edge(int64_t index, int64_t width) {
    if (width < 2) return 0;
    const int64_t top = std::bit_width(static_cast<uint64_t>(width - 1)) - 1;
    const int64_t edge = int64_t{1} << (top - index / 2 % (top + 1));
    return index % 2 == 0 ? edge - 1 : edge;
}

/// Cases of other numbers of rows go on where those of fewer ended: 1, 3, 5 and 8 rows have the first 16 edges.
int64_t order_of_row(int64_t row, int64_t rows) { return rows * rows / 8 + row; }

std::vector<RowKind> infinite_kinds(const InputRules& rules) {
    if (!rules.infinity) return {RowKind::masked};
    return {RowKind::masked, RowKind::plus_infinity, RowKind::one_left, RowKind::all_masked};
}

/// All kinds that rows of an op's inputs may be of.
std::vector<RowKind> crowd_kinds(const InputRules& rules) {
    std::vector<RowKind> kinds;
    for (int kind = 0; kind <= static_cast<int>(RowKind::edges_first); ++kind)
        kinds.push_back(static_cast<RowKind>(kind));
    if (rules.nan) {
        for (const RowKind kind : {RowKind::nan, RowKind::plus_infinity, RowKind::minus_infinity})
            kinds.push_back(kind);
    } else {
        for (const RowKind kind : infinite_kinds(rules)) kinds.push_back(kind);
    }
    return kinds;
}

/// The kind of the row that is so many rows behind the first of the first part: each round of as many rows as there are
/// kinds has all of them, in an order of its own.
RowKind dealt(int64_t place, uint64_t seed, const InputRules& rules) {
    std::vector<RowKind> kinds = crowd_kinds(rules);
    const auto count = static_cast<int64_t>(kinds.size());
    Rng rng(seed, "round " + std::to_string(place / count));
    for (size_t i = kinds.size(); i > 1; --i) std::swap(kinds[i - 1], kinds[rng.below(i)]);
    return kinds[static_cast<size_t>(place % count)];
}

/// Steps of a walk over the columns, and how many they are.
struct Walk {
    int64_t start = 0, step = 1, rows = 1, edges = 0;
};

Walk walk_over(int64_t width, uint64_t seed, const InputRules& rules) {
    Rng rng(seed, "walk");
    Walk walk;
    const int64_t columns = comb_stride(width, rules);
    if (columns >= kManyColumns) walk.step = kSteps[rng.below(kSteps.size())], walk.edges = kEdges;
    // A walk in steps does not go round: in one piece it meets every residue of numbers below its length.
    walk.start = static_cast<int64_t>(rng.below(static_cast<uint64_t>(walk.step > 1 ? walk.step : columns)));
    walk.rows = (columns - (walk.step > 1 ? walk.start : 0) + walk.step - 1) / walk.step;
    return walk;
}

/// Rows, whatever the step.
int64_t longest_walk(int64_t width, const InputRules& rules) {
    const int64_t columns = comb_stride(width, rules);
    return columns < kManyColumns ? columns : (columns + kSteps.front() - 1) / kSteps.front() + kEdges;
}

/// The column of a row that is so many rows behind the walk's first. Behind its end: where the largest tiles end and
/// begin.
int64_t column_at(const Walk& walk, int64_t place, int64_t width) {
    const int64_t at = place % (walk.rows + walk.edges), edge = at - walk.rows;
    if (edge < 0) return (walk.start + at * walk.step) % width;
    const int64_t tile = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(width))) / 32;
    return ((edge / 2 + 1) * tile - edge % 2) % width;
}

RowKind kind_of_row(Battery battery, int64_t row, int64_t rows, const InputRules& rules) {
    const bool odd = row % 2 != 0;
    switch (battery) {
        case Battery::large:
            return odd ? RowKind::huge : RowKind::large;
        case Battery::zeros:
            return RowKind::zeros;
        case Battery::constant:
            return RowKind::constant;
        case Battery::ties:
            return RowKind::ties;
        case Battery::outlier:
            return RowKind::outlier;
        case Battery::tiny:
            return RowKind::tiny;
        case Battery::negative:
            return odd ? RowKind::far_negative : RowKind::negative;
        case Battery::edges:
            return odd ? RowKind::edges_first : RowKind::edges_last;
        case Battery::mixed: {
            const int64_t begin = rows < 8 ? static_cast<int64_t>(RowKind::lonely) : 0;
            return static_cast<RowKind>((begin + row) % kRowKinds);
        }
        case Battery::special: {
            // One value a row, in turn; every fourth row stays as it is, so that a NaN that leaks into a neighbour
            // shows.
            constexpr std::array kinds{RowKind::nan, RowKind::plus_infinity, RowKind::minus_infinity, RowKind::own};
            return kinds[static_cast<size_t>(row % 4)];
        }
        case Battery::infinite: {
            const std::vector<RowKind> kinds = infinite_kinds(rules);
            return kinds[static_cast<size_t>(order_of_row(row, rows)) % kinds.size()];
        }
        case Battery::normal:
        case Battery::crowd:
        case Battery::columns:
            break;
    }
    return RowKind::own;
}

}  // namespace

std::string_view name(Battery battery) {
    constexpr std::array<std::string_view, 14> kNames{"normal",  "large",    "zeros",    "constant", "ties",
                                                      "outlier", "tiny",     "negative", "edges",    "mixed",
                                                      "special", "infinite", "crowd",    "columns"};
    return kNames[static_cast<size_t>(battery)];
}

const std::vector<Battery>& all_batteries() {
    static const std::vector<Battery> all{Battery::normal, Battery::large,   Battery::zeros,   Battery::constant,
                                          Battery::ties,   Battery::outlier, Battery::tiny,    Battery::negative,
                                          Battery::edges,  Battery::mixed,   Battery::special, Battery::infinite};
    return all;
}

bool overwrites(Battery battery) {
    return battery == Battery::zeros || battery == Battery::constant || battery == Battery::ties ||
           battery == Battery::columns;
}

int64_t parts(Battery battery, int64_t rows, int64_t width, const InputRules& rules) {
    if (!has_parts(battery) || rows == 0 || width == 0) return 1;
    const int64_t wanted =
        battery == Battery::crowd ? static_cast<int64_t>(crowd_kinds(rules).size()) : longest_walk(width, rules);
    return (wanted + rows - 1) / rows;
}

void apply(Battery battery, Tensor& tensor, uint64_t seed, std::string_view stream, const InputRules& rules,
           int64_t part) {
    if (!is_floating(tensor.dtype) || tensor.size() == 0 || battery == Battery::normal) return;
    Rng rng(seed, std::string(stream) + "/" + std::string(name(battery)) + std::to_string(part));
    const int64_t width = tensor.shape.empty() ? 1 : tensor.shape.back(), rows = tensor.size() / width;
    const Walk walk = walk_over(width, seed, rules);
    for (int64_t index = 0; index < rows; ++index) {
        const BatteryRow row{tensor, index, index * width, width};
        const int64_t place = part * rows + index;
        if (battery == Battery::columns) {
            make_comb(row, column_at(walk, place, width), rules, rng);
            continue;
        }
        const RowKind kind =
            battery == Battery::crowd ? dealt(place, seed, rules) : kind_of_row(battery, index, rows, rules);
        make_row(kind, row, tile_edge(order_of_row(index, rows), width), rules, rng);
    }
}

}  // namespace recuda

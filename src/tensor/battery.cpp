#include "tensor/battery.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "base/rng.h"

namespace recuda {
namespace {

struct Row {
    Tensor& tensor;
    int64_t first, width;

    double at(int64_t i) const { return tensor.at(first + i); }
    void set(int64_t i, double value) const { tensor.set(first + i, value); }
    template <typename Value>
    void each(Value value) const {
        set_each(tensor, first, first + width, [&](int64_t i) { return value(i - first); });
    }
};

double sign(Rng& rng) { return rng.next() & 1 ? 1.0 : -1.0; }

/// The row's largest value at its last element or its first, the second largest at the other end, and both made to
/// outweigh the rest: the larger has twice the norm of what lies between. A sum of squares without it is less than half
/// of what it should be, however long the row, and a maximum without it is another one.
void move_extremes_to_the_ends(const Row& row, bool largest_last) {
    if (row.width < 2) return;
    const auto swap_in = [&](int64_t place, int64_t begin, int64_t end) {
        int64_t at = begin;
        for (int64_t i = begin; i < end; ++i)
            if (row.at(i) > row.at(at)) at = i;
        const double moved = row.at(place);
        row.set(place, row.at(at));
        row.set(at, moved);
    };
    const int64_t last = row.width - 1, large = largest_last ? last : 0, second = largest_last ? 0 : last;
    swap_in(large, 0, last + 1);
    swap_in(second, !largest_last, last + !largest_last);
    double squares = 0;
    for (int64_t i = 1; i < last; ++i) squares += row.at(i) * row.at(i);
    const double norm = std::max(std::sqrt(squares), std::fabs(row.at(large)));
    row.set(second, norm);
    row.set(large, 2 * norm);
}

/// Places where loops and tiles end and begin: 2^k - 1 and 2^k, the largest k of the row first.
int64_t tile_edge(int64_t index, int64_t width) {
    if (width < 2) return 0;
    const int64_t top = std::bit_width(static_cast<uint64_t>(width - 1)) - 1;
    const int64_t edge = int64_t{1} << (top - index / 2 % (top + 1));
    return index % 2 == 0 ? edge - 1 : edge;
}

/// Cases of other numbers of rows go on where those of fewer ended: 1, 3, 5 and 8 rows have the first 16 edges.
int64_t edge_of_row(int64_t row, int64_t rows, int64_t width) { return tile_edge(rows * rows / 8 + row, width); }

void sort_row(const Row& row, bool rising) {
    std::vector<double> values(static_cast<size_t>(row.width));
    for (int64_t i = 0; i < row.width; ++i) values[static_cast<size_t>(i)] = row.at(i);
    std::sort(values.begin(), values.end());
    if (!rising) std::reverse(values.begin(), values.end());
    row.each([&](int64_t i) { return values[static_cast<size_t>(i)]; });
}

void make_row(RowKind kind, const Row& row, int64_t edge, Magnitudes magnitudes, Rng& rng) {
    const DType dtype = row.tensor.dtype;
    switch (kind) {
        case RowKind::uniform:
            return row.each([&](int64_t) { return rng.uniform(); });
        case RowKind::sparse: {
            const uint64_t kept = rng.below(static_cast<uint64_t>(std::min<int64_t>(100, row.width)));
            return row.each([&](int64_t i) { return static_cast<uint64_t>(i) % 100 == kept ? row.at(i) : 0; });
        }
        case RowKind::rising:
        case RowKind::falling:
            return sort_row(row, kind == RowKind::rising);
        case RowKind::lonely:
            return row.each([&](int64_t i) { return i == edge ? row.at(i) : 0; });
        case RowKind::pairs:
            return row.each([&](int64_t i) { return i % 2 == 0 ? row.at(i) : -row.at(i - 1) * (1 - 0x1p-6); });
        case RowKind::subnormal: {
            // Small enough that a kernel may flush them, before or after.
            const double unit = smallest_subnormal(dtype), most = std::max(1.0, 0x1p-128 / unit);
            return row.each(
                [&](int64_t i) { return i % 2 == 0 ? row.at(i) : sign(rng) * unit * std::ceil(most * rng.uniform()); });
        }
        case RowKind::near_ties:
            return row.each([&](int64_t) { return 1 + 2 * unit_roundoff(dtype) * static_cast<double>(rng.below(4)); });
        case RowKind::heavy:
            return row.each([&](int64_t i) { return row.at(i) * row.at(i) * row.at(i); });
        case RowKind::swaying: {
            const double value = 0.5 + rng.uniform();
            return row.each([&](int64_t i) { return i % 2 == 0 ? value : -value; });
        }
        case RowKind::halves:
            return row.each([&](int64_t i) { return row.at(i) * (2 * i < row.width ? 0x1p8 : 0x1p-8); });
        case RowKind::lowest:
            if (magnitudes == Magnitudes::any)
                return row.each([&](int64_t) { return -largest_finite(dtype) * (0.3 + 0.15 * rng.uniform()); });
            return row.each([&](int64_t) { return rng.below(4) == 0 ? 1.0 : -0.0; });
    }
}

void mix_rows(Tensor& tensor, int64_t rows, int64_t width, Magnitudes magnitudes, Rng& rng) {
    const int64_t begin = rows < 8 ? static_cast<int64_t>(RowKind::lonely) : 0;
    for (int64_t row = 0; row < rows; ++row)
        make_row(static_cast<RowKind>((begin + row) % kRowKinds), {tensor, row * width, width},
                 edge_of_row(row, rows, width), magnitudes, rng);
}

}  // namespace

std::string_view name(Battery battery) {
    constexpr std::array<std::string_view, 11> kNames{"normal", "large",    "zeros", "constant", "ties",   "outlier",
                                                      "tiny",   "negative", "edges", "mixed",    "special"};
    return kNames[static_cast<size_t>(battery)];
}

const std::vector<Battery>& all_batteries() {
    static const std::vector<Battery> all{Battery::normal, Battery::large,   Battery::zeros,  Battery::constant,
                                          Battery::ties,   Battery::outlier, Battery::tiny,   Battery::negative,
                                          Battery::edges,  Battery::mixed,   Battery::special};
    return all;
}

bool overwrites(Battery battery) {
    return battery == Battery::large || battery == Battery::zeros || battery == Battery::constant ||
           battery == Battery::ties;
}

void apply(Battery battery, Tensor& tensor, uint64_t seed, std::string_view stream, Magnitudes magnitudes) {
    if (!is_floating(tensor.dtype) || tensor.size() == 0) return;
    Rng rng(seed, std::string(stream) + "/" + std::string(name(battery)));
    const int64_t width = tensor.shape.empty() ? 1 : tensor.shape.back(), rows = tensor.size() / width;
    const auto each = [&](auto value) { set_each(tensor, 0, tensor.size(), value); };
    switch (battery) {
        case Battery::normal:
            return;
        case Battery::large:
            return each([&](int64_t) { return sign(rng) * std::exp2(40 * rng.uniform() - 20); });
        case Battery::zeros:
            return each([&](int64_t) { return 0 * sign(rng); });
        case Battery::constant:
            for (int64_t row = 0; row < rows; ++row) {
                const double value = rng.normal();
                set_each(tensor, row * width, (row + 1) * width, [&](int64_t) { return value; });
            }
            return;
        case Battery::ties:
            return each([&](int64_t) { return static_cast<double>(rng.below(4)) / 2 - 0.5; });
        case Battery::outlier:
            for (int64_t row = 0; row < rows; ++row)
                tensor.set(row * width + edge_of_row(row, rows, width), 1e4 * sign(rng));
            return;
        case Battery::tiny:
            return each(
                [&](int64_t i) { return std::ldexp(tensor.at(i), static_cast<int>(-10 - 3 * (i / width % 3))); });
        case Battery::negative:
            return each(
                [&](int64_t i) { return -(std::fabs(tensor.at(i)) + 0.5) * (i / width % 2 == 0 ? 1 : 0x1p17); });
        case Battery::edges:
            for (int64_t row = 0; row < rows; ++row)
                move_extremes_to_the_ends({tensor, row * width, width}, row % 2 == 0);
            return;
        case Battery::mixed:
            return mix_rows(tensor, rows, width, magnitudes, rng);
        case Battery::special: {
            const std::array<double, 3> values{std::nan(""), HUGE_VAL, -HUGE_VAL};
            // One value a row, in turn; every fourth row stays as it is, so that a NaN that leaks into a neighbour
            // shows.
            for (int64_t row = 0; row < rows; ++row)
                if (row % 4 < 3)
                    tensor.set(row * width + static_cast<int64_t>(rng.below(static_cast<uint64_t>(width))),
                               values[static_cast<size_t>(row % 4)]);
            return;
        }
    }
}

}  // namespace recuda

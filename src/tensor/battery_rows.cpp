#include "tensor/battery_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace recuda {
namespace {

constexpr int64_t kTeeth = 16;    // of a comb: a norm without one of them is 3 % less
constexpr int64_t kSections = 8;  // of a row, each with a special value: what a fused row joins differs in its meaning

double sign(Rng& rng) { return rng.next() & 1 ? 1.0 : -1.0; }

/// The row's largest value at its last element or its first, the second largest at the other end, and both made to
/// outweigh the rest: the larger has twice the norm of what lies between. A sum of squares without it is less than half
/// of what it should be, however long the row, and a maximum without it is another one.
void move_extremes_to_the_ends(const BatteryRow& row, bool largest_last) {
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

void sort_row(const BatteryRow& row, bool rising) {
    std::vector<double> values(static_cast<size_t>(row.width));
    for (int64_t i = 0; i < row.width; ++i) values[static_cast<size_t>(i)] = row.at(i);
    std::sort(values.begin(), values.end());
    if (!rising) std::reverse(values.begin(), values.end());
    row.each([&](int64_t i) { return values[static_cast<size_t>(i)]; });
}

/// One binade and a half far above one. Of several tensors one alone, so that no product of two leaves float's range.
void make_huge(const BatteryRow& row, const InputRules& rules, Rng& rng) {
    if (static_cast<uint64_t>(row.index / 2) % rules.turns != rules.turn) return;
    const int largest = std::ilogb(largest_finite(row.tensor.dtype)) - 3;
    // 2^126 = width * (2^top)^2.
    const int summable = (126 - std::bit_width(static_cast<uint64_t>(row.width))) / 2 - 2;
    const int top = std::min(largest, rules.summable ? summable : largest);
    const int low = std::min(24, top);
    const double scale = std::exp2(low + static_cast<double>(rng.below(static_cast<uint64_t>(top - low) + 1)));
    row.each([&](int64_t) { return sign(rng) * scale * (1 + rng.uniform()); });
}

/// One of a value in each section, at random places, so that every part of the row has it; every other time one alone,
/// so that what leaks from one part to another shows.
void scatter(const BatteryRow& row, double value, Rng& rng) {
    const int64_t sections = row.index / 4 % 2 == 0 ? std::min(kSections, row.width) : 1;
    for (int64_t i = 0; i < sections; ++i) {
        const int64_t begin = row.width * i / sections, end = row.width * (i + 1) / sections;
        row.set(begin + static_cast<int64_t>(rng.below(static_cast<uint64_t>(end - begin))), value);
    }
}

/// A weight has few rows, often one: its sections have the special values in turn.
void scatter_all(const BatteryRow& row, Rng& rng) {
    const std::array<double, 3> values{std::nan(""), HUGE_VAL, -HUGE_VAL};
    const int64_t sections = std::min<int64_t>(3, row.width);
    for (int64_t i = 0; i < sections; ++i) {
        const int64_t begin = row.width * i / sections, end = row.width * (i + 1) / sections;
        row.set(begin + static_cast<int64_t>(rng.below(static_cast<uint64_t>(end - begin))),
                values[static_cast<size_t>((i + row.index) % 3)]);
    }
}

/// One +inf alone, which wins whatever stands beside it: in even rows behind the middle, where no first tile is.
void win(const BatteryRow& row, Rng& rng) {
    const int64_t begin = row.index % 2 == 0 ? row.width / 2 : 0;
    row.set(begin + static_cast<int64_t>(rng.below(static_cast<uint64_t>(row.width - begin))), HUGE_VAL);
}

void mask(const BatteryRow& row, RowKind kind, Rng& rng) {
    if (kind == RowKind::masked) {
        // Every second element keeps its value, from a random one on, and with it whatever has to be chosen.
        const auto kept = static_cast<int64_t>(rng.below(2));
        for (int64_t i = 0; i < row.width; ++i)
            if (i % 2 != kept) row.set(i, -HUGE_VAL);
        return;
    }
    const auto left = static_cast<int64_t>(rng.below(static_cast<uint64_t>(row.width)));
    for (int64_t i = 0; i < row.width; ++i)
        if (kind == RowKind::all_masked || i != left) row.set(i, -HUGE_VAL);
}

}  // namespace

int64_t comb_stride(int64_t width, const InputRules& rules) {
    return rules.summable ? std::max<int64_t>(1, (width + kTeeth - 1) / kTeeth) : width;
}

void make_comb(const BatteryRow& row, int64_t column, const InputRules& rules, Rng& rng) {
    if (!rules.summable) {
        row.each([&](int64_t) { return rng.uniform(); });
        row.set(column, 2 + rng.uniform());
        return;
    }
    const int64_t stride = comb_stride(row.width, rules);
    row.each([&](int64_t i) { return i % stride == column % stride ? sign(rng) * (1 + 0.25 * rng.uniform()) : 0; });
}

void make_row(RowKind kind, const BatteryRow& row, int64_t edge, const InputRules& rules, Rng& rng) {
    const DType dtype = row.tensor.dtype;
    switch (kind) {
        case RowKind::own:
            return;
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
            if (!rules.summable)
                return row.each([&](int64_t) { return -largest_finite(dtype) * (0.3 + 0.15 * rng.uniform()); });
            return row.each([&](int64_t) { return rng.below(4) == 0 ? 1.0 : -0.0; });
        case RowKind::large:
            return row.each([&](int64_t) { return sign(rng) * std::exp2(40 * rng.uniform() - 20); });
        case RowKind::huge:
            return make_huge(row, rules, rng);
        case RowKind::zeros:
            return row.each([&](int64_t) { return 0 * sign(rng); });
        case RowKind::constant: {
            const double value = rng.normal();
            return row.each([&](int64_t) { return value; });
        }
        case RowKind::ties:
            return row.each([&](int64_t) { return static_cast<double>(rng.below(4)) / 2 - 0.5; });
        case RowKind::outlier:
            return row.set(edge, 1e4 * sign(rng));
        case RowKind::tiny:
            return row.each(
                [&](int64_t i) { return std::ldexp(row.at(i), static_cast<int>(-10 - 3 * (row.index % 3))); });
        case RowKind::negative:
        case RowKind::far_negative:
            return row.each(
                [&](int64_t i) { return -(std::fabs(row.at(i)) + 0.5) * (kind == RowKind::negative ? 1 : 0x1p17); });
        case RowKind::edges_last:
        case RowKind::edges_first:
            return move_extremes_to_the_ends(row, kind == RowKind::edges_last);
        case RowKind::nan:
            return rules.weight ? scatter_all(row, rng) : scatter(row, std::nan(""), rng);
        case RowKind::plus_infinity:
            return rules.nan ? scatter(row, HUGE_VAL, rng) : win(row, rng);
        case RowKind::minus_infinity:
            return scatter(row, -HUGE_VAL, rng);
        case RowKind::masked:
        case RowKind::one_left:
        case RowKind::all_masked:
            return mask(row, kind, rng);
    }
}

}  // namespace recuda

#include "judge/corruptions.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace recuda {
namespace {

constexpr double kFinestRoundoff = 0x1p-20;  // of the acceptance test: f32 outputs are held to no more

/// Rows of the last extent; of a vector each element is one.
int64_t width_of(const Tensor& tensor) { return tensor.shape.size() > 1 ? tensor.shape.back() : 1; }
int64_t rows_of(const Tensor& tensor) { return tensor.size() / width_of(tensor); }

void copy_rows(Tensor& into, const Tensor& from, int64_t first, int64_t last) {
    const auto row_bytes = static_cast<std::ptrdiff_t>(width_of(into) * size_bytes(into.dtype));
    std::copy(from.bytes.begin() + first * row_bytes, from.bytes.begin() + last * row_bytes,
              into.bytes.begin() + first * row_bytes);
}

/// The output that stores change(i, y_i) of every exact value.
template <typename Change>
Tensor stored(const OutputSight& sight, Change change) {
    Tensor tensor = sight.right;
    for (int64_t i = 0; i < tensor.size(); ++i)
        tensor.set(i, change(i, sight.expected->values[static_cast<size_t>(i)]));
    return tensor;
}

Tensor scaled(const OutputSight& sight, double factor) {
    return stored(sight, [&](int64_t, double y) { return factor * y; });
}

Tensor zeros(const OutputSight& sight) { return {sight.right.dtype, sight.right.shape}; }

Tensor mean(const OutputSight& sight) {
    double sum = 0, count = 0;
    for (int64_t i = 0; i < sight.right.size(); ++i)
        if (const double value = sight.right.at(i); std::isfinite(value)) sum += value, ++count;
    Tensor tensor = sight.right;
    for (int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, count > 0 ? sum / count : 0);
    return tensor;
}

Tensor other_seed(const OutputSight& sight) { return sight.other; }

Tensor last_row_stale(const OutputSight& sight) {
    Tensor tensor = sight.right;
    copy_rows(tensor, sight.other, rows_of(tensor) - 1, rows_of(tensor));
    return tensor;
}

Tensor last_tile_stale(const OutputSight& sight) {
    Tensor tensor = sight.right;
    copy_rows(tensor, sight.other, rows_of(tensor) - (rows_of(tensor) + 3) / 4, rows_of(tensor));
    return tensor;
}

Tensor rows_swapped(const OutputSight& sight) {
    Tensor tensor = sight.right;
    const int64_t rows = rows_of(tensor), first = rows > 1 ? static_cast<int64_t>(sight.rng.below(rows - 1)) : 0;
    const auto row_bytes = static_cast<std::ptrdiff_t>(width_of(tensor) * size_bytes(tensor.dtype));
    std::swap_ranges(tensor.bytes.begin() + first * row_bytes, tensor.bytes.begin() + (first + 1) * row_bytes,
                     tensor.bytes.begin() + (rows - 1) * row_bytes);
    return tensor;
}

Tensor left_as_before(const OutputSight& sight) { return sight.before ? *sight.before : sight.right; }

/// One element off by 16 units of roundoff of itself and its row, four times what the criterion `element` allows.
Tensor element_off(const OutputSight& sight, int64_t at) {
    const Expected& expected = *sight.expected;
    const double roundoff = std::max(unit_roundoff(expected.dtype), kFinestRoundoff),
                 rms = expected.row_norm[static_cast<size_t>(at / expected.width)] /
                       std::sqrt(static_cast<double>(expected.width)),
                 value = expected.values[static_cast<size_t>(at)];
    Tensor tensor = sight.right;
    if (std::isfinite(value)) tensor.set(at, value + 16 * roundoff * (std::fabs(value) + rms));
    return tensor;
}

Tensor some_element_off(const OutputSight& sight) {
    return element_off(sight, static_cast<int64_t>(sight.rng.below(static_cast<uint64_t>(sight.right.size()))));
}

Tensor last_element_off(const OutputSight& sight) { return element_off(sight, sight.right.size() - 1); }

Tensor overflowed(const OutputSight& sight) {
    return stored(sight, [](int64_t, double y) { return std::fabs(y) < 65520 ? y : y * HUGE_VAL; });
}

Tensor half_percent(const OutputSight& sight) { return scaled(sight, 1.005); }
Tensor fifth_of_a_percent(const OutputSight& sight) {
    return stored(sight, [](int64_t, double y) { return y > 0 ? 1.002 * y : y; });
}
Tensor twice(const OutputSight& sight) { return scaled(sight, 2); }
Tensor positive(const OutputSight& sight) {
    return stored(sight, [](int64_t, double y) { return std::fabs(y); });
}

/// Toward zero. Of wider types than 16 bits what that changes is finer than anything that is asked for.
Tensor truncated(const OutputSight& sight) {
    if (unit_roundoff(sight.right.dtype) < kFinestRoundoff || size_bytes(sight.right.dtype) != 2) return sight.right;
    Tensor tensor = sight.right;
    for (int64_t i = 0; i < tensor.size(); ++i)
        if (std::fabs(tensor.at(i)) > std::fabs(sight.expected->values[static_cast<size_t>(i)]))
            --tensor.as<uint16_t>()[static_cast<size_t>(i)];  // sign and magnitude: one less is one step to zero
    return tensor;
}

Tensor nan_swallowed(const OutputSight& sight) {
    return stored(sight, [](int64_t, double y) { return std::isnan(y) ? 0 : y; });
}
Tensor infinity_clipped(const OutputSight& sight) {
    const double largest = largest_finite(sight.right.dtype);
    return stored(sight, [&](int64_t, double y) { return std::isinf(y) ? std::copysign(largest, y) : y; });
}
/// Into the row behind the first that has one.
Tensor nan_leaked(const OutputSight& sight) {
    Tensor tensor = sight.right;
    const int64_t width = width_of(tensor);
    for (int64_t i = 0; i + width < tensor.size(); ++i)
        if (std::isnan(tensor.at(i))) {
            tensor.set(i + width, NAN);
            break;
        }
    return tensor;
}

/// Column `to` of every row becomes what column `from` is; from = -1: zero.
Tensor column(const OutputSight& sight, int64_t to, int64_t from) {
    Tensor tensor = sight.right;
    const int64_t width = width_of(tensor);
    if (width < 2) return tensor;
    for (int64_t first = 0; first < tensor.size(); first += width)
        tensor.set(first + to, from < 0 ? 0 : sight.right.at(first + from));
    return tensor;
}
Tensor column_dropped(const OutputSight& sight) {
    return column(sight, static_cast<int64_t>(sight.rng.below(static_cast<uint64_t>(width_of(sight.right)))), -1);
}
Tensor first_elements(const OutputSight& sight) { return column(sight, 0, 1); }
Tensor last_elements(const OutputSight& sight) {
    return column(sight, width_of(sight.right) - 1, width_of(sight.right) - 2);
}

// Honest ones. What f32 arithmetic does to a value, and to a factor that a row shares.
Tensor noise(const OutputSight& sight) {
    return stored(sight, [&](int64_t, double y) { return y * (1 + 4 * 0x1p-24 * sight.rng.normal()); });
}
Tensor row_noise(const OutputSight& sight) {
    const int64_t width = width_of(sight.right);
    double factor = 1;
    return stored(sight, [&](int64_t i, double y) {
        if (i % width == 0) factor = 1 + 4 * 0x1p-24 * (2 * sight.rng.uniform() - 1);
        return y * factor;
    });
}
Tensor rounded_by_f32(const OutputSight& sight) {
    return stored(sight, [](int64_t, double y) { return static_cast<double>(static_cast<float>(y)); });
}
Tensor flushed(const OutputSight& sight) {
    return stored(sight, [](int64_t, double y) { return std::fabs(y) < 0x1p-126 ? std::copysign(0, y) : y; });
}
Tensor zeros_of_the_other_sign(const OutputSight& sight) {
    return stored(sight, [](int64_t, double y) { return y == 0 ? -y : y; });
}

/// Places of one row and the scores that they rank.
struct Places {
    Tensor& tensor;
    const Tensor& scores;
    int64_t row, choices, candidates;

    int64_t at(int64_t k) const { return static_cast<int64_t>(tensor.at(row * choices + k)); }
    void set(int64_t k, int64_t place) const { tensor.set(row * choices + k, static_cast<double>(place)); }
    double score(int64_t place) const { return scores.at(row * candidates + place); }
    bool taken(int64_t place) const {
        for (int64_t k = 0; k < choices; ++k)
            if (at(k) == place) return true;
        return false;
    }
    /// Below which two scores may be taken for equal.
    double noise() const {
        double largest = 0;
        for (int64_t e = 0; e < candidates; ++e) largest = std::max(largest, std::fabs(score(e)));
        return 0x1p-19 * largest;
    }
};

template <typename Change>
Tensor each_row(const OutputSight& sight, Change change) {
    Tensor tensor = sight.right;
    const int64_t choices = width_of(tensor), rows = tensor.size() / choices;
    for (int64_t row = 0; row < rows; ++row)
        change(Places{tensor, *sight.scores, row, choices, sight.scores->size() / rows});
    return tensor;
}

Tensor twice_the_same(const OutputSight& sight) {
    return each_row(sight, [](const Places& row) {
        if (row.choices > 1) row.set(row.choices - 1, row.at(0));
    });
}
Tensor beyond_the_end(const OutputSight& sight) {
    return each_row(sight, [](const Places& row) { row.set(row.choices - 1, row.candidates); });
}
Tensor before_the_beginning(const OutputSight& sight) {
    return each_row(sight, [](const Places& row) { row.set(0, -1); });
}
Tensor in_reverse(const OutputSight& sight) {
    return each_row(sight, [](const Places& row) {
        if (row.score(row.at(0)) - row.score(row.at(row.choices - 1)) <= row.noise()) return;
        for (int64_t k = 0; k < row.choices / 2; ++k) {
            const int64_t moved = row.at(k);
            row.set(k, row.at(row.choices - 1 - k));
            row.set(row.choices - 1 - k, moved);
        }
    });
}
Tensor tie_the_other_way(const OutputSight& sight) {
    return each_row(sight, [](const Places& row) {
        const int64_t last = row.choices - 1;
        for (int64_t e = row.candidates; e-- > 0;)
            if (!row.taken(e) && row.score(e) == row.score(row.at(last)) && e > row.at(last)) return row.set(last, e);
    });
}
Tensor second_best(const OutputSight& sight) {
    return each_row(sight, [](const Places& row) {
        int64_t best = -1;
        for (int64_t e = 0; e < row.candidates; ++e)
            if (!row.taken(e) && (best < 0 || row.score(e) > row.score(best))) best = e;
        const int64_t last = row.choices - 1;
        if (best >= 0 && row.score(row.at(last)) - row.score(best) > row.noise()) row.set(last, best);
    });
}

Tensor some_bit(const OutputSight& sight) {
    Tensor tensor = sight.right;
    const uint64_t bit = sight.rng.below(8 * tensor.bytes.size());
    tensor.bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    return tensor;
}
Tensor last_bit(const OutputSight& sight) {
    Tensor tensor = sight.right;
    tensor.bytes[tensor.bytes.size() - size_bytes(tensor.dtype)] ^= std::byte{1};
    return tensor;
}

std::vector<Corruption> with_common(std::vector<Corruption> more) {
    std::vector<Corruption> all{{"zeros", false, zeros},
                                {"the mean everywhere", false, mean},
                                {"another seed's output", false, other_seed},
                                {"last row stale", false, last_row_stale},
                                {"last quarter of the rows stale", false, last_tile_stale},
                                {"two rows swapped", false, rows_swapped},
                                {"state left as it was", false, left_as_before}};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

const std::vector<Corruption>& float_corruptions() {
    static const std::vector<Corruption> all =
        with_common({{"one element 16 units of roundoff off", false, some_element_off},
                     {"the last element 16 units of roundoff off", false, last_element_off},
                     {"overflow beyond half precision", false, overflowed},
                     {"half a percent large", false, half_percent},
                     {"positive ones 0.2 percent large", false, fifth_of_a_percent},
                     {"twice as large", false, twice},
                     {"signs lost", false, positive},
                     {"truncated instead of rounded", false, truncated},
                     {"NaN swallowed", false, nan_swallowed},
                     {"infinity clipped", false, infinity_clipped},
                     {"NaN leaked into the next row", false, nan_leaked},
                     {"a column dropped", false, column_dropped},
                     {"first elements of rows wrong", false, first_elements},
                     {"last elements of rows wrong", false, last_elements},
                     {"noise of f32", true, noise},
                     {"noise of f32 that a row shares", true, row_noise},
                     {"rounded by f32 first", true, rounded_by_f32},
                     {"subnormal results flushed", true, flushed},
                     {"zeros of the other sign", true, zeros_of_the_other_sign}});
    return all;
}

const std::vector<Corruption>& place_corruptions() {
    static const std::vector<Corruption> all = with_common({{"one place twice", false, twice_the_same},
                                                            {"a place beyond the end", false, beyond_the_end},
                                                            {"a negative place", false, before_the_beginning},
                                                            {"order reversed", false, in_reverse},
                                                            {"tie taken the other way", false, tie_the_other_way},
                                                            {"second best taken", false, second_best}});
    return all;
}

const std::vector<Corruption>& bit_corruptions() {
    static const std::vector<Corruption> all =
        with_common({{"one bit", false, some_bit}, {"the last element's lowest bit", false, last_bit}});
    return all;
}

}  // namespace recuda

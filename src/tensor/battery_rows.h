// What the rows of the battery's kinds hold.
#pragma once

#include "base/rng.h"
#include "tensor/battery.h"

namespace recuda {

struct BatteryRow {
    Tensor& tensor;
    int64_t index, first, width;  // which row, its first element, its elements

    double at(int64_t i) const { return tensor.at(first + i); }
    void set(int64_t i, double value) const { tensor.set(first + i, value); }
    template <typename Value>
    void each(Value value) const {
        set_each(tensor, first, first + width, [&](int64_t i) { return value(i - first); });
    }
};

/// `edge` is the element that `lonely` and `outlier` are about.
void make_row(RowKind kind, const BatteryRow& row, int64_t edge, const InputRules& rules, Rng& rng);

/// A row that hangs on few columns from `column` on: of summed values 16 at equal distances, of compared ones the
/// largest.
void make_comb(const BatteryRow& row, int64_t column, const InputRules& rules, Rng& rng);

/// Distance between the columns of a comb; rows at all offsets below it have every column.
int64_t comb_stride(int64_t width, const InputRules& rules);

}  // namespace recuda

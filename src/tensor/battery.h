// The battery of inputs that break careless kernels (docs/verification.md says which kind finds which fault).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace recuda {

/// The inputs that every op is verified with (research: judge.md B.4). `normal` is the op's own fill.
enum class Battery {
    normal,
    large,     // magnitudes 2^-20 … 2^20, both signs; odd rows far above, each tensor in turn
    zeros,     // zeros of both signs
    constant,  // each row one value
    ties,      // quantised to a few levels
    outlier,   // one element of each row 1e4, at the powers of two where tiles end and begin
    tiny,      // the op's own fill times 2^-10, 2^-13 and 2^-16: an epsilon beside a mean square or a sum shows
    negative,  // the op's own fill below -0.5, odd rows below -2^16: a maximum that starts at 0 or at some -1e4 shows
    edges,     // each row's largest value at its end, the second largest at the other: skipped ends show
    mixed,     // each row of another kind: see RowKind
    special,   // NaN, +inf and -inf, each in rows of its own and in every part of them, other rows as usual
    infinite,  // what `special` is for ops that compare and know no NaN: masked rows, +inf
    crowd,     // rows of every kind of all the others, dealt at random: for many rows
    columns,   // each row hangs on a few columns, which walk over all of them from row to row
};

/// What a row is. Those of `mixed` come first, one after another; rows of a case with fewer than eight begin at
/// `lonely`.
enum class RowKind {
    uniform,    // [0, 1)
    sparse,     // the own fill at one element of a hundred, else zeros
    rising,     // sorted
    falling,    // sorted the other way
    pairs,      // x, -x + a little: sums cancel
    subnormal,  // every second element is subnormal
    heavy,      // cubes of the own fill
    halves,     // the first half times 2^8, the other times 2^-8
    lonely,     // one element alone is not zero
    near_ties,  // a few neighbouring numbers of the type
    swaying,    // one magnitude, signs in turn
    lowest,     // around -1.3e38 (of smaller types a third of the range) where magnitudes may be any, else -0 and 1
    // Those of other kinds of the battery:
    own,
    large,
    huge,  // between 2^24 and what may be squared and added, or the type holds
    zeros,
    constant,
    ties,
    outlier,
    tiny,
    negative,
    far_negative,
    edges_last,
    edges_first,
    nan,
    plus_infinity,
    minus_infinity,
    masked,      // -inf at every second element or so
    one_left,    // -inf but for one element
    all_masked,  // -inf
};
inline constexpr int64_t kRowKinds = 12;  // of `mixed`

/// What an op does with its inputs, as far as it bounds them.
struct InputRules {
    bool summable = true;   // a row's sum of squares must stay below float overflow; else values are only compared
    bool nan = true;        // specified for NaN and infinities
    bool infinity = false;  // without NaN: for +inf and for rows that are -inf altogether, too
    bool weight = false;    // no extent of the tensor varies
    uint64_t turn = 0, turns = 1;  // which of so many data tensors this is: `huge` takes one of them a row
};

std::string_view name(Battery battery);

/// All kinds that few rows are enough for, `normal` first.
const std::vector<Battery>& all_batteries();

/// Whether a case of this kind is one of several that go on from each other, told apart by `part`.
inline bool has_parts(Battery battery) { return battery == Battery::crowd || battery == Battery::columns; }

/// How many parts of `rows` rows a kind takes until every kind of row, every column has been met.
int64_t parts(Battery battery, int64_t rows, int64_t width, const InputRules& rules);

/// Whether the kind does not look at the values that are there.
bool overwrites(Battery battery);

/// Changes a filled floating tensor in place. Rows are those of the last extent; what is random comes from seed and
/// stream. What is dealt to a row by `crowd` and `columns` is the same for all streams of a seed.
void apply(Battery battery, Tensor& tensor, uint64_t seed, std::string_view stream, const InputRules& rules = {},
           int64_t part = 0);

}  // namespace recuda

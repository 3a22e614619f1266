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
    large,     // magnitudes 2^-20 … 2^20, both signs: a row's sum of squares stays below float overflow
    zeros,     // zeros of both signs
    constant,  // each row one value
    ties,      // quantised to a few levels
    outlier,   // one element of each row 1e4, at the powers of two where tiles end and begin
    tiny,      // the op's own fill times 2^-10, 2^-13 and 2^-16: an epsilon beside a mean square or a sum shows
    negative,  // the op's own fill below -0.5, odd rows below -2^16: a maximum that starts at 0 or at some -1e4 shows
    edges,     // each row's largest value at its end, the second largest at the other: skipped ends show
    mixed,     // each row of another kind: see RowKind
    special,   // NaN, +inf and -inf, each in a row of its own, other rows as usual
};

/// What the rows of `mixed` are, one after another; rows of a case with fewer than eight begin at `lonely`.
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
};
inline constexpr int64_t kRowKinds = 12;

/// Whether a row's sum of squares must stay below float overflow, or values are only compared.
enum class Magnitudes { summable, any };

std::string_view name(Battery battery);

/// All kinds, `normal` first.
const std::vector<Battery>& all_batteries();

/// Whether the kind does not look at the values that are there.
bool overwrites(Battery battery);

/// Changes a filled floating tensor in place. Rows are those of the last extent; what is random comes from seed and
/// stream.
void apply(Battery battery, Tensor& tensor, uint64_t seed, std::string_view stream,
           Magnitudes magnitudes = Magnitudes::summable);

}  // namespace recuda

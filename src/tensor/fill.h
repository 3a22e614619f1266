// How tensors get their values: fills as texts name them, and the battery of inputs that break careless kernels.
//
//   zeros | iota | const(V) | uniform(A, B) | normal(M, S) | cos_table | sin_table | [v, v, …]
//
// cos_table and sin_table are cosine and sine of one hidden table of angles: same seed, same angles, whatever the
// tensors' names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace recuda {

struct Fill {
    enum class Kind { zeros, iota, constant, uniform, normal, cos_table, sin_table, list } kind = Kind::zeros;
    double a = 0, b = 0;            // const(a), uniform(a, b), normal(mean a, deviation b)
    std::vector<std::string> list;  // literals as written; const(a) has one
};

/// Throws Error that names the text and the forms there are.
Fill parse_fill(std::string_view text);

/// A tensor with these values. `stream` separates tensors of one seed.
Tensor filled(const Fill& fill, DType dtype, const Shape& shape, uint64_t seed, std::string_view stream);

/// The inputs that every op is verified with (research: judge.md B.4). `normal` is the op's own fill.
enum class Battery {
    normal,
    large,     // magnitudes 2^-20 … 2^20, both signs: a row's sum of squares stays below float overflow
    zeros,     // zeros of both signs
    constant,  // each row one value
    ties,      // quantised to a few levels
    outlier,   // one element of each row 1e4
    tiny,      // the op's own fill times 2^-10: an epsilon beside a mean square shows
    negative,  // the op's own fill below -0.5, odd rows below -2^16: a maximum that starts at 0 or at some -1e4 shows
    edges,     // each row's largest value at its end, the second largest at the other: skipped ends show
    special,   // NaN, +inf and -inf, each in a row of its own, other rows as usual
};

std::string_view name(Battery battery);

/// All kinds, `normal` first.
const std::vector<Battery>& all_batteries();

/// Changes a filled floating tensor in place. Rows are those of the last extent; what is random comes from seed and
/// stream.
void apply(Battery battery, Tensor& tensor, uint64_t seed, std::string_view stream);

}  // namespace recuda

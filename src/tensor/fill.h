// How tensors get their values: fills as texts name them.
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

}  // namespace recuda

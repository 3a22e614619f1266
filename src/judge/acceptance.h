// When a result is right: an output against the reference in double, no worse than a trusted implementation's own error
// by a stated factor (docs/verification.md has the reasons and what each criterion catches).
//
// With y the reference in double, c the candidate's output, u the unit roundoff of the output's type, but no finer than
// 2^-20 (arithmetic in f32 with its approximate functions is what candidates are made of), and `floor` = 0.425 u, the
// relative norm of correct rounding's own error, or that of these very values where it is larger:
//
//   special  NaN, +inf and -inf stand exactly where the reference, rounded to the output's type, has them
//   global   |c - y| / |y|                      <= max(2 e_b, 1.5 floor, 2 u of few), e_b the trusted implementation's
//   row      the same for each row              <= max(6 e_b, 4.5 floor, 4.5 u of few, 2 e_b of the row)
//   element  |c - y| / (|y| + RMS of the row)   <= 4 u
//   bias     |mean of sign(y) (c - y)|          <= max(6 s / sqrt(n), the same of the rows' sums, twice the trusted
//   implementation's) + twice that of the reference with other intermediate roundings (inputs `normal`, n >= 1024, 8
//   rows, of one workload or of all together)
//
// `few`: the floor is a mean over many roundings that go their own ways. Where few values carry the norm (every kind of
// input but `normal`: rows of one value, of few levels, with one element that outweighs the rest; and fewer than 256
// elements) they may all go one way: a row of one value moves by a whole u when a right kernel rounds an intermediate
// result, and by another with the result itself. There the largest errors count, u each, not their root mean square.
//
// To |c - y| belongs an absolute allowance of the smallest normal number of f32, so that results may be flushed.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace recuda {

/// What an output must be, with everything about it that does not depend on the candidate.
struct Expected {
    std::string name;           // of the tensor
    DType dtype = DType::bf16;  // as the candidate stores it
    Shape shape;
    std::vector<double> values;  // row-major
    bool typical = false;        // of inputs `normal`: the criterion `bias` applies, and roundings differ
    double other_bias = 0;       // of the reference with other intermediate roundings

    // Made by `expect`: over finite values alone, rows of the last extent.
    int64_t width = 1;
    bool few = false;
    double norm = 0, floor = 0, mean_magnitude = 0;
    std::vector<double> row_norm, row_floor;
};

/// `values` in double, as the reference gave them.
Expected expect(std::string name, DType dtype, Shape shape, std::vector<double> values, bool typical);

/// What a trusted implementation's own output differs by.
struct OwnError {
    double global = 0, bias = 0;
    std::vector<double> rows;
};

/// The criterion that came nearest to failing, or failed; right exactly when error <= bound.
struct Finding {
    double error = 0, bound = 0;  // of special values: NaN where one is or should be one, else infinity; 0 allowed
    std::string criterion;        // "row 127" …
    std::string detail;           // of a failure: what was seen and wanted, a few elements

    bool right() const { return error <= bound; }
    /// How near to failing: above 1 is wrong.
    double nearness() const;
};

/// The finding that speaks more against the candidate.
Finding worse(Finding a, Finding b);

/// Compares floating outputs; `own` may be null: then the floor alone counts.
Finding compare(const Expected& expected, const std::vector<double>& seen, const OwnError* own);

/// What the criterion `bias` is made of, added up over outputs: those of one workload may be too few for it.
struct BiasSums {
    int64_t count = 0;
    double sum = 0, error_squares = 0, magnitudes = 0;
    double own = 0, other = 0;                     // the largest of a trusted implementation, of other roundings
    std::vector<std::pair<double, int64_t>> rows;  // each row's part of sum and count

    void add(const BiasSums& more);
    bool has_power() const;  // enough elements and rows
    Finding finding(const std::string& tensor) const;
};
BiasSums bias_sums(const Expected& expected, const std::vector<double>& seen, const OwnError* own);

/// Compares bits: integers, and every output of an exact task. Floating values are the reference's, rounded; a NaN
/// equals any other.
Finding compare_exactly(const Expected& expected, const Tensor& seen);

OwnError own_error(const Expected& expected, const std::vector<double>& seen);

/// "y[2, 1000]" of a flat index.
std::string element_name(const std::string& tensor, const Shape& shape, int64_t index);

}  // namespace recuda

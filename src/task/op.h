// An op: a mathematical operation with axes, named tensors and scalars, cost formulas and a reference.
// `ops/<name>/op.toml`.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/expression.h"
#include "task/fact_kind.h"
#include "tensor/fill.h"

namespace recuda {

struct Axis {
    std::string name, about;
};

/// A named tensor of an op. Extents are expressions over axes.
struct TensorSpec {
    std::string name;
    DType dtype = DType::f32;
    std::vector<Expression> shape;
    std::optional<Expression>
        row_stride;  // in elements: rows (all but the last extent, flattened) lie this far apart in a wider buffer
    Fill fill;
    bool battery = true;  // takes part in the battery of special inputs
    bool inout = false;   // read and written in place
    std::string choice;   // output of a top-k: the auxiliary tensor whose scores were ranked, falling, of equals the
                          // lowest index first
    std::string given;    // output compared for the values that the candidate wrote to this other output
};

struct ScalarSpec {
    std::string name;
    DType dtype = DType::f32;
};

/// A choice where implementations legitimately differ.
struct OptionSpec {
    std::string name;
    std::vector<std::string> values;
    std::string default_value, about;
};

/// A change of the op's plain seed: the text `replace`, which stands there once, becomes `by`.
struct SeedEdit {
    std::string name;
    bool right = false;  // whether what it makes must be accepted
    std::string replace, by;
};

/// Where the plain seed adds up: `replace` becomes `by`, in which SUM stands for the sum of `term` (an f32 expression
/// of `i`) over 0 <= i < `count`.
struct SeedSum {
    std::string replace, by, term, count;
};

/// How the judgement of an op's outputs is tested beside what is tested of every op (docs/verification.md).
struct OracleTests {
    std::map<std::string, int64_t, std::less<>> axes;        // constants to test with instead of the task's
    std::map<std::string, std::string, std::less<>> ranked;  // integer outputs that are places in an input's rows
    std::vector<std::string> hidden;                         // corruptions that the op's types cannot show
    std::optional<SeedSum> sum;
    std::vector<SeedEdit> edits;
};

/// That an op is a matrix product, by the names of its tensors: result[m, n] = left[m, k] right[n, k]^T.
struct ProductSpec {
    std::string left, right, result;
};

struct Op {
    std::string name, summary, source;
    std::filesystem::path folder;
    bool exact = false;            // outputs compare bitwise, and a second run must give the same bits
    bool special_inputs = true;    // specified for NaN and infinity too
    bool infinite_inputs = false;  // without NaN: for any infinity; else for some that are -inf
    std::vector<Axis> axes;
    std::vector<OptionSpec> options;
    std::vector<TensorSpec> inputs, outputs, auxiliaries;  // an inout tensor stands among the inputs alone
    std::vector<ScalarSpec> scalars;
    std::optional<Expression> bytes;  // default: every tensor moved once, inout twice
    std::optional<Expression> flops;
    std::vector<FactKind> forbid,
        allow;  // what a candidate's code may not do here, beyond or against the judge's rules
    OracleTests tests;
    std::optional<ProductSpec> product;

    /// The tensor of that name among inputs and outputs, or null.
    const TensorSpec* tensor(std::string_view name) const;
    const ScalarSpec* scalar(std::string_view name) const;
    const OptionSpec* option(std::string_view name) const;
    bool has_axis(std::string_view name) const;
    /// Inputs and outputs, in this order: what a kernel may name as an argument.
    std::vector<const TensorSpec*> tensors() const;
};

/// Reads `folder/op.toml`. Throws Error with file, line and what is wrong.
Op read_op(const std::filesystem::path& folder);

}  // namespace recuda

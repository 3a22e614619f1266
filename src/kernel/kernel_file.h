// The kernel file: one source with a header of directives. It is what people and models write, what is judged, and what
// ships.
//
// Directives are comment lines that begin with `//!` (CUDA C++) or `#!` (Triton):
//
//   task NAME                               the task it is written for
//   idea TEXT                               one line for people
//   tune NAME = value, value, …             a tunable; the first value of each is tried first
//   require EXPRESSION                      points where it is 0 are not legal
//   scratch NAME : TYPE[EXTENT, …] [zeroed] workspace
//   uses cutlass                            further include folders
//   launch …                                see launch_syntax.h; several run in order
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/expression.h"
#include "tensor/dtype.h"

namespace recuda {

struct Op;

enum class Language { cuda, triton };

/// Where a directive's part stands in the file, 1-based.
struct Position {
    uint32_t line = 0, column = 0;
};

/// An expression and where it stands.
struct PlacedExpression {
    Expression expression;
    Position position;
};

struct Tunable {
    std::string name;
    std::vector<int64_t> values;
    Position position;
};

struct ScratchDirective {
    std::string name;
    DType dtype = DType::f32;
    std::vector<PlacedExpression> shape;
    bool zeroed = false;
    Position position;
};

/// A TMA descriptor over a buffer among a launch's arguments.
struct TensorMapDirective {
    std::string buffer;
    std::vector<PlacedExpression> dims, strides, box, element_strides;  // innermost first
    PlacedExpression swizzle;
    bool nan_fill = false;
};

/// What stands in an argument's place: an expression (a single name may be a buffer, a scalar or an axis), or a tensor
/// map.
struct ArgumentDirective {
    PlacedExpression value;
    std::shared_ptr<const TensorMapDirective> tensor_map;
    /// The name when the argument is a single name, else "".
    std::string name() const;
};

struct NamedExpression {
    std::string name;
    PlacedExpression value;
};

struct LaunchDirective {
    Position position;
    std::string text;  // as written, for the digest and for messages
    std::string kernel;
    std::vector<PlacedExpression> grid, block, cluster;
    std::vector<PlacedExpression> shared;  // none or one
    bool cooperative = false, programmatic = false;
    std::vector<ArgumentDirective> arguments;
    std::vector<NamedExpression> constants, options;  // Triton
};

struct KernelFile {
    std::string name;  // base name: "rmsnorm.cu"
    std::string text;
    Language language = Language::cuda;
    std::string task, idea;
    std::vector<Tunable> tunables;
    std::vector<PlacedExpression> requirements;
    std::vector<ScratchDirective> scratches;
    std::vector<std::string> uses;
    std::vector<LaunchDirective> launches;

    const ScratchDirective* scratch(std::string_view name) const;
};

/// Reads a file; `.py` is Triton, everything else CUDA C++. Throws Error "FILE:LINE:COLUMN: …" for a malformed one.
KernelFile read_kernel_file(const std::filesystem::path& path);
KernelFile parse_kernel_file(std::string text, const std::string& name, Language language);

/// Throws Error "FILE:LINE:COLUMN: unknown name …" when a directive names what neither the op nor the file has.
void check_names(const KernelFile& file, const Op& op);

/// A point of the tunables: a value for each.
using Point = std::map<std::string, int64_t, std::less<>>;

/// The text with every `tune` line fixed to the point's value: what is kept as a candidate's own file.
std::string text_at(const KernelFile& file, const Point& point);

/// The source without directives, comments and blank lines: what counts for the digest.
std::string stripped_source(const KernelFile& file);

}  // namespace recuda

// The text of a launch, taken apart but not evaluated: CUDA's own syntax and Triton's.
//
//   cuda   := name "<<<" size "," size ["," expression] {"," option} ">>>" "(" [argument {"," argument}] ")"
//   triton := name "[" expression {"," expression} "]" "(" [argument {"," argument}] {"," NAME "=" expression} ")"
//   {NAME "=" expression} size   := expression | "(" expression "," expression ["," expression] ")" option :=
//   "cluster=" size | "cooperative" | "pdl" argument := expression | literal | "tensormap(" buffer "," "dims=(" … "),"
//   "box=(" … ")" {"," part} ")" part := "strides=(" … ")" | "swizzle=" number | "elementstrides=(" … ")" | "oob=" word
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace recuda {

/// A part of a text, and where it begins there.
struct Piece {
    std::string text;
    size_t at = 0;
};

/// What is wrong with a directive, and where: `at` counts bytes from the beginning of the directive's text.
class SyntaxError : public Error {
 public:
    SyntaxError(size_t at, const std::string& what) : Error("{}", what), at(at) {}
    size_t at;
};

struct NamedPiece {
    Piece name, value;
};

struct LaunchSyntax {
    Piece kernel;
    std::vector<Piece> grid, block;  // one to three; no block for Triton
    std::optional<Piece> shared;
    std::vector<Piece> cluster;  // empty: none
    bool cooperative = false, programmatic = false;
    std::vector<Piece> arguments;
    std::vector<NamedPiece> constants;  // Triton: NAME=value inside the parentheses
    std::vector<NamedPiece> options;    // Triton: behind them
};

/// Throw SyntaxError.
LaunchSyntax parse_cuda_launch(std::string_view text);
LaunchSyntax parse_triton_launch(std::string_view text);

/// `tensormap(x, dims=(64, 128), strides=(256), box=(64, 8), swizzle=128)` taken apart; nullopt when the piece is no
/// tensor map.
struct TensorMapSyntax {
    Piece buffer;
    std::vector<Piece> dims, strides, box;  // innermost first; strides in bytes, of all but the innermost dimension
    std::vector<Piece> element_strides;     // of all dimensions; empty: 1
    std::optional<Piece> swizzle;
    bool nan_fill = false;  // oob=nan
};
std::optional<TensorMapSyntax> parse_tensor_map(const Piece& piece);

/// The parts between commas that stand outside of brackets.
std::vector<Piece> split_arguments(const Piece& piece);

}  // namespace recuda

// The part of a text that fits a query best.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace recuda {

inline constexpr size_t kExcerptBytes = 600;

/// Whole lines, at most `limit_bytes` (one that is longer is cut), in which the words of largest weight stand: each
/// counts whole once and a tenth for every further time. The beginning where none stands in the text.
std::string excerpt(std::string_view text, const std::map<std::string, double>& weight,
                    size_t limit_bytes = kExcerptBytes);

}  // namespace recuda

// Text as words to search by: English, C++ and PTX alike.
//
// A run of letters, digits, `_` and inner dots is a word, in lower case; its parts between dots, underscores and
// changes of case are words too ("cp.async", "blockIdx", "nano30b_rmsnorm"). Digits stay with their letters ("sm_90",
// "float4"). English endings are taken off words of letters alone, so that "vectorised" meets "vectorize".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

struct Token {
    std::string word;
    size_t at = 0, bytes = 0;  // where it stands in the text
};

/// In the order of the text, a whole word before its parts.
std::vector<Token> tokens(std::string_view text);

/// Adds the text's words to the counts, `times` for each time one stands there.
void count_words(std::string_view text, uint32_t times, std::map<std::string, uint32_t>& counts);

/// The different words of a query, at most `most`. Of a text longer than `limit_bytes` its beginning and its end count.
std::vector<std::string> query_words(std::string_view text, size_t limit_bytes = 1 << 16, size_t most = 2000);

}  // namespace recuda

#include "retrieval/tokens.h"

#include <algorithm>
#include <array>
#include <set>

namespace recuda {
namespace {

constexpr size_t kLongestWord = 64;  // a SHA-256 in hexadecimal is one
constexpr size_t kShortestStemmed = 5;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_lower(c) || is_upper(c) || is_digit(c); }
bool is_word(char c) { return is_alphanumeric(c) || c == '_'; }

/// Ending and what stands for it, longest first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kEndings{{{"isations", "iz"},
                                                                                  {"izations", "iz"},
                                                                                  {"isation", "iz"},
                                                                                  {"ization", "iz"},
                                                                                  {"ising", "iz"},
                                                                                  {"izing", "iz"},
                                                                                  {"ised", "iz"},
                                                                                  {"ized", "iz"},
                                                                                  {"ise", "iz"},
                                                                                  {"ize", "iz"},
                                                                                  {"ies", "y"},
                                                                                  {"ing", ""},
                                                                                  {"ed", ""},
                                                                                  {"s", ""}}};

std::string stem(std::string word) {
    if (word.size() < kShortestStemmed || !std::all_of(word.begin(), word.end(), is_lower) || word.ends_with("ss"))
        return word;
    for (const auto& [ending, instead] : kEndings) {
        if (!word.ends_with(ending) || word.size() - ending.size() < 3) continue;
        word.replace(word.size() - ending.size(), ending.size(), instead);
        break;
    }
    return word;
}

class Tokenizer {
 public:
    explicit Tokenizer(std::string_view text) : text_(text) {}

    std::vector<Token> run() {
        for (size_t at = 0; at < text_.size();) {
            if (!is_word(text_[at])) {
                ++at;
                continue;
            }
            const size_t end = end_of_word(at);
            add_dotted(at, end);
            at = end;
        }
        return std::move(found_);
    }

 private:
    size_t end_of_word(size_t at) const {
        while (at < text_.size()) {
            const bool dot = text_[at] == '.' && at + 1 < text_.size() && is_word(text_[at + 1]);
            if (!is_word(text_[at]) && !dot) break;
            ++at;
        }
        return at;
    }

    void add(size_t from, size_t to) {
        while (from < to && text_[from] == '_') ++from;
        while (to > from && text_[to - 1] == '_') --to;
        if (from == to || to - from > kLongestWord) return;
        std::string word(text_.substr(from, to - from));
        for (char& c : word)
            if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
        found_.push_back({stem(std::move(word)), from, to - from});
    }

    void add_dotted(size_t from, size_t to) {
        if (text_.substr(from, to - from).find('.') == std::string_view::npos) return add_identifier(from, to);
        add(from, to);
        for (size_t at = from; at < to;) {
            const size_t end = std::min(to, text_.find('.', at));
            add_identifier(at, end);
            at = end + 1;
        }
    }

    void add_identifier(size_t from, size_t to) {
        while (from < to && text_[from] == '_') ++from;
        while (to > from && text_[to - 1] == '_') --to;
        add(from, to);
        std::vector<size_t> cuts{from};
        for (size_t at = from + 1; at < to; ++at) {
            const char before = text_[at - 1], here = text_[at];
            const bool camel = is_upper(here) && (!is_upper(before) || (at + 1 < to && is_lower(text_[at + 1])));
            if (here == '_' || before == '_' || (camel && before != '_')) cuts.push_back(at);
        }
        if (cuts.size() == 1) return;
        cuts.push_back(to);
        for (size_t part = 0; part + 1 < cuts.size(); ++part)
            if (text_[cuts[part]] != '_') add(cuts[part], cuts[part + 1]);
    }

    std::string_view text_;
    std::vector<Token> found_;
};

}  // namespace

std::vector<Token> tokens(std::string_view text) { return Tokenizer(text).run(); }

void count_words(std::string_view text, uint32_t times, std::map<std::string, uint32_t>& counts) {
    for (const Token& token : tokens(text)) counts[token.word] += times;
}

std::vector<std::string> query_words(std::string_view text, size_t limit_bytes, size_t most) {
    std::vector<std::string_view> pieces{text};
    if (text.size() > limit_bytes)
        pieces = {text.substr(0, limit_bytes / 2), text.substr(text.size() - limit_bytes / 2)};
    std::set<std::string> seen;
    std::vector<std::string> words;
    for (const std::string_view piece : pieces)
        for (Token& token : tokens(piece))
            if (words.size() < most && seen.insert(token.word).second) words.push_back(std::move(token.word));
    return words;
}

}  // namespace recuda

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "kernel/stripped_lines.h"
#include "kernel/stripped_source.h"

namespace recuda {
namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

/// Modules that say nothing of the file that imports them.
bool is_plain_module(std::string_view name) { return name == "triton" || name == "torch" || name == "math"; }

/// Names by which Python code comes to its own text, its line numbers, or to what finds them.
bool may_look_at_itself(std::string_view word) {
    static const std::set<std::string_view> kNames{"breakpoint", "builtins",  "cache_key",
                                                   "compile",    "delattr",   "dir",
                                                   "eval",       "exec",      "fn",
                                                   "getattr",    "getsource", "globals",
                                                   "help",       "importlib", "inspect",
                                                   "io",         "linecache", "locals",
                                                   "open",       "os",        "pathlib",
                                                   "raw_src",    "runtime",   "setattr",
                                                   "src",        "sys",       "traceback",
                                                   "tokenize",   "vars",      "attrgetter",
                                                   "operator",   "functools", "types",
                                                   "ast",        "textwrap",  "hashlib",
                                                   "compiler",   "knobs",     "starting_line_number"};
    return word.find("__") != std::string_view::npos || kNames.contains(word);
}

/// PEP 263: a comment in the first two lines may say what the bytes mean.
bool declares_encoding(std::string_view source) {
    const size_t first = source.find('\n');
    const size_t second = first == std::string_view::npos ? first : source.find('\n', first + 1);
    const std::string_view head = source.substr(0, second);
    return head.find("coding:") != std::string_view::npos || head.find("coding=") != std::string_view::npos;
}

bool has_odd_line_ends(std::string_view source) {
    for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] == '\f' || source[i] == '\v' || source[i] == '\0') return true;
        if (source[i] == '\r' && source.substr(i + 1, 1) != "\n") return true;
    }
    return false;
}

class PythonStripper {
 public:
    explicit PythonStripper(std::string_view source) : rest_(source) {}

    std::optional<std::string> run() {
        while (!rest_.empty() && !odd_) step();
        if (odd_) return std::nullopt;
        return lines_.take();
    }

 private:
    void step() {
        const char c = rest_[0];
        if (c == '\n') {
            imports_ = Imports::none;
            lines_.end_line();
            rest_.remove_prefix(1);
        } else if (c == '#') {
            rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
        } else if (c == '\\') {
            continued();
        } else if (c == '"' || c == '\'') {
            literal();
        } else if (is_word(c)) {
            word();
        } else {
            if (c == ';') imports_ = Imports::none;
            keep(1);
        }
    }

    void keep(size_t length) {
        lines_.add(rest_.substr(0, length));
        rest_.remove_prefix(length);
    }

    /// A line that goes on in the next one.
    void continued() {
        const size_t length = rest_.starts_with("\\\n") ? 2 : rest_.starts_with("\\\r\n") ? 3 : 0;
        odd_ = odd_ || length == 0;
        lines_.add_fixed("\\\n");
        rest_.remove_prefix(length);
    }

    void literal() {
        const std::string_view triple = rest_.substr(0, 3);
        const bool is_triple = triple == "\"\"\"" || triple == "'''";
        const std::string_view end = is_triple ? triple : rest_.substr(0, 1);
        size_t i = end.size();
        while (i < rest_.size() && !rest_.substr(i).starts_with(end) && (is_triple || rest_[i] != '\n')) {
            if (rest_[i] == '\\')
                i += rest_.substr(i + 1).starts_with("\r\n") ? 3 : 2;
            else
                ++i;
        }
        if (i >= rest_.size() || !rest_.substr(i).starts_with(end)) {
            odd_ = true;
            return;
        }
        lines_.add_fixed(rest_.substr(0, i + end.size()));
        rest_.remove_prefix(i + end.size());
    }

    void word() {
        size_t size = 1;
        while (size < rest_.size() && is_word(rest_[size])) ++size;
        const std::string_view name = rest_.substr(0, size);
        const std::string_view behind = rest_.substr(size, 1);
        // A formatted string has code in it, quotes of its own too.
        const bool formatted =
            (behind == "\"" || behind == "'") && name.find_first_of("fFtT") != std::string_view::npos;
        odd_ = odd_ || formatted || may_look_at_itself(name) || !may_be_imported(name);
        keep(size);
    }

    /// Whether a word may stand where it does in an `import` or a `from`.
    bool may_be_imported(std::string_view name) {
        const bool is_attribute = lines_.ends_in('.');
        if (imports_ == Imports::none) {
            if (is_attribute) return true;
            if (name == "import") imports_ = Imports::modules;
            if (name == "from") imports_ = Imports::from;
            return true;
        }
        if (name == "as" || name == "import" || is_attribute) {
            if (imports_ == Imports::from && name == "import") imports_ = Imports::names;
            if (imports_ == Imports::modules && name == "as") imports_ = Imports::alias;
            return true;
        }
        const Imports what = imports_;
        if (what == Imports::alias) imports_ = Imports::modules;
        return what == Imports::alias || what == Imports::names || is_plain_module(name);
    }

    enum class Imports { none, modules, alias, from, names };

    std::string_view rest_;
    StrippedLines lines_;
    Imports imports_ = Imports::none;
    bool odd_ = false;
};

}  // namespace

std::optional<std::string> stripped_python(std::string_view source) {
    if (declares_encoding(source) || has_odd_line_ends(source)) return std::nullopt;
    return PythonStripper(source).run();
}

}  // namespace recuda

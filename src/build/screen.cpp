#include "build/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "base/text.h"
#include "build/cxx_text.h"

namespace recuda {
namespace {

using Kind = CxxToken::Kind;

bool leads_away(std::string_view path) {
    if (path.starts_with('/') || path.starts_with('~') || path.find('\\') != std::string_view::npos) return true;
    return std::ranges::any_of(split(path, '/'), [](std::string_view part) { return part == ".."; });
}

/// The path of `<path>` or `"path"` at the beginning of the text; nothing where it is something else, such as a macro.
std::optional<std::string_view> header_name(std::string_view text) {
    text = trimmed(text);
    if (text.empty() || (text[0] != '<' && text[0] != '"')) return std::nullopt;
    const size_t close = text.find(text[0] == '<' ? '>' : '"', 1);
    if (close == std::string_view::npos) return std::nullopt;
    return text.substr(1, close - 1);
}

std::string screen_include(std::string_view operand) {
    const auto path = header_name(operand);
    if (!path) return "#include of a macro is refused: name the header";
    if (leads_away(*path))
        return fmt::format("#include of '{}' is refused: only CUDA's own headers may be included", *path);
    return "";
}

/// `__has_include` tells whether a file exists, so it may ask for CUDA's headers alone.
std::string screen_has_include(std::string_view directive) {
    if (directive.find("__has_embed") != std::string_view::npos) return "__has_embed is refused";
    constexpr std::string_view kAsk = "__has_include";
    for (size_t at = directive.find(kAsk); at != std::string_view::npos; at = directive.find(kAsk, at + 1)) {
        const size_t open = directive.find_first_not_of(
            " \t", at + kAsk.size() + (directive.substr(at + kAsk.size()).starts_with("_next") ? 5 : 0));
        if (open == std::string_view::npos || directive[open] != '(') continue;
        const auto path = header_name(directive.substr(open + 1));
        if (!path || leads_away(*path)) return "__has_include of anything but CUDA's headers is refused";
    }
    return "";
}

std::string screen_directive(std::string_view directive) {
    directive = trimmed(directive);
    const size_t end = std::ranges::find_if(
                           directive, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_'; }) -
                       directive.begin();
    const std::string_view name = directive.substr(0, end), operand = directive.substr(end);
    if (name == "embed") return "#embed is refused: a kernel may not read files";
    if (name == "include" || name == "include_next" || name == "import") return screen_include(operand);
    return screen_has_include(directive);
}

bool is_one_of(const CxxToken& token, std::initializer_list<std::string_view> words) {
    return token.kind == Kind::word && std::ranges::find(words, token.text) != words.end();
}

/// Index behind an attribute's parenthesis: alignas(16), __align__(16), __attribute__((…)), decltype(x).
size_t behind_parenthesis(std::span<const CxxToken> tokens, size_t open) {
    int depth = 0;
    for (size_t i = open; i < tokens.size(); ++i) {
        if (tokens[i].is("(")) ++depth;
        if (tokens[i].is(")") && --depth == 0) return i + 1;
    }
    return tokens.size();
}

/// Whether the declaration that begins at `tokens[0]` is a variable in global memory that code may write: it has static
/// storage (`__device__`, `__managed__`, or `static` inside a function or class), is no function, and is not const
/// where it counts.
bool declares_mutable_global(std::span<const CxxToken> tokens) {
    bool device = false, constant = false, variable = false;
    for (size_t i = 0; i < tokens.size(); ++i) {
        const CxxToken& token = tokens[i];
        if (is_one_of(token, {"__managed__"})) return true;
        if (is_one_of(token, {"__device__", "static"})) device = true;
        if (is_one_of(token, {"__constant__", "__shared__", "__global__", "__host__", "operator", "using", "typedef",
                              "friend", "constexpr", "struct", "class", "union", "enum", "namespace", "template"}) &&
            !(is_one_of(token, {"struct", "class", "union", "enum"}) && device))
            return false;
        if (is_one_of(token, {"const"})) constant = true;
        if (token.is("*") || token.is("&")) constant = false;
        if (is_one_of(token, {"alignas", "__align__", "__attribute__", "__declspec", "decltype", "__launch_bounds__",
                              "__cluster_dims__", "noexcept"}) &&
            i + 1 < tokens.size() && tokens[i + 1].is("(")) {
            i = behind_parenthesis(tokens, i + 1) - 1;
            continue;
        }
        if (token.is("[") && i + 1 < tokens.size() && tokens[i + 1].is("[")) {  // [[nodiscard]]
            while (i + 1 < tokens.size() && !(tokens[i].is("]") && tokens[i + 1].is("]"))) ++i;
            ++i;
            continue;
        }
        if (token.is("(")) return false;  // a function, a lambda or a call
        if (token.is("[") || token.is("=") || token.is("{") || token.is(";")) {
            variable = true;
            break;
        }
    }
    return device && variable && !constant;
}

/// The statements of the text are runs of tokens between ';', '{', '}' and labels' ':'.
std::string screen_declarations(std::span<const CxxToken> tokens, uint32_t& line) {
    size_t first = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
        const bool ends = tokens[i].is(";") || tokens[i].is("{") || tokens[i].is("}");
        if (!ends) continue;
        const auto statement = tokens.subspan(first, i + 1 - first);
        if (declares_mutable_global(statement)) {
            line = statement.front().line;
            return "a variable in device memory that is not const is refused: it would outlive the launch (use "
                   "scratch, shared memory or a const table)";
        }
        first = i + 1;
    }
    return "";
}

}  // namespace

std::string screen_source(std::string_view source, std::string_view file) {
    std::vector<CxxToken> code;
    for (CxxToken& token : cxx_tokens(source)) {
        std::string why;
        if (token.kind == Kind::directive) why = screen_directive(token.text);
        if (token.kind == Kind::string && token.text.find(".incbin") != std::string::npos)
            why = ".incbin is refused: a kernel may not read files";
        if (!why.empty()) return fmt::format("{}:{}: {}", file, token.line, why);
        if (token.kind != Kind::directive) code.push_back(std::move(token));
    }
    uint32_t line = 0;
    const std::string why = screen_declarations(code, line);
    return why.empty() ? "" : fmt::format("{}:{}: {}", file, line, why);
}

std::string screen_diagnostics(std::string_view log, std::string_view file) {
    struct Rule {
        std::string_view words, why;
    };
    constexpr Rule kRules[] = {
        {"is considered a host function",
         "a host function is refused: a candidate is device code alone (mark helpers __device__)"},
        {"explicitly marked as a __host__ function",
         "a host function is refused: a candidate is device code alone (mark helpers __device__)"},
        {"is considered a host variable",
         "a host variable is refused: a candidate is device code alone (constants are const or constexpr)"},
        {"device-side kernel launch", "a launch from the device is refused: launches are the directives' business"},
        {"annot open source file", "a file outside CUDA's headers is refused"},
    };
    const std::string place = fmt::format("{}(", file);
    for (std::string_view line : split_lines(log)) {
        if (!line.starts_with(place)) continue;  // what CUDA's own headers get wrong is an ordinary failure
        for (const Rule& rule : kRules) {
            if (line.find(rule.words) == std::string_view::npos) continue;
            const std::string_view number = line.substr(place.size(), line.find(')') - place.size());
            return fmt::format("{}:{}: {}", file, number, rule.why);
        }
    }
    return "";
}

}  // namespace recuda

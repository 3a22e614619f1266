#include "kernel/launch_syntax.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace recuda {
namespace {

/// The piece without blanks around it.
Piece trimmed_piece(std::string_view text, size_t at) {
    const std::string_view inner = trimmed(text);
    return {std::string(inner), at + (inner.empty() ? 0 : static_cast<size_t>(inner.data() - text.data()))};
}

Piece part(const Piece& whole, size_t begin, size_t end) {
    return trimmed_piece(std::string_view(whole.text).substr(begin, end - begin), whole.at + begin);
}

bool is_name(std::string_view text) {
    const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
           std::all_of(text.begin(), text.end(), fits);
}

Piece checked_name(Piece piece, const char* what) {
    if (!is_name(piece.text))
        throw SyntaxError(piece.at, piece.text.empty() ? fmt::format("{} is missing", what)
                                                       : fmt::format("`{}` is not {}", piece.text, what));
    return piece;
}

/// Index of the bracket that closes the one at `open`.
size_t closing(const Piece& piece, size_t open) {
    int depth = 0;
    for (size_t i = open; i < piece.text.size(); ++i) {
        const char c = piece.text[i];
        if (c == '(' || c == '[') ++depth;
        if ((c == ')' || c == ']') && --depth == 0) return i;
    }
    throw SyntaxError(piece.at + open, fmt::format("this `{}` is never closed", piece.text[open]));
}

/// `NAME = value` with a single `=` outside of brackets.
std::optional<NamedPiece> named(const Piece& piece) {
    const std::string& text = piece.text;
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 >= text.size() || text[equals + 1] == '=') return std::nullopt;
    Piece name = part(piece, 0, equals);
    if (!is_name(name.text)) return std::nullopt;
    return NamedPiece{std::move(name), part(piece, equals + 1, text.size())};
}

/// One to three expressions, in brackets behind `dim3` or nothing, or one in no brackets.
std::vector<Piece> size_of(Piece piece, const char* what) {
    constexpr std::string_view kWord = "dim3";
    if (piece.text.empty()) throw SyntaxError(piece.at, fmt::format("{} is missing", what));
    const size_t open = piece.text.find_first_not_of(" \t", kWord.size());
    if (piece.text.starts_with(kWord) && open != std::string::npos && piece.text[open] == '(')
        piece = part(piece, open, piece.text.size());
    std::vector<Piece> parts{piece};
    if (piece.text[0] == '(' && closing(piece, 0) == piece.text.size() - 1)
        parts = split_arguments(part(piece, 1, piece.text.size() - 1));
    if (parts.size() > 3) throw SyntaxError(piece.at, fmt::format("{} has at most three numbers", what));
    for (const Piece& one : parts)
        if (one.text.empty()) throw SyntaxError(one.at, fmt::format("{} lacks a number", what));
    return parts;
}

std::vector<Piece> arguments_of(const Piece& piece) {
    if (piece.text.empty()) return {};
    std::vector<Piece> arguments = split_arguments(piece);
    for (const Piece& argument : arguments)
        if (argument.text.empty()) throw SyntaxError(argument.at, "an argument is missing");
    return arguments;
}

void read_configuration(const Piece& piece, LaunchSyntax& launch) {
    const std::vector<Piece> parts = split_arguments(piece);
    if (parts.size() < 2) throw SyntaxError(piece.at, "a launch needs at least a grid and a block: <<<grid, block>>>");
    launch.grid = size_of(parts[0], "the grid");
    launch.block = size_of(parts[1], "the block");
    for (size_t i = 2; i < parts.size(); ++i) {
        const std::optional<NamedPiece> option = named(parts[i]);
        if (option && option->name.text == "cluster")
            launch.cluster = size_of(option->value, "the cluster");
        else if (parts[i].text == "cooperative")
            launch.cooperative = true;
        else if (parts[i].text == "pdl")
            launch.programmatic = true;
        else if (!option && i == 2)
            launch.shared = parts[i];
        else {
            const std::vector<std::string> known{"cluster", "cooperative", "pdl"};
            const std::string word = option ? option->name.text : parts[i].text;
            throw SyntaxError(parts[i].at,
                              fmt::format("unknown launch option `{}`{}", word, did_you_mean(word, known)));
        }
    }
    if (launch.shared && launch.shared->text.empty())
        throw SyntaxError(launch.shared->at, "the shared memory size is missing");
}

}  // namespace

std::vector<Piece> split_arguments(const Piece& piece) {
    std::vector<Piece> parts;
    int depth = 0;
    size_t begin = 0;
    for (size_t i = 0; i < piece.text.size(); ++i) {
        const char c = piece.text[i];
        if (c == '(' || c == '[') ++depth;
        if (c == ')' || c == ']') --depth;
        if (depth < 0) throw SyntaxError(piece.at + i, fmt::format("this `{}` closes nothing", c));
        if (c == ',' && depth == 0) {
            parts.push_back(part(piece, begin, i));
            begin = i + 1;
        }
    }
    parts.push_back(part(piece, begin, piece.text.size()));
    return parts;
}

LaunchSyntax parse_cuda_launch(std::string_view text) {
    const Piece whole{std::string(text), 0};
    const size_t open = text.find("<<<");
    if (open == std::string_view::npos) throw SyntaxError(0, "expected kernel<<<grid, block>>>(arguments)");
    const size_t close = text.find(">>>", open);
    if (close == std::string_view::npos) throw SyntaxError(open, "this `<<<` is never closed by `>>>`");
    LaunchSyntax launch;
    launch.kernel = checked_name(part(whole, 0, open), "a kernel's name");
    read_configuration(part(whole, open + 3, close), launch);
    const Piece rest = part(whole, close + 3, text.size());
    if (rest.text.empty() || rest.text[0] != '(') throw SyntaxError(rest.at, "the arguments `(…)` are missing");
    const size_t end = closing(rest, 0);
    if (end + 1 != rest.text.size()) throw SyntaxError(rest.at + end + 1, "unexpected text behind the arguments");
    launch.arguments = arguments_of(part(rest, 1, end));
    return launch;
}

LaunchSyntax parse_triton_launch(std::string_view text) {
    const Piece whole{std::string(text), 0};
    const size_t open = text.find('[');
    if (open == std::string_view::npos) throw SyntaxError(0, "expected kernel[grid](arguments)");
    LaunchSyntax launch;
    launch.kernel = checked_name(part(whole, 0, open), "a kernel's name");
    const size_t close = closing(whole, open);
    const Piece grid = part(whole, open + 1, close);
    launch.grid = size_of({"(" + grid.text + ")", grid.at - 1}, "the grid");
    const Piece rest = part(whole, close + 1, text.size());
    if (rest.text.empty() || rest.text[0] != '(') throw SyntaxError(rest.at, "the arguments `(…)` are missing");
    const size_t end = closing(rest, 0);
    for (const Piece& argument : arguments_of(part(rest, 1, end))) {
        if (auto constant = named(argument))
            launch.constants.push_back(std::move(*constant));
        else if (!launch.constants.empty())
            throw SyntaxError(argument.at, "a positional argument stands behind a named one");
        else
            launch.arguments.push_back(argument);
    }
    // Options behind the arguments are separated by blanks; a value ends where the next NAME= begins.
    Piece options = part(rest, end + 1, rest.text.size());
    while (!options.text.empty()) {
        const size_t equals = options.text.find('=');
        if (equals == std::string::npos)
            throw SyntaxError(options.at, fmt::format("expected NAME=value, found `{}`", options.text));
        const size_t next = options.text.find('=', equals + 1);
        size_t value_end = options.text.size();
        if (next != std::string::npos) {
            value_end = options.text.find_last_not_of(" \t", next - 1);
            while (value_end > equals && (std::isalnum(static_cast<unsigned char>(options.text[value_end])) ||
                                          options.text[value_end] == '_'))
                --value_end;
        }
        launch.options.push_back(
            {checked_name(part(options, 0, equals), "an option's name"), part(options, equals + 1, value_end)});
        options = part(options, value_end, options.text.size());
    }
    return launch;
}

std::optional<TensorMapSyntax> parse_tensor_map(const Piece& piece) {
    constexpr std::string_view kWord = "tensormap";
    if (!piece.text.starts_with(kWord)) return std::nullopt;
    const size_t open = piece.text.find_first_not_of(" \t", kWord.size());
    if (open == std::string::npos || piece.text[open] != '(') return std::nullopt;
    if (closing(piece, open) != piece.text.size() - 1)
        throw SyntaxError(piece.at, "unexpected text behind tensormap(…)");
    const std::vector<Piece> parts = arguments_of(part(piece, open + 1, piece.text.size() - 1));
    TensorMapSyntax map;
    for (size_t i = 0; i < parts.size(); ++i) {
        const std::optional<NamedPiece> option = named(parts[i]);
        if (i == 0 && !option) {
            map.buffer = checked_name(parts[0], "a buffer's name");
            continue;
        }
        const std::string word = option ? option->name.text : parts[i].text;
        const auto list = [&] {
            const Piece& value = option->value;
            if (value.text.empty() || value.text[0] != '(') return std::vector<Piece>{value};
            return arguments_of(part(value, 1, closing(value, 0)));
        };
        if (option && word == "dims")
            map.dims = list();
        else if (option && word == "strides")
            map.strides = list();
        else if (option && word == "box")
            map.box = list();
        else if (option && word == "elementstrides")
            map.element_strides = list();
        else if (option && word == "swizzle")
            map.swizzle = option->value;
        else if (option && word == "oob" && (option->value.text == "nan" || option->value.text == "zeros"))
            map.nan_fill = option->value.text == "nan";
        else
            throw SyntaxError(
                parts[i].at,
                fmt::format("unknown part `{}` of tensormap(buffer, dims=(…), box=(…), strides=(…), swizzle=N, "
                            "elementstrides=(…), oob=zeros|nan)",
                            word));
    }
    if (map.buffer.text.empty()) throw SyntaxError(piece.at, "tensormap names no buffer");
    if (map.dims.empty() || map.dims.size() > 5)
        throw SyntaxError(piece.at, "tensormap needs dims=(…) of one to five numbers");
    if (map.box.size() != map.dims.size())
        throw SyntaxError(piece.at, "tensormap needs box=(…) with as many numbers as dims");
    if (!map.strides.empty() && map.strides.size() + 1 != map.dims.size())
        throw SyntaxError(piece.at, "tensormap's strides=(…) are those of all dimensions but the first");
    if (!map.element_strides.empty() && map.element_strides.size() != map.dims.size())
        throw SyntaxError(piece.at, "tensormap needs elementstrides=(…) with as many numbers as dims");
    return map;
}

}  // namespace recuda

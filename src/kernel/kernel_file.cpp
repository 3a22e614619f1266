#include "kernel/kernel_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "kernel/launch_syntax.h"
#include "kernel/macros.h"
#include "kernel/source_text.h"
#include "task/op.h"

namespace recuda {
namespace {

constexpr uint64_t kLargestFileBytes = uint64_t{64} << 20;
constexpr size_t kMostPoints = 1'000'000;

/// One directive while it is read: its word, its text, and where the text begins.
class DirectiveReader {
 public:
    DirectiveReader(KernelFile& file, std::string_view text, Position position)
        : file_(file), text_(text), position_(position) {}

    void task() {
        if (!file_.task.empty()) fail(0, "the task is named twice");
        file_.task = word("a task's name");
    }
    void idea() { file_.idea = std::string(text_); }

    void tune() {
        const size_t equals = text_.find('=');
        if (equals == std::string_view::npos) fail(0, "expected NAME = value, value, …");
        Tunable tunable{name(text_.substr(0, equals), 0), {}, position(0)};
        for (const std::string_view part : split(text_.substr(equals + 1), ',')) {
            const std::string_view value = trimmed(part);
            const char* const begin = value.empty() ? part.data() : value.data();
            tunable.values.push_back(integer(value, static_cast<size_t>(begin - text_.data())));
        }
        for (const Tunable& other : file_.tunables)
            if (other.name == tunable.name) fail(0, fmt::format("the tunable {} is declared twice", tunable.name));
        file_.tunables.push_back(std::move(tunable));
    }

    void require() { file_.requirements.push_back(expression({std::string(text_), 0})); }

    void scratch() {
        const size_t colon = text_.find(':'), open = text_.find('['), close = text_.rfind(']');
        if (colon == std::string_view::npos || open == std::string_view::npos || close == std::string_view::npos ||
            open < colon || close < open)
            fail(0, "expected NAME : TYPE[EXTENT, …] [zeroed]");
        ScratchDirective scratch;
        scratch.position = position(0);
        scratch.name = name(text_.substr(0, colon), 0);
        try {
            scratch.dtype = dtype_named(trimmed(text_.substr(colon + 1, open - colon - 1)));
        } catch (const Error& error) {
            fail(colon + 1, error.what());
        }
        for (const Piece& extent : pieces(open + 1, close)) scratch.shape.push_back(expression(extent));
        const std::string_view rest = trimmed(text_.substr(close + 1));
        if (!rest.empty() && rest != "zeroed")
            fail(close + 1, fmt::format("unexpected `{}`; only `zeroed` may follow", rest));
        scratch.zeroed = rest == "zeroed";
        if (file_.scratch(scratch.name) != nullptr)
            fail(0, fmt::format("the scratch {} is declared twice", scratch.name));
        file_.scratches.push_back(std::move(scratch));
    }

    void uses() {
        const std::string library = word("a library");
        const std::vector<std::string> known{"cutlass"};
        if (library != known[0])
            fail(0, fmt::format("there is no library {} to use{}", library, did_you_mean(library, known)));
        file_.uses.push_back(library);
    }

    void launch() {
        try {
            const LaunchSyntax syntax =
                file_.language == Language::cuda ? parse_cuda_launch(text_) : parse_triton_launch(text_);
            file_.launches.push_back(resolved(syntax));
        } catch (const SyntaxError& error) {
            fail(error.at, error.what());
        }
    }

    [[noreturn]] void fail(size_t at, const std::string& what) const {
        throw Error("{}:{}:{}: {}", file_.name, position_.line, position_.column + at, what);
    }

 private:
    Position position(size_t at) const { return {position_.line, position_.column + static_cast<uint32_t>(at)}; }

    std::vector<Piece> pieces(size_t begin, size_t end) const {
        try {
            return split_arguments({std::string(text_.substr(begin, end - begin)), begin});
        } catch (const SyntaxError& error) {
            fail(error.at, error.what());
        }
    }

    PlacedExpression expression(const Piece& piece) const {
        try {
            return {Expression(piece.text), position(piece.at)};
        } catch (const ExpressionError& error) {
            fail(piece.at + error.at, error.what());
        }
    }

    std::vector<PlacedExpression> expressions(const std::vector<Piece>& pieces) const {
        std::vector<PlacedExpression> all;
        for (const Piece& piece : pieces) all.push_back(expression(piece));
        return all;
    }

    ArgumentDirective argument(const Piece& piece) const {
        const std::optional<TensorMapSyntax> map = parse_tensor_map(piece);
        if (!map) return {expression(piece), nullptr};
        TensorMapDirective directive{
            map->buffer.text,
            expressions(map->dims),
            expressions(map->strides),
            expressions(map->box),
            expressions(map->element_strides),
            map->swizzle ? expression(*map->swizzle) : PlacedExpression{Expression(0), position(piece.at)},
            map->nan_fill};
        return {expression(map->buffer), std::make_shared<const TensorMapDirective>(std::move(directive))};
    }

    LaunchDirective resolved(const LaunchSyntax& syntax) const {
        LaunchDirective launch{.position = position(0), .text = std::string(text_), .kernel = syntax.kernel.text};
        launch.grid = expressions(syntax.grid);
        launch.block = expressions(syntax.block);
        launch.cluster = expressions(syntax.cluster);
        if (syntax.shared) launch.shared.push_back(expression(*syntax.shared));
        launch.cooperative = syntax.cooperative;
        launch.programmatic = syntax.programmatic;
        for (const Piece& piece : syntax.arguments) launch.arguments.push_back(argument(piece));
        for (const NamedPiece& piece : syntax.constants)
            launch.constants.push_back({piece.name.text, expression(piece.value)});
        const std::vector<std::string> known{"num_warps", "num_stages", "num_ctas"};
        for (const NamedPiece& piece : syntax.options) {
            if (std::find(known.begin(), known.end(), piece.name.text) == known.end())
                throw SyntaxError(piece.name.at, fmt::format("unknown option `{}`{}", piece.name.text,
                                                             did_you_mean(piece.name.text, known)));
            launch.options.push_back({piece.name.text, expression(piece.value)});
        }
        return launch;
    }

    std::string word(const char* what) const {
        if (text_.empty() || text_.find_first_of(" \t") != std::string_view::npos)
            fail(0, fmt::format("expected {}", what));
        return std::string(text_);
    }

    std::string name(std::string_view text, size_t at) const {
        const std::string_view word = trimmed(text);
        const bool fits = !word.empty() && !std::isdigit(static_cast<unsigned char>(word[0])) &&
                          std::all_of(word.begin(), word.end(),
                                      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
        if (!fits) fail(at, fmt::format("`{}` is not a name", word));
        return std::string(word);
    }

    int64_t integer(std::string_view text, size_t at) const {
        int64_t value = 0;
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (text.empty() || problem != std::errc() || end != text.data() + text.size())
            fail(at, fmt::format("`{}` is not a whole number", text));
        return value;
    }

    KernelFile& file_;
    std::string_view text_;
    Position position_;
};

struct DirectiveRow {
    std::string_view word;
    void (DirectiveReader::*read)();
};
constexpr std::array<DirectiveRow, 7> kDirectives{{{"task", &DirectiveReader::task},
                                                   {"idea", &DirectiveReader::idea},
                                                   {"tune", &DirectiveReader::tune},
                                                   {"require", &DirectiveReader::require},
                                                   {"scratch", &DirectiveReader::scratch},
                                                   {"uses", &DirectiveReader::uses},
                                                   {"launch", &DirectiveReader::launch}}};

void read_directive(KernelFile& file, const DirectiveLine& line) {
    const Position position{line.line, line.column};
    for (const DirectiveRow& row : kDirectives) {
        if (row.word != line.word) continue;
        DirectiveReader reader(file, line.text, {line.line, line.text_column});
        return (reader.*row.read)();
    }
    std::vector<std::string> known;
    for (const DirectiveRow& row : kDirectives) known.emplace_back(row.word);
    throw Error("{}:{}:{}: unknown directive `{}`{}; there are {}", file.name, position.line, position.column,
                line.word, did_you_mean(line.word, known), joined(known, ", "));
}

/// Names that a directive may use, for check_names.
class NameCheck {
 public:
    NameCheck(const KernelFile& file, const Op& op) : file_(file) {
        for (const Axis& axis : op.axes) numbers_.insert(axis.name);
        numbers_.insert({"SMS", "MAX_SHARED"});
        for (const TensorSpec* tensor : op.tensors()) buffers_.insert(tensor->name);
        for (const ScalarSpec& scalar : op.scalars) scalars_.insert(scalar.name);
        for (const Tunable& tunable : file.tunables) numbers_.insert(unused("tunable", tunable.name, tunable.position));
        for (const ScratchDirective& scratch : file.scratches)
            buffers_.insert(unused("scratch", scratch.name, scratch.position));
    }

    void add(const std::vector<std::string>& names) { numbers_.insert(names.begin(), names.end()); }

    void number(const PlacedExpression& placed) const { check(placed, numbers_); }
    void numbers(const std::vector<PlacedExpression>& all) const {
        for (const PlacedExpression& placed : all) number(placed);
    }

    void argument(const ArgumentDirective& argument) const {
        if (argument.tensor_map) {
            check(argument.value, buffers_);
            numbers(argument.tensor_map->dims);
            numbers(argument.tensor_map->strides);
            numbers(argument.tensor_map->box);
            numbers(argument.tensor_map->element_strides);
            return number(argument.tensor_map->swizzle);
        }
        // A single name may be anything; within a larger expression only numbers make sense.
        const std::string name = argument.name();
        if (name.empty()) return number(argument.value);
        std::set<std::string> all = numbers_;
        all.insert(buffers_.begin(), buffers_.end());
        all.insert(scalars_.begin(), scalars_.end());
        check(argument.value, all);
    }

 private:
    /// The name, when nothing has it yet; throws Error.
    const std::string& unused(const char* what, const std::string& name, const Position& position) const {
        if (numbers_.contains(name) || buffers_.contains(name) || scalars_.contains(name))
            throw Error("{}:{}:{}: the {} {} has the name of something else", file_.name, position.line,
                        position.column, what, name);
        return name;
    }

    void check(const PlacedExpression& placed, const std::set<std::string>& known) const {
        for (const Expression::Use& use : placed.expression.uses()) {
            if (known.contains(use.name)) continue;
            const std::vector<std::string> names(known.begin(), known.end());
            const std::string meant = did_you_mean(use.name, names);
            throw Error("{}:{}:{}: unknown name {}{}", file_.name, placed.position.line,
                        placed.position.column + use.at, use.name,
                        meant.empty() ? "; there are " + joined(names, ", ") : meant);
        }
    }

    const KernelFile& file_;
    std::set<std::string> numbers_, buffers_, scalars_;
};

}  // namespace

std::string ArgumentDirective::name() const {
    const std::vector<Expression::Use>& uses = value.expression.uses();
    return !tensor_map && uses.size() == 1 && trimmed(value.expression.text()) == uses[0].name ? uses[0].name : "";
}

const ScratchDirective* KernelFile::scratch(std::string_view name) const {
    for (const ScratchDirective& scratch : scratches)
        if (scratch.name == name) return &scratch;
    return nullptr;
}

KernelFile parse_kernel_file(std::string text, const std::string& name, Language language) {
    KernelFile file{.name = name, .text = without_byte_order_mark(std::move(text)), .language = language};
    if (file.text.find('\0') != std::string::npos) throw Error("{} is not a text file: it holds zero bytes", name);
    if (trimmed(file.text).empty()) throw Error("{} is empty", name);
    for (const DirectiveLine& line : directive_lines(file.text, language)) read_directive(file, line);
    if (file.launches.empty())
        throw Error("{}:1:1: no launch directive; a kernel file needs `{} launch kernel{}(…)`", name,
                    directive_mark(language), language == Language::cuda ? "<<<grid, block>>>" : "[grid]");
    size_t points = 1;
    for (const Tunable& tunable : file.tunables)
        if ((points *= tunable.values.size()) > kMostPoints)
            throw Error("{}:{}:{}: the tunables have more than {} points", name, tunable.position.line,
                        tunable.position.column, kMostPoints);
    return file;
}

KernelFile read_kernel_file(const std::filesystem::path& path) {
    const Language language = path.extension() == ".py" ? Language::triton : Language::cuda;
    return parse_kernel_file(read_file(path, kLargestFileBytes), shown(path.filename()), language);
}

void check_names(const KernelFile& file, const Op& op) {
    NameCheck check(file, op);
    check.numbers(file.requirements);
    for (const ScratchDirective& scratch : file.scratches) check.numbers(scratch.shape);
    check.add(option_names(op));  // known in launches alone: what is legal does not depend on them
    for (const LaunchDirective& launch : file.launches) {
        check.numbers(launch.grid);
        check.numbers(launch.block);
        check.numbers(launch.cluster);
        check.numbers(launch.shared);
        for (const ArgumentDirective& argument : launch.arguments) check.argument(argument);
        for (const NamedExpression& constant : launch.constants) check.number(constant.value);
        for (const NamedExpression& option : launch.options) check.number(option.value);
    }
}

std::string text_at(const KernelFile& file, const Point& point) {
    std::string text;
    text.reserve(file.text.size());
    std::string_view rest = file.text;
    for (const DirectiveLine& line : directive_lines(file.text, file.language)) {
        if (line.word != "tune") continue;
        const std::string name(trimmed(line.text.substr(0, line.text.find('='))));
        const auto value = point.find(name);
        if (value == point.end()) continue;
        text += rest.substr(0, static_cast<size_t>(line.text.data() - rest.data()));
        text += fmt::format("{} = {}", name, value->second);
        rest.remove_prefix(static_cast<size_t>(line.text.data() - rest.data()) + line.text.size());
    }
    text += rest;
    return text;
}

}  // namespace recuda

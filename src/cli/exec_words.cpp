#include "cli/exec_words.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "kernel/launch_syntax.h"
#include "tensor/npy.h"

namespace recuda {
namespace {

std::vector<std::byte> bytes_of(const void* value, size_t size) {
    const auto* first = static_cast<const std::byte*>(value);
    return {first, first + size};
}

template <typename T>
PlannedArgument literal(const Piece& piece, DType dtype, T value) {
    return {.kind = PlannedArgument::Kind::value,
            .name = piece.text,
            .dtype = dtype,
            .value = bytes_of(&value, sizeof value)};
}

/// Parses the whole text as a number of that type; from_chars, so that nothing is lost.
template <typename T>
std::optional<T> number(std::string_view text) {
    T value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<uint64_t> magnitude(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (hexadecimal) text.remove_prefix(2);
    uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
    if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// C's integer literals with the suffixes that say their size; nullopt when it is none.
std::optional<PlannedArgument> integer_literal(const Piece& piece) {
    std::string text = piece.text;
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    const bool negative = text.starts_with('-');
    const bool hexadecimal = text.starts_with(negative ? "-0x" : "0x");
    std::string suffix;
    while (!text.empty() && (text.back() == 'u' || text.back() == 'l')) {
        suffix.insert(suffix.begin(), text.back());
        text.pop_back();
    }
    const std::optional<uint64_t> value = magnitude(std::string_view(text).substr(negative ? 1 : 0));
    if (!value) return std::nullopt;
    const bool is_unsigned = suffix.find('u') != std::string::npos;
    const bool is_long = suffix.find('l') != std::string::npos;
    const uint64_t limit = is_long ? (is_unsigned || hexadecimal ? UINT64_MAX : uint64_t{1} << 63)
                                   : (is_unsigned || hexadecimal ? UINT32_MAX : uint64_t{1} << 31);
    if (*value > limit - (negative || is_unsigned || hexadecimal ? 0 : 1))
        throw UsageError("the argument `{}` does not fit; 3ll is a 64-bit number", piece.text);
    const uint64_t bits = negative ? 0 - *value : *value;
    if (is_long) return literal(piece, is_unsigned ? DType::u64 : DType::i64, bits);
    return literal(piece, is_unsigned ? DType::u32 : DType::i32, static_cast<uint32_t>(bits));
}

std::optional<PlannedArgument> floating_literal(const Piece& piece) {
    const std::string_view text = piece.text;
    const bool single = text.ends_with('f') || text.ends_with('F');
    const std::string_view digits = single && text != "inf" && text != "-inf" ? text.substr(0, text.size() - 1) : text;
    if (single && digits.size() < text.size()) {
        if (const auto value = number<float>(digits)) return literal(piece, DType::f32, *value);
    }
    if (const auto value = number<double>(text)) return literal(piece, DType::f64, *value);
    return std::nullopt;
}

/// Evaluates sizes over the whole-number definitions, and names what is wrong by the launch's text.
class ExecLaunch {
 public:
    ExecLaunch(const std::string& text, const std::vector<ExecBuffer>& buffers,
               const std::map<std::string, std::string>& defines)
        : text_(text), buffers_(buffers) {
        for (const auto& [name, value] : defines)
            if (const auto whole = number<int64_t>(value)) variables_[name] = *whole;
    }

    PlannedLaunch resolved() const {
        try {
            return resolve(parse_cuda_launch(text_));
        } catch (const SyntaxError& error) {
            throw UsageError("--launch, column {}: {}", error.at + 1, error.what());
        }
    }

 private:
    PlannedLaunch resolve(const LaunchSyntax& syntax) const {
        PlannedLaunch launch{.kernel = syntax.kernel.text};
        launch.grid = dimensions(syntax.grid);
        launch.block = dimensions(syntax.block);
        launch.cluster = dimensions(syntax.cluster);
        if (syntax.shared) launch.shared_bytes = size(*syntax.shared);
        launch.cooperative = syntax.cooperative;
        launch.programmatic = syntax.programmatic;
        for (const Piece& piece : syntax.arguments) launch.arguments.push_back(argument(piece));
        return launch;
    }

    int64_t value(const Piece& piece) const {
        try {
            return Expression(piece.text).evaluate(variables_);
        } catch (const ExpressionError& error) {
            throw SyntaxError(piece.at + error.at, error.what());
        }
    }

    uint64_t extent(const Piece& piece) const {
        const int64_t number = value(piece);
        if (number < 0) throw LaunchRefused("{} is {}, which is no extent", piece.text, number);
        return static_cast<uint64_t>(number);
    }

    uint32_t size(const Piece& piece) const {
        const int64_t number = value(piece);
        if (number < 0 || number > UINT32_MAX) throw LaunchRefused("{} is {}, which is no size", piece.text, number);
        return static_cast<uint32_t>(number);
    }

    Dim3 dimensions(const std::vector<Piece>& pieces) const {
        const auto one = [&](size_t i) { return i < pieces.size() ? size(pieces[i]) : 1u; };
        return {one(0), one(1), one(2)};
    }

    const ExecBuffer& buffer(const Piece& piece) const {
        std::vector<std::string> names;
        for (const ExecBuffer& buffer : buffers_) {
            if (buffer.name == piece.text) return buffer;
            names.push_back(buffer.name);
        }
        throw SyntaxError(piece.at,
                          fmt::format("there is no buffer {}{}", piece.text, did_you_mean(piece.text, names)));
    }

    PlannedArgument argument(const Piece& piece) const {
        if (const auto map = parse_tensor_map(piece)) return tensor_map(*map);
        for (const ExecBuffer& buffer : buffers_)
            if (buffer.name == piece.text)
                return {.kind = PlannedArgument::Kind::buffer, .name = buffer.name, .dtype = buffer.dtype};
        if (auto found = integer_literal(piece)) return *found;
        if (auto found = floating_literal(piece)) return *found;
        const bool is_name = std::all_of(piece.text.begin(), piece.text.end(),
                                         [](unsigned char c) { return std::isalnum(c) || c == '_'; });
        if (is_name && !variables_.contains(piece.text)) buffer(piece);
        const int64_t number = value(piece);
        if (number < INT32_MIN || number > INT32_MAX)
            throw SyntaxError(piece.at, fmt::format("{} is {}, which is no 32-bit number", piece.text, number));
        return literal(piece, DType::i32, static_cast<int32_t>(number));
    }

    PlannedArgument tensor_map(const TensorMapSyntax& syntax) const {
        const ExecBuffer& over = buffer(syntax.buffer);
        PlannedArgument argument{.kind = PlannedArgument::Kind::tensor_map, .name = over.name, .dtype = over.dtype};
        for (const Piece& piece : syntax.dims) argument.tensor_map.dims.push_back(extent(piece));
        for (const Piece& piece : syntax.strides) argument.tensor_map.strides_bytes.push_back(extent(piece));
        for (const Piece& piece : syntax.element_strides) argument.tensor_map.element_strides.push_back(size(piece));
        argument.tensor_map.nan_fill = syntax.nan_fill;
        for (const Piece& piece : syntax.box) argument.tensor_map.box.push_back(size(piece));
        if (syntax.swizzle) argument.tensor_map.swizzle = size(*syntax.swizzle);
        return argument;
    }

    const std::string& text_;
    const std::vector<ExecBuffer>& buffers_;
    Variables variables_;
};

Shape parse_shape(std::string_view text, const std::string& whole) {
    Shape shape;
    for (const std::string_view part : split(text, ',')) {
        const auto extent = number<int64_t>(trimmed(part));
        if (!extent || *extent < 0) throw UsageError("--buffer {}: `{}` is no extent", whole, part);
        shape.push_back(*extent);
    }
    return shape;
}

constexpr int64_t kLargestBuffer = int64_t{1} << 34;

/// Whether a file of one type may fill a buffer of the other: NPY has no bf16 and no 8-bit floats, see tensor/npy.h.
bool holds(DType file, DType buffer) {
    if (file == buffer) return true;
    if (buffer == DType::bf16) return file == DType::u16;
    return (buffer == DType::e4m3 || buffer == DType::e5m2) && file == DType::u8;
}

/// Floats of one type as floats of another, rounded to the nearest.
Tensor rounded(const Tensor& from, DType dtype) {
    Tensor to(dtype, from.shape);
    for (int64_t i = 0; i < from.size(); ++i) to.set(i, from.at(i));
    return to;
}

}  // namespace

ExecBuffer parse_buffer(const std::string& text, uint64_t seed) {
    const size_t colon = text.find(':'), open = text.find('['), close = text.find(']'), equals = text.find('=');
    if (colon == std::string::npos || open == std::string::npos || close == std::string::npos ||
        equals == std::string::npos || !(colon < open && open < close && close < equals))
        throw UsageError("--buffer takes NAME:TYPE[N]=FILL, not `{}`", text);
    ExecBuffer buffer;
    buffer.name = std::string(trimmed(std::string_view(text).substr(0, colon)));
    const bool is_name = !buffer.name.empty() && !std::isdigit(static_cast<unsigned char>(buffer.name[0])) &&
                         std::all_of(buffer.name.begin(), buffer.name.end(),
                                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (!is_name) throw UsageError("--buffer {}: `{}` is not a name", text, buffer.name);
    const std::string_view fill = trimmed(std::string_view(text).substr(equals + 1));
    try {
        buffer.dtype = dtype_named(trimmed(std::string_view(text).substr(colon + 1, open - colon - 1)));
        buffer.shape = parse_shape(std::string_view(text).substr(open + 1, close - open - 1), text);
        if (volume(buffer.shape) * size_bytes(buffer.dtype) > kLargestBuffer)
            throw Error("a buffer has at most {} bytes", kLargestBuffer);
        if (fill != "uninit" && !fill.starts_with('@'))
            buffer.contents = filled(parse_fill(fill), buffer.dtype, buffer.shape, seed, buffer.name);
    } catch (const Error& error) {
        throw UsageError("--buffer {}: {}", bounded(text, 200), error.what());
    }
    if (!fill.starts_with('@')) return buffer;
    buffer.contents = read_npy(std::string(fill.substr(1)));
    const DType file = buffer.contents->dtype;
    if (file != buffer.dtype && is_floating(file) && is_floating(buffer.dtype))
        buffer.contents = rounded(*buffer.contents, buffer.dtype);
    else if (!holds(file, buffer.dtype))
        throw Error("--buffer {}: the file holds {}, the buffer {}", text, name(buffer.contents->dtype),
                    name(buffer.dtype));
    if (buffer.contents->bytes.size() != static_cast<size_t>(volume(buffer.shape)) * size_bytes(buffer.dtype))
        throw Error("--buffer {}: the file holds {} bytes, the buffer {}", text, buffer.contents->bytes.size(),
                    volume(buffer.shape) * size_bytes(buffer.dtype));
    return buffer;
}

std::map<std::string, std::string> parse_defines(const std::vector<std::string>& texts) {
    std::map<std::string, std::string> defines;
    for (const std::string& text : texts) {
        const size_t equals = text.find('=');
        const std::string name = text.substr(0, equals);
        if (name.empty()) throw UsageError("--define takes NAME=VALUE, not `{}`", text);
        defines[name] = equals == std::string::npos ? "1" : text.substr(equals + 1);
    }
    return defines;
}

PlannedLaunch parse_exec_launch(const std::string& text, const std::vector<ExecBuffer>& buffers,
                                const std::map<std::string, std::string>& defines) {
    return ExecLaunch(text, buffers, defines).resolved();
}

}  // namespace recuda

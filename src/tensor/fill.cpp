#include "tensor/fill.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>

#include "base/error.h"
#include "base/rng.h"
#include "base/text.h"

namespace recuda {
namespace {

struct Form {
    std::string_view name;
    Fill::Kind kind;
    int arguments;
};
constexpr std::array<Form, 7> kForms{{{"zeros", Fill::Kind::zeros, 0},
                                      {"iota", Fill::Kind::iota, 0},
                                      {"const", Fill::Kind::constant, 1},
                                      {"uniform", Fill::Kind::uniform, 2},
                                      {"normal", Fill::Kind::normal, 2},
                                      {"cos_table", Fill::Kind::cos_table, 0},
                                      {"sin_table", Fill::Kind::sin_table, 0}}};

[[noreturn]] void refuse(std::string_view text) {
    throw Error("`{}` is not a fill; there are zeros, iota, const(V), uniform(A, B), normal(M, S) and [v, v, …]", text);
}

bool parse_number(std::string_view text, double& value) {
    text = trimmed(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc() && end == text.data() + text.size();
}

/// A whole number as 64 bits of two's complement; nullopt for other text.
std::optional<uint64_t> whole_number(std::string_view literal) {
    const bool negative = literal.starts_with('-');
    std::string_view digits = negative ? literal.substr(1) : literal;
    const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    if (hexadecimal) digits.remove_prefix(2);
    uint64_t value = 0;
    const auto [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
    if (digits.empty() || problem != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return negative ? 0 - value : value;
}

/// Stores a literal. An integer type takes whole numbers that its bits hold, signed or unsigned: 255 and -1 are one u8.
void store_literal(Tensor& tensor, int64_t index, std::string_view literal) {
    const uint32_t size = size_bytes(tensor.dtype);
    std::byte* element = tensor.bytes.data() + index * size;
    if (is_floating(tensor.dtype)) {
        double value = 0;
        if (!parse_number(literal, value)) {
            const std::optional<uint64_t> whole = whole_number(literal);
            if (!whole) throw Error("`{}` is not a number", literal);
            value = literal.starts_with('-') ? -static_cast<double>(0 - *whole) : static_cast<double>(*whole);
        }
        return store(tensor.dtype, element, value);
    }
    const std::optional<uint64_t> bits = whole_number(literal);
    const auto fits = [&] {
        if (!bits || size == 8) return bits.has_value();
        const bool negative = literal.starts_with('-') && *bits != 0;
        return negative ? *bits >> (8 * size - 1) == UINT64_MAX >> (8 * size - 1) : *bits >> (8 * size) == 0;
    };
    if (!fits()) throw Error("`{}` is no value of type {}", literal, name(tensor.dtype));
    std::memcpy(element, &*bits, size);  // little-endian: the low bytes come first
}

double angle(Rng& rng) { return 2 * std::numbers::pi * rng.uniform(); }

}  // namespace

Fill parse_fill(std::string_view text) {
    const std::string_view whole = trimmed(text);
    Fill fill;
    if (whole.starts_with('[') && whole.ends_with(']')) {
        fill.kind = Fill::Kind::list;
        for (const std::string_view part : split(whole.substr(1, whole.size() - 2), ',')) {
            const std::string_view literal = trimmed(part);
            double ignored;
            if (!literal.starts_with("0x") && !literal.starts_with("-0x") && !parse_number(literal, ignored))
                refuse(text);
            fill.list.emplace_back(literal);
        }
        return fill;
    }
    const size_t open = whole.find('(');
    const std::string_view word = trimmed(whole.substr(0, open));
    for (const Form& form : kForms) {
        if (form.name != word) continue;
        fill.kind = form.kind;
        std::vector<std::string_view> arguments;
        if (open != std::string_view::npos) {
            if (!whole.ends_with(')')) refuse(text);
            arguments = split(whole.substr(open + 1, whole.size() - open - 2), ',');
        }
        if (arguments.size() != static_cast<size_t>(form.arguments)) refuse(text);
        if (form.arguments > 0 && !parse_number(arguments[0], fill.a)) refuse(text);
        if (fill.kind == Fill::Kind::constant) fill.list.emplace_back(trimmed(arguments[0]));
        if (form.arguments > 1 && !parse_number(arguments[1], fill.b)) refuse(text);
        return fill;
    }
    refuse(text);
}

Tensor filled(const Fill& fill, DType dtype, const Shape& shape, uint64_t seed, std::string_view stream) {
    Tensor tensor(dtype, shape);
    const int64_t count = tensor.size();
    const bool table = fill.kind == Fill::Kind::cos_table || fill.kind == Fill::Kind::sin_table;
    Rng rng(seed, table ? "angles" : stream);
    const auto each = [&](auto value) {
        for (int64_t i = 0; i < count; ++i) tensor.set(i, value(i));
    };
    switch (fill.kind) {
        case Fill::Kind::zeros:
            break;
        case Fill::Kind::iota:
            each([](int64_t i) { return static_cast<double>(i); });
            break;
        case Fill::Kind::constant:
            if (count > 0) store_literal(tensor, 0, fill.list.front());
            for (int64_t i = 1; i < count; ++i)
                std::memcpy(tensor.bytes.data() + i * size_bytes(dtype), tensor.bytes.data(), size_bytes(dtype));
            break;
        case Fill::Kind::uniform:
            each([&](int64_t) { return fill.a + (fill.b - fill.a) * rng.uniform(); });
            break;
        case Fill::Kind::normal:
            each([&](int64_t) { return fill.a + fill.b * rng.normal(); });
            break;
        case Fill::Kind::cos_table:
            each([&](int64_t) { return std::cos(angle(rng)); });
            break;
        case Fill::Kind::sin_table:
            each([&](int64_t) { return std::sin(angle(rng)); });
            break;
        case Fill::Kind::list:
            if (static_cast<int64_t>(fill.list.size()) != count)
                throw Error("a list of {} values cannot fill {} elements", fill.list.size(), count);
            for (int64_t i = 0; i < count; ++i) store_literal(tensor, i, fill.list[static_cast<size_t>(i)]);
            break;
    }
    return tensor;
}

std::string_view name(Battery battery) {
    constexpr std::array<std::string_view, 10> kNames{"normal",  "large", "zeros",    "constant", "ties",
                                                      "outlier", "tiny",  "negative", "edges",    "special"};
    return kNames[static_cast<size_t>(battery)];
}

const std::vector<Battery>& all_batteries() {
    static const std::vector<Battery> all{Battery::normal, Battery::large,   Battery::zeros, Battery::constant,
                                          Battery::ties,   Battery::outlier, Battery::tiny,  Battery::negative,
                                          Battery::edges,  Battery::special};
    return all;
}

namespace {

/// The row's largest value at its last element or its first, the second largest at the other end, and both made to
/// outweigh the rest: the larger has twice the norm of what lies between. A sum of squares without it is less than half
/// of what it should be, however long the row, and a maximum without it is another one.
void move_extremes_to_the_ends(Tensor& tensor, int64_t first, int64_t width, bool largest_last) {
    if (width < 2) return;
    const auto swap_in = [&](int64_t place, int64_t begin, int64_t end) {
        int64_t at = begin;
        for (int64_t i = begin; i < end; ++i)
            if (tensor.at(i) > tensor.at(at)) at = i;
        const double moved = tensor.at(place);
        tensor.set(place, tensor.at(at));
        tensor.set(at, moved);
    };
    const int64_t last = first + width - 1, large = largest_last ? last : first, second = largest_last ? first : last;
    swap_in(large, first, last + 1);
    swap_in(second, first + !largest_last, last + !largest_last);
    double squares = 0;
    for (int64_t i = first + 1; i < last; ++i) squares += tensor.at(i) * tensor.at(i);
    const double norm = std::max(std::sqrt(squares), std::fabs(tensor.at(large)));
    tensor.set(second, norm);
    tensor.set(large, 2 * norm);
}

}  // namespace

void apply(Battery battery, Tensor& tensor, uint64_t seed, std::string_view stream) {
    if (!is_floating(tensor.dtype) || tensor.size() == 0) return;
    Rng rng(seed, std::string(stream) + "/" + std::string(name(battery)));
    const int64_t width = tensor.shape.empty() ? 1 : tensor.shape.back(), rows = tensor.size() / width;
    const auto each = [&](auto value) {
        for (int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, value());
    };
    const auto sign = [&] { return rng.next() & 1 ? 1.0 : -1.0; };
    const auto anywhere = [&](int64_t row) {
        return row * width + static_cast<int64_t>(rng.below(static_cast<uint64_t>(width)));
    };
    switch (battery) {
        case Battery::normal:
            return;
        case Battery::large:
            return each([&] { return sign() * std::exp2(40 * rng.uniform() - 20); });
        case Battery::zeros:
            return each([&] { return 0 * sign(); });
        case Battery::constant:
            for (int64_t row = 0; row < rows; ++row) {
                const double value = rng.normal();
                for (int64_t i = 0; i < width; ++i) tensor.set(row * width + i, value);
            }
            return;
        case Battery::ties:
            return each([&] { return static_cast<double>(rng.below(4)) / 2 - 0.5; });
        case Battery::outlier:
            for (int64_t row = 0; row < rows; ++row) tensor.set(anywhere(row), 1e4 * sign());
            return;
        case Battery::tiny:
            for (int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, tensor.at(i) * 0x1p-10);
            return;
        case Battery::negative:
            for (int64_t i = 0; i < tensor.size(); ++i)
                tensor.set(i, -(std::fabs(tensor.at(i)) + 0.5) * (i / width % 2 == 0 ? 1 : 0x1p17));
            return;
        case Battery::edges:
            for (int64_t row = 0; row < rows; ++row)
                move_extremes_to_the_ends(tensor, row * width, width, row % 2 == 0);
            return;
        case Battery::special: {
            const std::array<double, 3> values{std::nan(""), HUGE_VAL, -HUGE_VAL};
            // One value a row, in turn; every fourth row stays as it is, so that a NaN that leaks into a neighbour
            // shows.
            for (int64_t row = 0; row < rows; ++row)
                if (row % 4 < 3) tensor.set(anywhere(row), values[static_cast<size_t>(row % 4)]);
            return;
        }
    }
}

}  // namespace recuda

#include "tensor/fill.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <execution>
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

/// Elements that one stream of random numbers makes. Larger tensors are made of several streams at once: weights of a
/// proof are a dozen megabytes for each of its inputs.
constexpr int64_t kStretch = 1 << 16;

/// element i = value(rng): stretch 0 from the stream itself, stretch k from a stream of its own.
template <typename Value>
void set_random(Tensor& tensor, uint64_t seed, std::string_view stream, Value value) {
    const int64_t count = tensor.size();
    std::vector<int64_t> stretches(static_cast<size_t>((count + kStretch - 1) / kStretch));
    std::iota(stretches.begin(), stretches.end(), int64_t{0});
    std::for_each(std::execution::par, stretches.begin(), stretches.end(), [&](int64_t stretch) {
        Rng rng = stretch == 0 ? Rng(seed, stream) : Rng(seed, fmt::format("{} {}", stream, stretch));
        const int64_t first = stretch * kStretch;
        set_each(tensor, first, std::min(first + kStretch, count), [&](int64_t) { return value(rng); });
    });
}

/// The stream of both tables of a rotation: the sine belongs to the cosine.
constexpr std::string_view kAngles = "angles";
double angle(Rng& rng) { return 2 * std::numbers::pi * rng.uniform(); }

/// Standard normal numbers by the ziggurat method (Marsaglia and Tsang, Journal of Statistical Software 5(8), 2000;
/// layer and fraction from different bits, as Doornik asks for): inputs are made by the million, and this takes a fifth
/// of the time of Box and Muller's sines. 128 layers of equal area cover the density, right of kTail lies its tail.
class Ziggurat {
 public:
    double operator()(Rng& rng) const {
        for (;;) {
            const uint64_t bits = rng.next(), layer = bits % kLayers;
            const double fraction = 2 * (static_cast<double>(bits >> 11) * 0x1p-53) - 1, x = fraction * edge_[layer];
            if (std::fabs(x) < edge_[layer + 1]) return x;
            if (layer == 0) return std::copysign(tail(rng), fraction);
            // A point of the layer that may lie above the density.
            const double bottom = density(edge_[layer]), top = density(edge_[layer + 1]);
            if (bottom + rng.uniform() * (top - bottom) < density(x)) return x;
        }
    }

 private:
    static constexpr size_t kLayers = 128;
    static constexpr double kTail = 3.442619855899, kArea = 9.91256303526217e-3;

    static double density(double x) { return std::exp(-0.5 * x * x); }

    static std::array<double, kLayers + 1> edges() {
        std::array<double, kLayers + 1> edge{kArea / density(kTail), kTail};
        for (size_t i = 2; i < kLayers; ++i)
            edge[i] = std::sqrt(-2 * std::log(kArea / edge[i - 1] + density(edge[i - 1])));
        return edge;  // the last one is 0
    }

    static double tail(Rng& rng) {
        for (;;) {
            const double x = -std::log(1 - rng.uniform()) / kTail, y = -std::log(1 - rng.uniform());
            if (2 * y > x * x) return kTail + x;
        }
    }

    std::array<double, kLayers + 1> edge_ = edges();
};

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
    const auto each = [&](auto value) { set_each(tensor, 0, count, value); };
    const auto random = [&](std::string_view of, auto value) { set_random(tensor, seed, of, value); };
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
            random(stream, [&](Rng& rng) { return fill.a + (fill.b - fill.a) * rng.uniform(); });
            break;
        case Fill::Kind::normal: {
            static const Ziggurat ziggurat;
            random(stream, [&](Rng& rng) { return fill.a + fill.b * ziggurat(rng); });
            break;
        }
        case Fill::Kind::cos_table:
            random(kAngles, [](Rng& rng) { return std::cos(angle(rng)); });
            break;
        case Fill::Kind::sin_table:
            random(kAngles, [](Rng& rng) { return std::sin(angle(rng)); });
            break;
        case Fill::Kind::list:
            if (static_cast<int64_t>(fill.list.size()) != count)
                throw Error("a list of {} values cannot fill {} elements", fill.list.size(), count);
            for (int64_t i = 0; i < count; ++i) store_literal(tensor, i, fill.list[static_cast<size_t>(i)]);
            break;
    }
    return tensor;
}

}  // namespace recuda

#include "device/vgpu/ops/tensor_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <span>

#include "device/vgpu/ops/formats.h"

namespace recuda::vgpu {
namespace {

constexpr int kLeast = -126;      // no sum is aligned to a smaller exponent
constexpr int32_t kNone = -1000;  // the exponent of zero: far below all others
constexpr int32_t kLeftOut = -2000;

/// A float as significand and exponent, no smaller than `least`, that of the format's denormals.
struct Parts {
    float significand;
    int32_t exponent;
};
template <int least>
Parts parts_of(float value) {
    const uint32_t bits = bits_of(value), field = bits >> 23 & 0xff;
    const bool zero = (bits & 0x7fffffff) == 0;
    Parts parts;
    if constexpr (least == kLeast) {
        const float normal = as_float((bits & 0x807fffffu) | 0x3f800000u);
        parts.significand = field == 0 ? value * 0x1p126f : normal;
        parts.exponent = std::max(static_cast<int32_t>(field) - 127, kLeast);
    } else {
        // No format with other denormals reaches the ends of f32: the scale is a normal number.
        parts.exponent = std::max(static_cast<int32_t>(field) - 127, least);
        parts.significand = value * as_float(static_cast<uint32_t>(127 - parts.exponent) << 23);
    }
    if (zero) parts.exponent = kNone;
    // Infinity and NaN stay what they are: their sums show what the result is.
    if (field == 0xff) parts = {value, 0};
    return parts;
}

template <typename Bits>
Bits bits_at(const std::byte* elements, uint32_t i) {
    Bits bits;
    std::memcpy(&bits, elements + i * sizeof(Bits), sizeof(Bits));
    return bits;
}

uint32_t nibble_at(const std::byte* elements, uint32_t i) {
    return static_cast<uint32_t>(elements[i / 2]) >> i % 2 * 4 & 15;
}

Parts float_at(Element element, const std::byte* elements, uint32_t i) {
    switch (element) {
        case Element::f16:
            return parts_of<-14>(from_half(bits_at<uint16_t>(elements, i)));
        case Element::bf16:
            return parts_of<kLeast>(from_bfloat(bits_at<uint16_t>(elements, i)));
        case Element::tf32:
            return parts_of<kLeast>(as_float(bits_at<uint32_t>(elements, i) & 0xffffe000u));
        case Element::e4m3:
            return parts_of<-6>(from_small<kE4m3>(bits_at<uint8_t>(elements, i)));
        case Element::e5m2:
            return parts_of<-14>(from_small<kE5m2>(bits_at<uint8_t>(elements, i)));
        case Element::e3m2:
            return parts_of<-2>(from_small<kE3m2>(bits_at<uint8_t>(elements, i) & 0x3f));
        case Element::e2m3:
            return parts_of<0>(from_small<kE2m3>(bits_at<uint8_t>(elements, i) & 0x3f));
        case Element::e2m1:
            return parts_of<0>(from_small<kE2m1>(bits_at<uint8_t>(elements, i) >> 2 & 0xf));
        default:
            return parts_of<kLeast>(as_float(bits_at<uint32_t>(elements, i)));
    }
}

int32_t whole_at(Element element, const std::byte* elements, uint32_t i) {
    switch (element) {
        case Element::s8:
            return bits_at<int8_t>(elements, i);
        case Element::u8:
            return bits_at<uint8_t>(elements, i);
        case Element::s4:
            return static_cast<int32_t>(nibble_at(elements, i) << 28) >> 28;
        case Element::u4:
            return static_cast<int32_t>(nibble_at(elements, i));
        default:
            return bits_at<int32_t>(elements, i);
    }
}

/// Elements that a sum of integers goes over: words of bits for b1.
uint32_t terms(const Product& product) { return product.a == Element::b1 ? product.k / 32 : product.k; }

template <Element element>
void read_floats(const std::byte* elements, uint32_t k, float sign, Row& row) {
    uint32_t special = 0;
    for (uint32_t i = 0; i < k; ++i) {
        const Parts parts = float_at(element, elements, i);
        row.significand[i] = sign * parts.significand;
        row.exponent[i] = parts.exponent;
        special |= (bits_of(parts.significand) & 0x7f800000u) == 0x7f800000u;
    }
    row.special = special != 0;
}

void read_any_floats(Element element, const std::byte* elements, uint32_t k, bool negates, Row& row) {
    const float sign = negates ? -1.0f : 1.0f;
    switch (element) {
        case Element::f16:
            return read_floats<Element::f16>(elements, k, sign, row);
        case Element::bf16:
            return read_floats<Element::bf16>(elements, k, sign, row);
        case Element::tf32:
            return read_floats<Element::tf32>(elements, k, sign, row);
        case Element::e4m3:
            return read_floats<Element::e4m3>(elements, k, sign, row);
        case Element::e5m2:
            return read_floats<Element::e5m2>(elements, k, sign, row);
        case Element::e3m2:
            return read_floats<Element::e3m2>(elements, k, sign, row);
        case Element::e2m3:
            return read_floats<Element::e2m3>(elements, k, sign, row);
        case Element::e2m1:
            return read_floats<Element::e2m1>(elements, k, sign, row);
        default:
            return read_floats<Element::f32>(elements, k, sign, row);
    }
}

/// Where element k of a line lies in a Row or Tile: those of a step one after another.
uint32_t place_of(const Product& product, uint32_t k) {
    const uint32_t dealt = product.model.dealt;
    if (!product.model.as_f16) return k;
    return k / dealt % 2 * (product.k / 2) + k / dealt / 2 * dealt + k % dealt;
}

template <const SmallFormat& format>
const std::array<uint16_t, 256>& halves_of() {
    static const auto halves = [] {
        std::array<uint16_t, 256> table;
        for (uint32_t code = 0; code < 256; ++code) table[code] = to_half(from_small<format>(code));
        return table;
    }();
    return halves;
}

void read_as_halves(const Product& product, Element element, bool negates, const std::byte* elements, Row& row) {
    const auto& halves = element == Element::e4m3 ? halves_of<kE4m3>() : halves_of<kE5m2>();
    uint16_t line[kMostK];
    for (uint32_t k = 0; k < product.k; ++k) line[place_of(product, k)] = halves[bits_at<uint8_t>(elements, k)];
    read_any_floats(Element::f16, std::as_bytes(std::span(line)).data(), product.k, negates, row);
}

void read_line(const Product& product, Element element, bool negates, const std::byte* elements, Row& row) {
    row.special = false;
    if (element == Element::f64) {
        std::memcpy(row.real, elements, product.k * sizeof(double));
    } else if (is_whole(element)) {
        for (uint32_t i = 0; i < terms(product); ++i) row.whole[i] = whole_at(element, elements, i);
    } else if (product.model.as_f16) {
        read_as_halves(product, element, negates, elements, row);
    } else {
        read_any_floats(element, elements, product.k, negates, row);
    }
}

/// Towards zero with `bits` fraction bits, denormals of f32 included; beyond the largest, infinity.
inline float cut(double value, int bits) {
    const double magnitude = std::fabs(value);
    if (bits < 23) {
        const double low = std::max(magnitude, 0x1p-126);
        // Adding this leaves the wanted digits at the end of the sum, rounded to nearest; one step back where above.
        const double shift = as_double((bits_of(low) & 0x7ff0000000000000) + (uint64_t(52 - bits) << 52)) * 1.5;
        double kept = (magnitude + shift) - shift;
        if (kept > magnitude) kept -= shift / 1.5 * 0x1p-52;
        value = std::copysign(kept, value);
    }
    const auto nearest = static_cast<float>(value);
    const bool beyond = std::fabs(static_cast<double>(nearest)) > magnitude && magnitude < 0x1p128;
    const float result = as_float(beyond ? bits_of(nearest) - 1 : bits_of(nearest));
    return result + 0.0f;  // no -0
}

// Eight columns at once. Written as vectors: the compiler takes loops over arrays of eight apart (measured: 4 times
// slower).
using Floats = float __attribute__((vector_size(32)));
using Ints = int32_t __attribute__((vector_size(32)));
using FourInts = int32_t __attribute__((vector_size(16)));
using FourDoubles = double __attribute__((vector_size(32)));
using FourLongs = int64_t __attribute__((vector_size(32)));

/// As two vectors that a processor of the baseline holds.
struct Doubles {
    FourDoubles half[2];
    double operator[](uint32_t n) const { return half[n / 4][n % 4]; }
};

template <typename Vector, typename T>
inline Vector load(const T* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
}
template <typename To, typename From>
inline To bits_as(const From& from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
inline Ints larger(const Ints& a, const Ints& b) { return a > b ? a : b; }

template <typename Vector>
inline Vector half_of(const Ints& ints, int half) {
    FourInts four;
    std::memcpy(&four, reinterpret_cast<const char*>(&ints) + half * sizeof four, sizeof four);
    return __builtin_convertvector(four, Vector);
}

struct Eight {
    Floats significand;
    Ints exponent;
};

/// parts_of for eight finite numbers.
template <int least>
inline Eight parts_of_eight(const Floats& value) {
    const Ints bits = bits_as<Ints>(value), field = bits >> 23 & 0xff;
    Eight parts;
    parts.exponent = larger(field - 127, Ints{} + least);
    if constexpr (least == kLeast) {
        const Ints normal = (bits & static_cast<int32_t>(0x807fffff)) | 0x3f800000;
        parts.significand = field == 0 ? value * 0x1p126f : bits_as<Floats>(normal);
    } else {
        parts.significand = value * bits_as<Floats>((127 - parts.exponent) << 23);
    }
    parts.exponent = (bits & 0x7fffffff) == 0 ? Ints{} + kNone : parts.exponent;
    return parts;
}

/// The sum of products from `from` to `to` and c, as a tensor core aligns them.
inline Doubles add_step(const Row& row, const Tile& tile, uint32_t from, uint32_t to, int fraction, const Eight& c) {
    Ints largest = larger(c.exponent, Ints{} + kLeast);
    for (uint32_t k = from; k < to; ++k) largest = larger(largest, load<Ints>(tile.exponent[k]) + row.exponent[k]);
    // As exponent field of a scale: what an addend's exponent is added to.
    const Ints base = 127 + fraction - largest;
    const auto scale = [&](const Ints& exponent) { return bits_as<Floats>(larger(exponent + base, Ints{}) << 23); };
    Doubles total;
    Ints part = __builtin_convertvector(c.significand * scale(c.exponent), Ints);
    for (int half = 0; half < 2; ++half) total.half[half] = half_of<FourDoubles>(part, half);
    for (uint32_t first = from; first < to; first += 8) {
        // Eight products below 4 * 2^25 each fit an int.
        part = Ints{};
        for (uint32_t k = first; k < std::min(first + 8, to); ++k)
            part += __builtin_convertvector(row.significand[k] * load<Floats>(tile.significand[k]) *
                                                scale(load<Ints>(tile.exponent[k]) + row.exponent[k]),
                                            Ints);
        for (int half = 0; half < 2; ++half) total.half[half] += half_of<FourDoubles>(part, half);
    }
    const Ints power = 1023 - fraction + largest;
    for (int half = 0; half < 2; ++half)
        total.half[half] *= bits_as<FourDoubles>(half_of<FourLongs>(power, half) << 52);
    return total;
}

/// Eight times `cut`.
inline Floats cut_eight(const Doubles& value, int bits) {
    float result[kTileColumns];
    for (uint32_t half = 0; half < 2; ++half) {
        const FourLongs digits = bits_as<FourLongs>(value.half[half]);
        const FourLongs magnitude = digits & std::numeric_limits<int64_t>::max();
        const FourLongs small = (magnitude < (int64_t{1023 - 126} << 52)) & (magnitude != 0);
        if ((small[0] | small[1] | small[2] | small[3]) == 0) {
            const FourDoubles kept = bits_as<FourDoubles>(digits & ~((int64_t{1} << (52 - bits)) - 1)) + 0.0;
            for (uint32_t n = 0; n < 4; ++n) result[half * 4 + n] = static_cast<float>(kept[n]);
        } else {
            for (uint32_t n = 0; n < 4; ++n) result[half * 4 + n] = cut(value.half[half][n], bits);
        }
    }
    return load<Floats>(result);
}

bool finite(float value) { return (bits_of(value) & 0x7f800000u) != 0x7f800000u; }

/// All steps, of finite numbers; true where a sum of an early step has left the format.
bool add_finite(const Product& product, const Row& row, const Tile& tile, float* sum) {
    const SumModel model = product.model;
    if (product.d == Element::f16) {
        for (uint32_t from = 0; from < product.k; from += model.step) {
            const Eight c = parts_of_eight<-14>(load<Floats>(sum));
            const Doubles exact =
                add_step(row, tile, from, std::min(product.k, from + model.step), model.fraction_bits, c);
            bool left = false;
            for (uint32_t n = 0; n < kTileColumns; ++n) {
                sum[n] = from_half(to_half(float_to_odd(exact[n])));
                left |= !finite(sum[n]);
            }
            if (left && from + model.step < product.k) return true;
        }
        return false;
    }
    Floats sums = load<Floats>(sum);
    // Products of eight bits alone have several steps, and those do not leave f32.
    for (uint32_t from = 0; from < product.k; from += model.step)
        sums = cut_eight(add_step(row, tile, from, std::min(product.k, from + model.step), model.fraction_bits,
                                  parts_of_eight<kLeast>(sums)),
                         model.result_bits);
    std::memcpy(sum, &sums, sizeof sums);
    return false;
}

bool all_finite(const float* values) {
    uint32_t special = 0;
    for (uint32_t n = 0; n < kTileColumns; ++n) special |= !finite(values[n]);
    return special == 0;
}

/// The same where infinities or NaN are about: a column that has some gets what IEEE arithmetic makes of them.
void add_special(const Product& product, const Row& row, const Tile& tile, float* sum) {
    Row plain_row = row;
    Tile plain = tile;
    for (uint32_t n = 0; n < kTileColumns; ++n) {
        Product step = product;
        float extreme = 0, own[kTileColumns] = {};
        for (uint32_t from = 0; from < product.k; from += product.model.step) {
            const uint32_t to = std::min(product.k, from + product.model.step);
            if (!finite(sum[n])) extreme += sum[n], sum[n] = 0;
            for (uint32_t k = from; k < to; ++k) {
                // What is left out has no product at all: zero times an infinity would be one.
                const bool left_out = row.exponent[k] == kLeftOut;
                const float factor = left_out ? 0.0f : row.significand[k] * tile.significand[k][n];
                if (!finite(factor)) extreme += factor;
                const bool usual = !left_out && finite(factor);
                plain_row.significand[k - from] = usual ? row.significand[k] : 0;
                plain_row.exponent[k - from] = usual ? row.exponent[k] : kNone;
                plain.significand[k - from][0] = usual ? tile.significand[k][n] : 0;
                plain.exponent[k - from][0] = usual ? tile.exponent[k][n] : kNone;
                for (uint32_t other = 1; other < kTileColumns; ++other) {
                    plain.significand[k - from][other] = 0;
                    plain.exponent[k - from][other] = kNone;
                }
            }
            step.k = to - from;
            own[0] = sum[n];
            add_finite(step, plain_row, plain, own);
            // Beside an infinity the rest counts for nothing, also where it leaves the format.
            sum[n] = finite(extreme) ? own[0] : 0;
        }
        if (!finite(extreme)) sum[n] = canonical(extreme);
    }
}

/// row * tile + sum, as a tensor core's own instructions do it.
void add_in_core(const Product& product, const Row& row, const Tile& tile, float* sum) {
    float before[kTileColumns];
    std::memcpy(before, sum, sizeof before);
    if (!row.special && !tile.special && all_finite(sum) && !add_finite(product, row, tile, sum)) return;
    std::memcpy(sum, before, sizeof before);
    add_special(product, row, tile, sum);
}

void add_floats(const Product& product, const Row& row, const Tile& tile, const uint32_t* c, uint32_t* d) {
    alignas(32) float sum[kTileColumns];
    const bool half = product.d == Element::f16;
    if (product.c == Element::f16)
        for (uint32_t n = 0; n < kTileColumns; ++n) sum[n] = from_half(static_cast<uint16_t>(c[n]));
    else
        for (uint32_t n = 0; n < kTileColumns; ++n) sum[n] = as_float(c[n]);
    if (half && product.c != Element::f16)
        for (float& value : sum) value = from_half(to_half(value));
    if (product.model.as_f16) {
        alignas(32) float products[kTileColumns] = {};
        add_in_core(product, row, tile, products);
        for (uint32_t n = 0; n < kTileColumns; ++n)
            sum[n] = half ? float_to_odd(double{sum[n]} + products[n]) : sum[n] + products[n];
    } else {
        add_in_core(product, row, tile, sum);
    }
    if (half)
        for (uint32_t n = 0; n < kTileColumns; ++n) d[n] = to_half(sum[n]);
    else
        for (uint32_t n = 0; n < kTileColumns; ++n) d[n] = bits_of(canonical(sum[n]));
}

void add_wholes(const Product& product, const Row& row, const Tile& tile, const uint32_t* c, uint32_t* d) {
    alignas(32) int32_t sum[kTileColumns] = {};
    for (uint32_t k = 0; k < terms(product); ++k)
        for (uint32_t n = 0; n < kTileColumns; ++n) {
            if (product.a != Element::b1)
                sum[n] += row.whole[k] * tile.whole[k][n];
            else
                sum[n] += std::popcount(static_cast<uint32_t>(product.counts_both ? row.whole[k] & tile.whole[k][n]
                                                                                  : row.whole[k] ^ tile.whole[k][n]));
        }
    using Limits = std::numeric_limits<int32_t>;
    for (uint32_t n = 0; n < kTileColumns; ++n) {
        const int64_t exact = int64_t{sum[n]} + static_cast<int32_t>(c[n]);
        d[n] =
            static_cast<uint32_t>(product.saturates ? std::clamp<int64_t>(exact, Limits::min(), Limits::max()) : exact);
    }
}

}  // namespace

SumModel model_of(const Product& product, bool warpgroup) {
    if (product.a != Element::e4m3 && product.a != Element::e5m2) return {};
    if (warpgroup) return {.fraction_bits = 13, .result_bits = 13};
    return {.step = product.k / 2, .as_f16 = true};
}

void read_row(const Product& product, const std::byte* elements, Row& row) {
    read_line(product, product.a, product.negates_a, elements, row);
}

void scale_row(const Product& product, Row& row, int exponent) {
    row.special |= exponent == kNanScale;
    for (uint32_t k = 0; k < product.k; ++k) {
        if (exponent == kNanScale) row.significand[k] = as_float(kNan);
        row.exponent[k] += exponent == kNanScale ? 0 : exponent;
    }
}

void scale_column(const Product& product, Tile& tile, uint32_t n, int exponent) {
    tile.special |= exponent == kNanScale;
    for (uint32_t k = 0; k < product.k; ++k) {
        if (exponent == kNanScale) tile.significand[k][n] = as_float(kNan);
        tile.exponent[k][n] += exponent == kNanScale ? 0 : exponent;
    }
}

float add_addends(std::span<const Addend> addends, float c, int fraction_bits) {
    if (!finite(c)) return canonical(c);
    const Parts start = parts_of<kLeast>(c);
    int largest = std::max(start.exponent, kLeast);
    for (const Addend& addend : addends)
        if (addend.significand != 0) largest = std::max(largest, addend.exponent);
    const auto kept = [&](double significand, int exponent) {
        return std::trunc(std::ldexp(significand, fraction_bits + exponent - largest));
    };
    double sum = kept(start.significand, start.exponent);
    for (const Addend& addend : addends) sum += kept(addend.significand, addend.exponent);
    return cut(std::ldexp(sum, largest - fraction_bits), 23);
}

void leave_out(const Product& product, Row& row, uint32_t k) {
    const uint32_t place = place_of(product, k);
    row.significand[place] = 0;
    row.exponent[place] = kLeftOut;
}

void read_tile(const Product& product, const std::byte* elements, size_t pitch, Tile& tile) {
    tile.special = false;
    const bool whole = is_whole(product.b);
    for (uint32_t n = 0; n < kTileColumns; ++n) {
        Row column;
        read_line(product, product.b, product.negates_b, elements + n * pitch, column);
        tile.special |= column.special;
        if (product.b == Element::f64) {
            for (uint32_t k = 0; k < product.k; ++k) tile.real[k][n] = column.real[k];
        } else if (whole) {
            for (uint32_t k = 0; k < terms(product); ++k) tile.whole[k][n] = column.whole[k];
        } else {
            for (uint32_t k = 0; k < product.k; ++k) tile.significand[k][n] = column.significand[k];
            for (uint32_t k = 0; k < product.k; ++k) tile.exponent[k][n] = column.exponent[k];
        }
    }
}

void add_products(const Product& product, const Row& row, const Tile& tile, const uint32_t* c, uint32_t* d) {
    if (is_whole(product.a))
        add_wholes(product, row, tile, c, d);
    else
        add_floats(product, row, tile, c, d);
}

void add_doubles(uint32_t k, const Row& row, const Tile& tile, const double* c, double* d) {
    double sum[kTileColumns];
    std::memcpy(sum, c, sizeof sum);
    for (uint32_t i = 0; i < k; ++i)
        for (uint32_t n = 0; n < kTileColumns; ++n) sum[n] = std::fma(row.real[i], tile.real[i][n], sum[n]);
    std::memcpy(d, sum, sizeof sum);
}

}  // namespace recuda::vgpu

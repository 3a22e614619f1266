#include "device/vgpu/ops/tensor_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/tensor_parts.h"

namespace recuda::vgpu {
namespace {

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
    if constexpr (least == kLeastExponent) {
        const Ints normal = (bits & static_cast<int32_t>(0x807fffff)) | 0x3f800000;
        parts.significand = field == 0 ? value * 0x1p126f : bits_as<Floats>(normal);
    } else {
        parts.significand = value * bits_as<Floats>((127 - parts.exponent) << 23);
    }
    parts.exponent = (bits & 0x7fffffff) == 0 ? Ints{} + kZeroExponent : parts.exponent;
    return parts;
}

/// The sum of products from `from` to `to` and c, as a tensor core aligns them.
inline Doubles add_step(const Row& row, const Tile& tile, uint32_t from, uint32_t to, int fraction, const Eight& c) {
    Ints largest = larger(c.exponent, Ints{} + kLeastExponent);
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
                                  parts_of_eight<kLeastExponent>(sums)),
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
                const bool left_out = row.exponent[k] == kLeftOutExponent;
                const float factor = left_out ? 0.0f : row.significand[k] * tile.significand[k][n];
                if (!finite(factor)) extreme += factor;
                const bool usual = !left_out && finite(factor);
                plain_row.significand[k - from] = usual ? row.significand[k] : 0;
                plain_row.exponent[k - from] = usual ? row.exponent[k] : kZeroExponent;
                plain.significand[k - from][0] = usual ? tile.significand[k][n] : 0;
                plain.exponent[k - from][0] = usual ? tile.exponent[k][n] : kZeroExponent;
                for (uint32_t other = 1; other < kTileColumns; ++other) {
                    plain.significand[k - from][other] = 0;
                    plain.exponent[k - from][other] = kZeroExponent;
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

float add_addends(std::span<const Addend> addends, float c, int fraction_bits) {
    if (!finite(c)) return canonical(c);
    const Parts start = parts_of<kLeastExponent>(c);
    int largest = std::max(start.exponent, kLeastExponent);
    for (const Addend& addend : addends)
        if (addend.significand != 0) largest = std::max(largest, addend.exponent);
    const auto kept = [&](double significand, int exponent) {
        return std::trunc(std::ldexp(significand, fraction_bits + exponent - largest));
    };
    double sum = kept(start.significand, start.exponent);
    for (const Addend& addend : addends) sum += kept(addend.significand, addend.exponent);
    return cut(std::ldexp(sum, largest - fraction_bits), 23);
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

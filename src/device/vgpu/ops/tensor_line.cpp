// Lines of a product's operands as a tensor core sees them: rows of A and columns of B, read from their elements.
#include <array>
#include <cstring>
#include <span>

#include "device/vgpu/ops/tensor_parts.h"

namespace recuda::vgpu {
namespace {

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
            return parts_of<kLeastExponent>(from_bfloat(bits_at<uint16_t>(elements, i)));
        case Element::tf32:
            return parts_of<kLeastExponent>(as_float(bits_at<uint32_t>(elements, i) & 0xffffe000u));
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
            return parts_of<kLeastExponent>(as_float(bits_at<uint32_t>(elements, i)));
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

}  // namespace

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

void leave_out(const Product& product, Row& row, uint32_t k) {
    const uint32_t place = place_of(product, k);
    row.significand[place] = 0;
    row.exponent[place] = kLeftOutExponent;
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

}  // namespace recuda::vgpu

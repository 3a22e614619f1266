// How a tensor core adds up: sums of products of a row of A and eight columns of B, bit for bit as Hopper makes them.
//
// Of a step's products and the sum so far, all exact, the largest exponent is taken (an element's own, products not
// normalised, at least -126); each addend is cut off, towards zero, so many fraction bits below it; those are added
// without error and the sum is rounded: to f32 towards zero, to f16 to nearest even. Products that are summed in
// several steps round after each. Sources: Li et al., FTTN (2024); MMA-Sim (2025), whose table for Hopper is in
// `model_of`. Integers are added exactly and wrap, or saturate; f64 is a chain of fused multiply-adds by rising k.
//
// mma of 8-bit floats is no instruction of Hopper's, which has them for warpgroups alone: ptxas makes f16 of the
// factors and two products of those, the second going on from the first, which starts from zero; c is added last,
// rounded to nearest. Of a register's four elements the first product takes two and the second the others; with half of
// A zero, where those two are what is left of four, it is four of eight. So say the machine code (ptxas 13.0: F2FP,
// HMMA, FADD or HADD2) and what an H200 gave for tests/matrix/numerics.py (docs/evidence).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/vgpu/ops/matrix.h"

namespace recuda::vgpu {

inline constexpr uint32_t kTileColumns = 8;
inline constexpr uint32_t kMostK = 128;

struct SumModel {
    int fraction_bits = 25;  // kept of an addend, below the largest exponent
    int result_bits = 23;    // fraction bits of an f32 result
    uint32_t step = kMostK;  // products that are added at once
    bool as_f16 = false;     // 8-bit floats become f16, in two steps, and c is added last
    uint32_t dealt = 2;      // then: so many elements in turn go to the first step and to the second
};

/// What is multiplied and how it is added.
struct Product {
    Element a = Element::f16, b = Element::f16, c = Element::f32, d = Element::f32;
    uint32_t k = 16;
    SumModel model;
    bool saturates = false;   // integers
    bool counts_both = true;  // b1: bits that are set in both; else in one of the two
    bool negates_a = false, negates_b = false;

    uint32_t row_bytes() const { return k * vgpu::bits_of(a) / 8; }
    uint32_t column_bytes() const { return k * vgpu::bits_of(b) / 8; }
};

/// What is known of a GPU's sums. `warpgroup`: of wgmma.
SumModel model_of(const Product& product, bool warpgroup);

/// A row of A. Floats as significand times a power of two, other types by their value.
struct Row {
    union {
        alignas(64) float significand[kMostK];
        double real[kMostK];
        int32_t whole[kMostK];
    };
    int32_t exponent[kMostK];
    bool special;  // it has an infinity or a NaN
};

/// Eight columns of B, element k of all of them side by side.
struct Tile {
    union {
        alignas(64) float significand[kMostK][kTileColumns];
        double real[kMostK][kTileColumns];
        int32_t whole[kMostK][kTileColumns];
    };
    int32_t exponent[kMostK][kTileColumns];
    bool special;
};

/// A row from its elements, k of them one after another.
void read_row(const Product& product, const std::byte* elements, Row& row);
/// Multiplies a row of floats, or column n of a tile, by a power of two, or by NaN.
void scale_row(const Product& product, Row& row, int exponent);
void scale_column(const Product& product, Tile& tile, uint32_t n, int exponent);
inline constexpr int kNanScale = 1 << 20;

/// Takes element k of a row of floats out of its sums: not even an infinity in B counts.
void leave_out(const Product& product, Row& row, uint32_t k);
/// Columns from their elements: those of column n start at elements + n * pitch.
void read_tile(const Product& product, const std::byte* elements, size_t pitch, Tile& tile);

/// d = row * tile + c for eight columns; of f16, bits in the low half.
void add_products(const Product& product, const Row& row, const Tile& tile, const uint32_t* c, uint32_t* d);
/// A number as significand times a power of two; the significand exact in 40 bits.
struct Addend {
    double significand;
    int exponent;
};
/// addends + c, aligned and rounded to f32 as above. Nothing may be infinite or NaN but c.
float add_addends(std::span<const Addend> addends, float c, int fraction_bits);
void add_doubles(uint32_t k, const Row& row, const Tile& tile, const double* c, double* d);

}  // namespace recuda::vgpu

// mma with scaled blocks: a row of A and a column of B fall into blocks along k, each with a scale of its own.
//
// Scales of row m lie in lane 4 (m % 8) + 2 t + m / 8 with t the thread selector of A, those of column n in lane 4 n +
// t with that of B, from the selected byte on. mxf8f6f4 has one scale for all 32 elements; the products' exponents grow
// by it and they are summed as without. mxf4 and mxf4nvf4 have 64 elements of 4 bits: 16 products are summed exactly,
// times their blocks' scales, and those sums aligned with 35 fraction bits. Sources: PTX ISA 9.0, section 9.7.14.3;
// CUTLASS, cute/atom/mma_traits_sm120.hpp; MMA-Sim (2025).
#include <array>
#include <cstring>

#include "device/vgpu/block.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/fragments.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;

constexpr uint32_t kGroup = 16;  // products of 4 bits that are summed exactly
constexpr int kGroupFraction = 35;

/// Where an operand's scales are: register offsets of the word and of what selects byte and thread.
struct Scales {
    uint32_t word = 0, byte = 0, thread = 0;
    uint32_t at(Warp& warp, uint32_t lane) const {
        return warp.lanes<uint32_t>(word)[lane % kLanes] >> 8 * (warp.lanes<uint16_t>(byte)[0] & 3);
    }
    uint32_t of_row(Warp& warp, uint32_t m) const {
        return at(warp, m % 8 * 4 + 2 * (warp.lanes<uint16_t>(thread)[0] & 1) + m / 8);
    }
    uint32_t of_column(Warp& warp, uint32_t n) const { return at(warp, n * 4 + (warp.lanes<uint16_t>(thread)[0] & 3)); }
};

struct ScaledMma : Extra {
    Product product;
    std::array<uint32_t, 4> a, c, d;
    std::array<uint32_t, 2> b;
    Scales of_a, of_b;
    uint32_t blocks = 1;
    bool small_floats = false;  // scales are e4m3 without sign, else powers of two
};

int power_of(uint32_t byte) { return (byte & 0xff) == 0xff ? kNanScale : static_cast<int>(byte & 0xff) - 127; }

void multiply(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active)) return;
    const auto& mma = static_cast<const ScaledMma&>(*in.extra);
    std::byte elements[kTileColumns][32];
    for (uint32_t n = 0; n < kTileColumns; ++n) gather_row(warp.registers, mma.b, false, n, 16, elements[n]);
    Tile tile;
    read_tile(mma.product, elements[0], sizeof elements[0], tile);
    for (uint32_t n = 0; n < kTileColumns; ++n)
        scale_column(mma.product, tile, n, power_of(mma.of_b.of_column(warp, n)));
    alignas(64) uint32_t sums[16][kTileColumns];
    for (uint32_t m = 0; m < 16; ++m) {
        gather_row(warp.registers, mma.a, true, m, 16, elements[0]);
        Row row;
        read_row(mma.product, elements[0], row);
        scale_row(mma.product, row, power_of(mma.of_a.of_row(warp, m)));
        alignas(32) uint32_t c[kTileColumns];
        gather_sums(warp.registers, mma.c.data(), false, m, c);
        add_products(mma.product, row, tile, c, sums[m]);
    }
    for (uint32_t m = 0; m < 16; ++m) scatter_sums(warp.registers, mma.d.data(), false, m, sums[m]);
}

/// A scale as significand and exponent.
Addend scale_of(const ScaledMma& mma, uint32_t scales, uint32_t block) {
    const uint32_t byte = scales >> 8 * block & 0xff;
    if (!mma.small_floats) return {byte == 0xff ? as_float(kNan) : 1.0, static_cast<int>(byte) - 127};
    const uint32_t field = byte >> 3 & 15, digits = byte & 7;
    if ((byte & 0x7f) == 0x7f) return {as_float(kNan), 0};
    return {(field != 0 ? 8 + digits : digits) / 8.0, static_cast<int>(std::max(field, 1u)) - 7};
}

float element(const std::byte* row, uint32_t i) {
    return from_small<kE2m1>(static_cast<uint32_t>(row[i / 2]) >> i % 2 * 4 & 15);
}

float add_groups(const ScaledMma& mma, const std::byte* row, uint32_t row_scales, const std::byte* column,
                 uint32_t column_scales, float c) {
    std::array<Addend, 4> addends;
    for (uint32_t group = 0; group < addends.size(); ++group) {
        const uint32_t block = group * mma.blocks / addends.size();
        const Addend a = scale_of(mma, row_scales, block), b = scale_of(mma, column_scales, block);
        double sum = 0;
        for (uint32_t i = group * kGroup; i < (group + 1) * kGroup; ++i) sum += element(row, i) * element(column, i);
        addends[group] = {sum * a.significand * b.significand, a.exponent + b.exponent};
        if (is_nan(addends[group].significand)) return as_float(kNan);
    }
    return add_addends(addends, c, kGroupFraction);
}

void multiply_groups(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active)) return;
    const auto& mma = static_cast<const ScaledMma&>(*in.extra);
    std::byte columns[kTileColumns][32];
    for (uint32_t n = 0; n < kTileColumns; ++n) gather_row(warp.registers, mma.b, false, n, 16, columns[n]);
    uint32_t sums[16][kTileColumns];
    for (uint32_t m = 0; m < 16; ++m) {
        std::byte row[32];
        gather_row(warp.registers, mma.a, true, m, 16, row);
        gather_sums(warp.registers, mma.c.data(), false, m, sums[m]);
        for (uint32_t n = 0; n < kTileColumns; ++n)
            sums[m][n] = bits_of(add_groups(mma, row, mma.of_a.of_row(warp, m), columns[n], mma.of_b.of_column(warp, n),
                                            as_float(sums[m][n])));
    }
    for (uint32_t m = 0; m < 16; ++m) scatter_sums(warp.registers, mma.d.data(), false, m, sums[m]);
}

template <size_t count>
void take_registers(Decoder& decoder, const ptx::Operand& list, bool destination, std::array<uint32_t, count>& into) {
    if (list.kind != Kind::vector || list.elements.size() != count) throw Unsupported("another number of registers");
    for (size_t i = 0; i < count; ++i)
        into[i] = destination ? decoder.destination(list.elements[i], ptx::Type::b32)
                              : decoder.source(list.elements[i], ptx::Type::b32);
}

Scales take_scales(Decoder& decoder, const ptx::Operand& word, const ptx::Operand& selectors) {
    if (selectors.kind != Kind::vector || selectors.elements.size() != 2) throw Unsupported("selectors of this form");
    return {decoder.source(word, ptx::Type::b32), decoder.source(selectors.elements[0], ptx::Type::u16),
            decoder.source(selectors.elements[1], ptx::Type::u16)};
}

/// Shape, kind, scales a row and their type, in a combination that there is.
void take_form(const ptx::Statement& statement, Modifiers& modifiers, ScaledMma& mma) {
    const bool wide = modifiers.take("kind::mxf8f6f4");
    const bool nv = !wide && modifiers.take("kind::mxf4nvf4");
    if (!wide && !nv && !modifiers.take("kind::mxf4")) throw Unsupported("this kind");
    mma.blocks = wide ? 1 : 2;
    for (const auto& [name, blocks] : {std::pair{"scale_vec::1X", 1u}, {"scale_vec::2X", 2u}, {"scale_vec::4X", 4u}})
        if (modifiers.take(name)) mma.blocks = blocks;
    mma.small_floats = modifiers.take("ue4m3");
    if (!mma.small_floats && !modifiers.take("ue8m0")) throw Unsupported("scales of this type");
    mma.product.k = wide ? 32 : 64;
    if (!modifiers.take(wide ? "m16n8k32" : "m16n8k64")) throw Unsupported("this shape");
    const bool fits = wide ? mma.blocks == 1 && !mma.small_floats : mma.blocks == 2 ? true : nv && mma.blocks == 4;
    if (!fits || (mma.small_floats && !nv)) throw Unsupported("this combination of kind and scales");
    std::vector<Element> types;
    for (const std::string_view part : statement.parts)
        if (is_element(part) && modifiers.take(part)) types.push_back(element_of(part));
    if (types.size() != 4 || types[0] != Element::f32 || types[3] != Element::f32) throw Unsupported("this form");
    mma.product.a = types[1];
    mma.product.b = types[2];
    const auto small = [&](Element e) { return wide ? !is_whole(e) && bits_of(e) == 8 : e == Element::e2m1; };
    if (!small(types[1]) || !small(types[2])) throw Unsupported("this combination of shape and types");
}

}  // namespace

void decode_scaled_mma(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    auto mma = std::make_unique<ScaledMma>();
    if (statement.has("sp::ordered_metadata") || statement.has("sp"))
        throw Unsupported("products with half of A zero and scaled blocks");
    for (const auto name : {"sync", "aligned", "block_scale", "row", "col"})
        if (!modifiers.take(name)) throw Unsupported("this form");
    take_form(statement, modifiers, *mma);
    modifiers.finish({8});
    const auto& operands = statement.operands;
    take_registers(decoder, operands[0], true, mma->d);
    take_registers(decoder, operands[1], false, mma->a);
    take_registers(decoder, operands[2], false, mma->b);
    take_registers(decoder, operands[3], false, mma->c);
    mma->of_a = take_scales(decoder, operands[4], operands[5]);
    mma->of_b = take_scales(decoder, operands[6], operands[7]);
    in.mix = Mix::tensor;
    in.run = mma->product.k == 64 ? multiply_groups : multiply;
    in.extra = decoder.keep(std::move(mma));
}

}  // namespace recuda::vgpu

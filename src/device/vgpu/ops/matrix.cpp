// ldmatrix, stmatrix and mma: what the lanes of a warp do to small matrices that they hold together.
//
// Layouts are those of the PTX ISA 9.0, section 9.7.14: with group = lane / 4, part = lane % 4 and p elements a
// register, register r of A holds row group + 8 (r % 2), columns 4 p (r / 2) + p part + i; register r of B holds rows 4
// p r + p part + i of column group; register r of D (one 32-bit value each) holds row group + 8 (r / 2), column 2 part
// + r % 2. Products are exact and summed in double (integers exactly), then rounded once: the hardware's own order of
// sums is not documented.
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/access.h"
#include "device/vgpu/ops/address.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/matrix.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {

bool whole_warp(Warp& warp, const Instruction& in, Mask active) {
    if (active == kFullMask) return true;
    if (warp.alive != kFullMask) {
        warp.fault(
            in, active,
            {.check = Check::absent_lane,
             .message = fmt::format("only lanes {:#x} of the warp are there for an instruction of all lanes", active)});
    } else {
        warp.wait(in, active, Group::State::at_warp_sync, 0, kFullMask);
    }
    return false;
}

uint32_t elements_a_register(Element element) {
    switch (element) {
        case Element::f64:
        case Element::f32:
        case Element::tf32:
        case Element::s32:
            return 1;
        case Element::f16:
        case Element::bf16:
            return 2;
        default:
            return 4;
    }
}

double element_value(Element element, uint64_t bits) {
    switch (element) {
        case Element::f64:
            return as_double(bits);
        case Element::f32:
            return as_float(static_cast<uint32_t>(bits));
        case Element::tf32:
            return as_float(static_cast<uint32_t>(bits) & 0xffffe000u);
        case Element::s32:
            return static_cast<int32_t>(bits);
        case Element::f16:
            return from_half(static_cast<uint16_t>(bits));
        case Element::bf16:
            return from_bfloat(static_cast<uint16_t>(bits));
        case Element::s8:
            return static_cast<int8_t>(bits);
        case Element::u8:
            return static_cast<uint8_t>(bits);
        case Element::e4m3:
            return from_small<kE4m3>(static_cast<uint8_t>(bits));
        case Element::e5m2:
            return from_small<kE5m2>(static_cast<uint8_t>(bits));
    }
    return 0;
}

uint64_t element_bits(Element element, double value, bool saturates) {
    switch (element) {
        case Element::f64:
            return bits_of(value);
        case Element::f16:
            return to_half(float_to_odd(value));
        case Element::s32: {
            // Sums of products of bytes are exact in double.
            const auto exact = static_cast<int64_t>(value);
            if (!saturates) return static_cast<uint32_t>(exact);
            return static_cast<uint32_t>(
                std::clamp<int64_t>(exact, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
        }
        default:
            return bits_of(canonical(static_cast<float>(value)));
    }
}

Element element_of(std::string_view type) {
    static constexpr std::pair<std::string_view, Element> kNames[] = {
        {"f64", Element::f64},   {"f32", Element::f32},   {"tf32", Element::tf32}, {"s32", Element::s32},
        {"f16", Element::f16},   {"bf16", Element::bf16}, {"s8", Element::s8},     {"u8", Element::u8},
        {"e4m3", Element::e4m3}, {"e5m2", Element::e5m2}};
    for (const auto& [name, element] : kNames)
        if (name == type) return element;
    throw Unsupported(fmt::format("matrices of {}", type));
}

namespace {

using Kind = ptx::Operand::Kind;
using ptx::Space;

struct Registers : Extra {
    std::vector<uint32_t> offsets;
    bool transposed = false;
};

uint64_t element_at(Warp& warp, uint32_t offset, uint32_t lane, uint32_t i, uint32_t per_register,
                    uint32_t register_bytes) {
    const uint32_t bytes = register_bytes / per_register;
    uint64_t bits = 0;
    std::memcpy(&bits, warp.registers + offset + lane * register_bytes + i * bytes, bytes);
    return bits;
}

/// Rows of 8x8 matrices of 16-bit elements: lane 8 m + r names row r of matrix m.
void load_matrix(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active)) return;
    const auto& registers = static_cast<const Registers&>(*in.extra);
    const uint32_t count = registers.offsets.size();
    const Mask rows = count == 4 ? kFullMask : (1u << 8 * count) - 1;
    alignas(64) uint64_t address[kLanes];
    addresses_of(warp, in, rows, address);
    uint16_t elements[4][8][8];
    const auto take = [&](Space space, const uint64_t* inside, Mask lanes) {
        Access access;
        if (!reach(warp, in, space, inside, lanes, 16, Intent::read, access)) return false;
        for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
            const uint32_t lane = first_lane(rest);
            std::memcpy(elements[lane / 8][lane % 8],
                        access.contiguous ? access.lane[0] + lane * 16 : access.lane[lane], 16);
        }
        return true;
    };
    if (in.b == 0) {
        if (!take(Space::shared, address, rows)) return;
    } else {
        bool good = true;
        by_space(warp, address, rows,
                 [&](Space space, const uint64_t* inside, Mask lanes) { good = good && take(space, inside, lanes); });
        if (!good) return;
    }
    for (uint32_t m = 0; m < count; ++m) {
        uint32_t* to = warp.lanes<uint32_t>(registers.offsets[m]);
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            const uint32_t group = lane / 4, part = lane % 4 * 2;
            to[lane] = registers.transposed ? elements[m][part][group] | uint32_t{elements[m][part + 1][group]} << 16
                                            : elements[m][group][part] | uint32_t{elements[m][group][part + 1]} << 16;
        }
    }
}

void store_matrix(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active)) return;
    const auto& registers = static_cast<const Registers&>(*in.extra);
    const uint32_t count = registers.offsets.size();
    const Mask rows = count == 4 ? kFullMask : (1u << 8 * count) - 1;
    alignas(64) std::byte values[kLanes * 32] = {};
    for (uint32_t m = 0; m < count; ++m) {
        const uint32_t* from = warp.lanes<uint32_t>(registers.offsets[m]);
        for (uint32_t lane = 0; lane < kLanes; ++lane)
            for (uint32_t i = 0; i < 2; ++i) {
                const auto element = static_cast<uint16_t>(from[lane] >> 16 * i);
                const uint32_t row = registers.transposed ? lane % 4 * 2 + i : lane / 4,
                               column = registers.transposed ? lane / 4 : lane % 4 * 2 + i;
                std::memcpy(values + (m * 8 + row) * 32 + column * 2, &element, 2);
            }
    }
    alignas(64) uint64_t address[kLanes];
    addresses_of(warp, in, rows, address);
    if (in.b != 0)
        for (uint64_t& at : address) at -= kSharedWindow;
    const Pattern pattern = pattern_of(address, rows, 16);
    if (!prepare_shared(warp, in, address, rows, 16, pattern)) return;
    ++warp.block->changes;
    warp.block->shared.write(warp, in, address, rows, 16, pattern, values);
}

void decode_matrix_rows(Decoder& base, const ptx::Statement& statement, Instruction& in, bool loads) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    Modifiers modifiers(statement);
    auto registers = std::make_unique<Registers>();
    if (!modifiers.take("sync") || !modifiers.take("aligned") || !modifiers.take("m8n8"))
        throw Unsupported("this shape");
    const uint32_t count = modifiers.take("x4") ? 4 : modifiers.take("x2") ? 2 : 1;
    modifiers.take("x1");
    registers->transposed = modifiers.take("trans");
    in.b = take_space(modifiers) == Space::none ? 1 : 0;
    if (!modifiers.take("b16")) throw Unsupported("this type");
    modifiers.finish({2});
    const auto& list = statement.operands[loads ? 0 : 1];
    const std::vector<ptx::Operand> one{list};
    const auto& elements = list.kind == Kind::vector ? list.elements : one;
    if (elements.size() != count) throw Unsupported("another number of registers");
    for (const auto& element : elements)
        registers->offsets.push_back(loads ? decoder.destination(element, ptx::Type::b32)
                                           : decoder.source(element, ptx::Type::b32));
    resolve_address(decoder, statement.operands[loads ? 1 : 0], in);
    in.mix = Mix::shared;
    in.run = loads ? load_matrix : store_matrix;
    in.extra = decoder.keep(std::move(registers));
}

void decode_ldmatrix(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    decode_matrix_rows(decoder, statement, in, true);
}
void decode_stmatrix(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    decode_matrix_rows(decoder, statement, in, false);
}

struct Product : Extra {
    uint32_t m = 16, n = 8, k = 16;
    Element a, b, c, d;
    std::vector<uint32_t> a_registers, b_registers, c_registers, d_registers;
    bool saturates = false;
};

/// Registers of an operand as elements of a matrix: A by rows of 16, B by columns.
void gather_operand(Warp& warp, const Product& product, bool is_a, double (*to)[64]) {
    const Element element = is_a ? product.a : product.b;
    const auto& registers = is_a ? product.a_registers : product.b_registers;
    const uint32_t p = elements_a_register(element), bytes = element == Element::f64 ? 8 : 4;
    const bool two_halves = is_a && product.m == 16;
    for (uint32_t r = 0; r < registers.size(); ++r) {
        const uint32_t k = (two_halves ? r / 2 : r) * 4 * p, half = two_halves ? 8 * (r % 2) : 0;
        for (uint32_t lane = 0; lane < kLanes; ++lane)
            for (uint32_t i = 0; i < p; ++i)
                to[lane / 4 + half][k + lane % 4 * p + i] =
                    element_value(element, element_at(warp, registers[r], lane, i, p, bytes));
    }
}

void multiply(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active)) return;
    const auto& product = static_cast<const Product&>(*in.extra);
    alignas(64) double a[16][64], columns[8][64], b[64][8], sum[16][8];
    gather_operand(warp, product, true, a);
    gather_operand(warp, product, false, columns);
    for (uint32_t k = 0; k < product.k; ++k)
        for (uint32_t n = 0; n < 8; ++n) b[k][n] = columns[n][k];
    for (uint32_t m = 0; m < product.m; ++m) {
        double row[8] = {};
        for (uint32_t k = 0; k < product.k; ++k)
            for (uint32_t n = 0; n < 8; ++n) row[n] = std::fma(a[m][k], b[k][n], row[n]);
        std::memcpy(sum[m], row, sizeof row);
    }
    const uint32_t per_c = product.c == Element::f16 ? 2 : 1, per_d = product.d == Element::f16 ? 2 : 1;
    const uint32_t c_bytes = product.c == Element::f64 ? 8 : 4, d_bytes = product.d == Element::f64 ? 8 : 4;
    for (uint32_t e = 0; e < product.m / 4; ++e)
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            const uint32_t row = lane / 4 + 8 * (e / 2), column = lane % 4 * 2 + e % 2;
            const double c = element_value(
                product.c, element_at(warp, product.c_registers[e / per_c], lane, e % per_c, per_c, c_bytes));
            sum[row][column] += c;
        }
    for (uint32_t e = 0; e < product.m / 4; ++e)
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            const uint32_t row = lane / 4 + 8 * (e / 2), column = lane % 4 * 2 + e % 2, bytes = d_bytes / per_d;
            const uint64_t bits = element_bits(product.d, sum[row][column], product.saturates);
            std::memcpy(warp.registers + product.d_registers[e / per_d] + lane * d_bytes + e % per_d * bytes, &bits,
                        bytes);
        }
}

void decode_mma(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    auto product = std::make_unique<Product>();
    if (!modifiers.take("sync") || !modifiers.take("aligned")) throw Unsupported("this form");
    struct Shape {
        std::string_view name;
        uint32_t m, k;
    };
    static constexpr Shape kShapes[] = {
        {"m16n8k4", 16, 4}, {"m16n8k8", 16, 8}, {"m16n8k16", 16, 16}, {"m16n8k32", 16, 32}, {"m8n8k4", 8, 4}};
    bool known = false;
    for (const Shape& shape : kShapes)
        if (modifiers.take(shape.name)) product->m = shape.m, product->k = shape.k, known = true;
    if (!known || !modifiers.take("row") || !modifiers.take("col")) throw Unsupported("this shape");
    product->saturates = modifiers.take("satfinite");
    std::vector<Element> types;
    for (size_t i = statement.parts.size() < 5 ? statement.parts.size() : statement.parts.size() - 4;
         i < statement.parts.size(); ++i) {
        types.push_back(element_of(statement.parts[i]));
        modifiers.take(statement.parts[i]);
    }
    modifiers.finish({4});
    if (types.size() != 4) throw Unsupported("this form");
    product->d = types[0], product->a = types[1], product->b = types[2], product->c = types[3];
    const bool is_double = product->a == Element::f64;
    if (product->m == 8 && !is_double) throw Unsupported("this shape");
    const auto registers = [&](const ptx::Operand& list, std::vector<uint32_t>& into, bool destination) {
        const std::vector<ptx::Operand> one{list};
        const auto type = is_double ? ptx::Type::f64 : ptx::Type::b32;
        for (const auto& element : list.kind == Kind::vector ? list.elements : one)
            into.push_back(destination ? decoder.destination(element, type) : decoder.source(element, type));
    };
    registers(statement.operands[0], product->d_registers, true);
    registers(statement.operands[1], product->a_registers, false);
    registers(statement.operands[2], product->b_registers, false);
    registers(statement.operands[3], product->c_registers, false);
    const uint32_t p = elements_a_register(product->a);
    const auto sums = [&](Element element) { return product->m / 4 / (element == Element::f16 ? 2 : 1); };
    if (p != elements_a_register(product->b) || product->a_registers.size() != product->m / 8 * product->k / (4 * p) ||
        product->b_registers.size() != product->k / (4 * p) || product->c_registers.size() != sums(product->c) ||
        product->d_registers.size() != sums(product->d))
        throw Unsupported("this combination of shape and types");
    in.mix = Mix::tensor;
    in.run = multiply;
    in.extra = decoder.keep(std::move(product));
}

constexpr OpRow kRows[] = {
    {"ldmatrix", decode_ldmatrix}, {"stmatrix", decode_stmatrix}, {"mma", decode_mma}, {"wmma", decode_wmma}};

}  // namespace

std::span<const OpRow> matrix_rows() { return kRows; }

}  // namespace recuda::vgpu

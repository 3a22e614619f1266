// ldmatrix and stmatrix: what the lanes of a warp move between shared memory and the registers in which they hold small
// matrices together. Layouts are those of the PTX ISA 9.0, section 9.7.14.5.
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

namespace {

constexpr std::pair<std::string_view, Element> kElements[] = {
    {"f64", Element::f64},   {"f32", Element::f32},   {"tf32", Element::tf32}, {"s32", Element::s32},
    {"f16", Element::f16},   {"bf16", Element::bf16}, {"e4m3", Element::e4m3}, {"e5m2", Element::e5m2},
    {"e3m2", Element::e3m2}, {"e2m3", Element::e2m3}, {"e2m1", Element::e2m1}, {"s8", Element::s8},
    {"u8", Element::u8},     {"s4", Element::s4},     {"u4", Element::u4},     {"b1", Element::b1}};

}  // namespace

bool is_element(std::string_view type) {
    return std::any_of(std::begin(kElements), std::end(kElements), [&](const auto& row) { return row.first == type; });
}

Element element_of(std::string_view type) {
    for (const auto& [name, element] : kElements)
        if (name == type) return element;
    throw Unsupported(fmt::format("matrices of {}", type));
}

uint32_t bits_of(Element element) {
    switch (element) {
        case Element::f64:
            return 64;
        case Element::f32:
        case Element::tf32:
        case Element::s32:
            return 32;
        case Element::f16:
        case Element::bf16:
            return 16;
        case Element::s4:
        case Element::u4:
            return 4;
        case Element::b1:
            return 1;
        default:
            return 8;
    }
}

namespace {

using Kind = ptx::Operand::Kind;
using ptx::Space;

struct Registers : Extra {
    std::vector<uint32_t> offsets;
    bool transposed = false;
};

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

/// Transposes an 8x8 matrix of which each lane has two elements of a row.
void move_matrix(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active)) return;
    uint16_t elements[8][8];
    std::memcpy(elements, warp.lanes<uint32_t>(in.a), sizeof elements);
    uint32_t* to = warp.lanes<uint32_t>(in.d);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const uint32_t row = lane / 4, column = lane % 4 * 2;
        to[lane] = elements[column][row] | uint32_t{elements[column + 1][row]} << 16;
    }
}

void decode_movmatrix(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    for (const auto name : {"sync", "aligned", "m8n8", "trans", "b16"})
        if (!modifiers.take(name)) throw Unsupported("this form");
    modifiers.finish({2});
    set_operands(decoder, statement, in, ptx::Type::b32, {ptx::Type::b32});
    in.mix = Mix::warp;
    in.run = move_matrix;
}

constexpr OpRow kRows[] = {{"ldmatrix", decode_ldmatrix}, {"movmatrix", decode_movmatrix},
                           {"stmatrix", decode_stmatrix}, {"mma", decode_mma},
                           {"wmma", decode_wmma},         {"wgmma", decode_wgmma}};

}  // namespace

std::span<const OpRow> matrix_rows() { return kRows; }

}  // namespace recuda::vgpu

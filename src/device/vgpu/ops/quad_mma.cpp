// mma.m8n8k4 of f16, Volta's: a warp makes four products at once, each held by four lanes and the four lanes 16 above.
//
// Lane t of the lower four holds row t of A (column t where A is by columns: its upper half), and so on as the PTX ISA
// 9.0, section 9.7.14.5.1, has it. Sums are taken as those of the other shapes; what a newer GPU, which has no such
// instruction, really does is not known.
#include <array>
#include <cstring>

#include "device/vgpu/block.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/ops/tensor_sum.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;

constexpr uint32_t kSide = 8, kDepth = 4;

struct QuadMma : Extra {
    Product product{.k = kDepth};
    bool a_by_rows = true, b_by_rows = true;
    std::array<uint32_t, 2> a, b;
    std::vector<uint32_t> c, d;
};

/// Lane `lane` (0 to 3, and 4 to 7 for those 16 above) of a quad.
uint32_t lane_of(uint32_t quad, uint32_t lane) { return quad * 4 + lane % 4 + lane / 4 * 16; }

uint16_t half_of(Warp& warp, const uint32_t* offsets, uint32_t lane, uint32_t i) {
    return static_cast<uint16_t>(warp.lanes<uint32_t>(offsets[i / 2])[lane] >> i % 2 * 16);
}

/// Lines of A (rows) or of B (columns): where `along`, a lane holds a line, else one element of four lines.
void gather(Warp& warp, const uint32_t* offsets, uint32_t quad, bool along, uint16_t (*lines)[kDepth]) {
    for (uint32_t lane = 0; lane < kSide; ++lane)
        for (uint32_t i = 0; i < kDepth; ++i) {
            const uint16_t bits = half_of(warp, offsets, lane_of(quad, lane), i);
            if (along)
                lines[lane][i] = bits;
            else
                lines[i + lane / 4 * 4][lane % 4] = bits;
        }
}

/// Calls visit(row, column, bits of C or D in a register, whether the upper half) for what a quad holds.
template <typename Visit>
void each_sum(Warp& warp, const std::vector<uint32_t>& offsets, bool halves, uint32_t quad, Visit visit) {
    for (uint32_t lane = 0; lane < kSide; ++lane)
        for (uint32_t i = 0; i < kSide; ++i) {
            const uint32_t low = lane % 4, high = lane / 4 * 4;
            const uint32_t row = halves ? lane : (low & 1) + (i & 2) + high;
            const uint32_t column = halves ? i : (i & 4) + (low & 2) + (i & 1);
            uint32_t& word = warp.lanes<uint32_t>(offsets[halves ? i / 2 : i])[lane_of(quad, lane)];
            visit(row, column, word, halves && i % 2 == 1);
        }
}

void multiply(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active)) return;
    const auto& mma = static_cast<const QuadMma&>(*in.extra);
    const bool half_c = mma.product.c == Element::f16, half_d = mma.product.d == Element::f16;
    for (uint32_t quad = 0; quad < 4; ++quad) {
        uint16_t rows[kSide][kDepth], columns[kSide][kDepth];
        gather(warp, mma.a.data(), quad, mma.a_by_rows, rows);
        gather(warp, mma.b.data(), quad, !mma.b_by_rows, columns);
        Tile tile;
        read_tile(mma.product, reinterpret_cast<const std::byte*>(columns), sizeof columns[0], tile);
        uint32_t c[kSide][kSide], d[kSide][kSide];
        each_sum(warp, mma.c, half_c, quad, [&](uint32_t row, uint32_t column, uint32_t word, bool upper) {
            c[row][column] = half_c ? word >> (upper ? 16 : 0) & 0xffff : word;
        });
        for (uint32_t m = 0; m < kSide; ++m) {
            Row row;
            read_row(mma.product, reinterpret_cast<const std::byte*>(rows[m]), row);
            add_products(mma.product, row, tile, c[m], d[m]);
        }
        each_sum(warp, mma.d, half_d, quad, [&](uint32_t row, uint32_t column, uint32_t& word, bool upper) {
            if (!half_d)
                word = d[row][column];
            else
                word = upper ? (word & 0xffff) | d[row][column] << 16 : (word & 0xffff0000) | d[row][column];
        });
    }
}

template <typename Offsets>
void take_registers(Decoder& decoder, const ptx::Operand& list, bool destination, Offsets& into) {
    if (list.kind != Kind::vector || list.elements.size() != into.size())
        throw Unsupported("another number of registers");
    for (size_t i = 0; i < into.size(); ++i)
        into[i] = destination ? decoder.destination(list.elements[i], ptx::Type::b32)
                              : decoder.source(list.elements[i], ptx::Type::b32);
}

/// Takes .row or .col.
bool take_by_rows(const ptx::Statement& statement, size_t part, Modifiers& modifiers) {
    const std::string_view layout = part < statement.parts.size() ? statement.parts[part] : std::string_view();
    if ((layout != "row" && layout != "col") || !modifiers.take(layout)) throw Unsupported("this layout");
    return layout == "row";
}

}  // namespace

void decode_quad_mma(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    constexpr size_t kLayouts = 4;  // mma.sync.aligned.m8n8k4.A.B
    Modifiers modifiers(statement);
    auto mma = std::make_unique<QuadMma>();
    for (const auto name : {"sync", "aligned", "m8n8k4"})
        if (!modifiers.take(name)) throw Unsupported("this form");
    mma->a_by_rows = take_by_rows(statement, kLayouts, modifiers);
    mma->b_by_rows = take_by_rows(statement, kLayouts + 1, modifiers);
    std::vector<Element> types;
    for (const std::string_view part : statement.parts)
        if (is_element(part) && modifiers.take(part)) types.push_back(element_of(part));
    modifiers.finish({4});
    const auto sums = [](Element element) { return element == Element::f16 || element == Element::f32; };
    if (types.size() != 4 || types[1] != Element::f16 || types[2] != Element::f16 || !sums(types[0]) || !sums(types[3]))
        throw Unsupported("this combination of shape and types");
    mma->product.d = types[0];
    mma->product.c = types[3];
    mma->d.resize(types[0] == Element::f16 ? 4 : 8);
    mma->c.resize(types[3] == Element::f16 ? 4 : 8);
    take_registers(decoder, statement.operands[0], true, mma->d);
    take_registers(decoder, statement.operands[1], false, mma->a);
    take_registers(decoder, statement.operands[2], false, mma->b);
    take_registers(decoder, statement.operands[3], false, mma->c);
    in.mix = Mix::tensor;
    in.run = multiply;
    in.extra = decoder.keep(std::move(mma));
}

}  // namespace recuda::vgpu

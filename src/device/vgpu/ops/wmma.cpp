// wmma: loads, stores and products of fragments whose layout only the hardware knows. Ours is the plain one: a
// fragment's elements by rows (A, C, D) or columns (B), lane after lane; a fragment with more places than elements
// holds them again.
#include <cstring>
#include <type_traits>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/access.h"
#include "device/vgpu/ops/address.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/matrix.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/ops/tensor_sum.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;
using ptx::Space;

/// Elements are kept in units of whole bytes; those below a byte in words, along the rows of A and the columns of B.
struct Fragment {
    Element element = Element::f32;
    std::vector<uint32_t> registers;
    uint32_t rows = 16, columns = 16;  // in units
    uint32_t unit_bits() const { return bits_of(element) < 8 ? 32 : bits_of(element); }
    uint32_t bytes() const { return unit_bits() / 8; }
    uint32_t register_bytes() const { return element == Element::f64 ? 8 : 4; }
    uint32_t a_register() const { return register_bytes() / bytes(); }   // units
    uint32_t places() const { return registers.size() * a_register(); }  // a lane
    uint32_t elements_a_unit() const { return unit_bits() / bits_of(element); }
    /// Where the bits of place `e` of a lane lie.
    std::byte* at(Warp& warp, uint32_t lane, uint32_t e) const {
        return warp.registers + registers[e / a_register()] + lane * register_bytes() + e % a_register() * bytes();
    }
    /// The same of unit `index` of the matrix, by rows.
    std::byte* unit(Warp& warp, uint32_t index) const { return at(warp, index / places(), index % places()); }
};

struct Wmma : Extra {
    Fragment a, b, c, d;  // a move uses `d` alone
    Space space = Space::none;
    bool by_rows = true;  // of a move's matrix in memory
    uint32_t stride = 0;  // register offset, in elements; 0: dense
    Product product;
};

/// Copies a fragment from or to memory, one element of every lane at a time.
template <bool kLoads>
void move_fragment(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active)) return;
    const auto& wmma = static_cast<const Wmma&>(*in.extra);
    const Fragment& fragment = wmma.d;
    alignas(64) uint64_t base[kLanes];
    addresses_of(warp, in, active, base);
    const uint32_t count = fragment.rows * fragment.columns, places = fragment.places();
    for (uint32_t e = 0; e < places; ++e) {
        alignas(64) uint64_t address[kLanes];
        Mask lanes = kFullMask;
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            const uint32_t place = lane * places + e, index = place % count, row = index / fragment.columns,
                           column = index % fragment.columns;
            if (!kLoads && place >= count) lanes &= ~(Mask{1} << lane);
            const uint64_t along = wmma.by_rows ? column : row, across = wmma.by_rows ? row : column;
            const uint64_t length = (wmma.by_rows ? fragment.columns : fragment.rows) * fragment.elements_a_unit();
            const uint64_t stride = wmma.stride != 0 ? warp.lanes<uint32_t>(wmma.stride)[lane] : length;
            address[lane] = base[lane] + across * stride * bits_of(fragment.element) / 8 + along * fragment.bytes();
        }
        if (lanes == 0) continue;
        for (uint32_t lane = 0; lane < kLanes; ++lane)
            if (!(lanes >> lane & 1)) address[lane] = address[first_lane(lanes)];
        bool good = true;
        const auto move = [&](Space space, const uint64_t* inside, Mask some) {
            if (!kLoads && space == Space::shared) {
                alignas(64) std::byte values[kLanes * 32];
                for (uint32_t lane = 0; lane < kLanes; ++lane)
                    std::memcpy(values + lane * 32, fragment.at(warp, lane, e), fragment.bytes());
                const Pattern pattern = pattern_of(inside, some, fragment.bytes());
                ++warp.block->changes;
                good = good && prepare_shared(warp, in, inside, some, fragment.bytes(), pattern) &&
                       warp.block->shared.write(warp, in, inside, some, fragment.bytes(), pattern, values);
                return;
            }
            Access access;
            good = good && reach(warp, in, space, inside, some, fragment.bytes(), kLoads ? Intent::read : Intent::write,
                                 access);
            for (Mask rest = good ? some : 0; rest != 0; rest &= rest - 1) {
                const uint32_t lane = first_lane(rest);
                std::byte* host =
                    access.contiguous ? access.lane[0] + size_t{lane} * fragment.bytes() : access.lane[lane];
                if (kLoads)
                    std::memcpy(fragment.at(warp, lane, e), host, fragment.bytes());
                else
                    std::memcpy(host, fragment.at(warp, lane, e), fragment.bytes());
            }
        };
        if (wmma.space != Space::none)
            move(wmma.space, address, lanes);
        else
            by_space(warp, address, lanes, move);
        if (!good) return;
    }
}

/// Eight columns of B from `first`.
void gather_tile(Warp& warp, const Wmma& wmma, uint32_t first, Tile& tile) {
    alignas(64) std::byte columns[kTileColumns][kMostK * 8];
    for (uint32_t n = 0; n < kTileColumns; ++n)
        for (uint32_t unit = 0; unit < wmma.b.rows; ++unit)
            std::memcpy(columns[n] + unit * wmma.b.bytes(), wmma.b.unit(warp, unit * wmma.b.columns + first + n),
                        wmma.b.bytes());
    read_tile(wmma.product, columns[0], sizeof columns[0], tile);
}

void gather_row(Warp& warp, const Wmma& wmma, uint32_t m, Row& row) {
    std::byte elements[kMostK * 8];
    for (uint32_t unit = 0; unit < wmma.a.columns; ++unit)
        std::memcpy(elements + unit * wmma.a.bytes(), wmma.a.unit(warp, m * wmma.a.columns + unit), wmma.a.bytes());
    read_row(wmma.product, elements, row);
}

/// Sum is the bits of C and D: uint32_t, or double.
template <typename Sum>
void multiply(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active)) return;
    const auto& wmma = static_cast<const Wmma&>(*in.extra);
    const uint32_t rows = wmma.d.rows, columns = wmma.d.columns;
    std::vector<Sum> sums(size_t{rows} * columns);
    for (uint32_t i = 0; i < rows * columns; ++i) std::memcpy(&sums[i], wmma.c.unit(warp, i), wmma.c.bytes());
    for (uint32_t first = 0; first < columns; first += kTileColumns) {
        Tile tile;
        gather_tile(warp, wmma, first, tile);
        for (uint32_t m = 0; m < rows; ++m) {
            Row row;
            gather_row(warp, wmma, m, row);
            Sum* at = sums.data() + size_t{m} * columns + first;
            if constexpr (std::is_same_v<Sum, double>)
                add_doubles(wmma.product.k, row, tile, at, at);
            else
                add_products(wmma.product, row, tile, at, at);
        }
    }
    for (uint32_t i = 0; i < kLanes * wmma.d.places(); ++i)
        std::memcpy(wmma.d.at(warp, i / wmma.d.places(), i % wmma.d.places()), &sums[i % sums.size()], wmma.d.bytes());
}

struct Shape {
    std::string_view name;
    uint32_t m, n, k;
};
constexpr Shape kShapes[] = {{"m16n16k16", 16, 16, 16}, {"m8n32k16", 8, 32, 16}, {"m32n8k16", 32, 8, 16},
                             {"m16n16k8", 16, 16, 8},   {"m8n8k32", 8, 8, 32},   {"m8n8k128", 8, 8, 128},
                             {"m8n8k4", 8, 8, 4}};

Shape take_shape(Modifiers& modifiers) {
    for (const Shape& shape : kShapes)
        if (modifiers.take(shape.name)) return shape;
    throw Unsupported("this shape");
}

void take_registers(Decoder& decoder, const ptx::Operand& list, Fragment& fragment, bool destination) {
    const std::vector<ptx::Operand> one{list};
    const auto type = fragment.element == Element::f64   ? ptx::Type::f64
                      : fragment.element == Element::f32 ? ptx::Type::f32
                                                         : ptx::Type::b32;
    for (const auto& element : list.kind == Kind::vector ? list.elements : one)
        fragment.registers.push_back(destination ? decoder.destination(element, type) : decoder.source(element, type));
    if (fragment.places() * kLanes < fragment.rows * fragment.columns)
        throw Unsupported("too few registers for the fragment");
}

void decode_move(Decoder& base, const ptx::Statement& statement, Instruction& in, Modifiers& modifiers, bool loads) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    auto wmma = std::make_unique<Wmma>();
    const char part = modifiers.take("a")   ? 'a'
                      : modifiers.take("b") ? 'b'
                      : modifiers.take("c") ? 'c'
                      : modifiers.take("d") ? 'd'
                                            : '?';
    if (!modifiers.take("sync") || !modifiers.take("aligned")) throw Unsupported("this form");
    wmma->by_rows = modifiers.take("row");
    if (!wmma->by_rows && !modifiers.take("col")) throw Unsupported("this layout");
    const Shape shape = take_shape(modifiers);
    wmma->space = take_space(modifiers);
    wmma->d.element = element_of(statement.parts.back());
    modifiers.take(statement.parts.back());
    modifiers.finish({2, 3});
    const uint32_t k = shape.k / wmma->d.elements_a_unit();
    if (wmma->d.elements_a_unit() > 1 && wmma->by_rows != (part == 'a')) throw Unsupported("this layout");
    wmma->d.rows = part == 'b' ? k : shape.m;
    wmma->d.columns = part == 'a' ? k : shape.n;
    take_registers(decoder, statement.operands[loads ? 0 : 1], wmma->d, loads);
    resolve_address(decoder, statement.operands[loads ? 1 : 0], in);
    if (statement.operands.size() == 3) wmma->stride = decoder.source(statement.operands[2], ptx::Type::u32);
    in.width = static_cast<uint8_t>(wmma->d.bytes());
    if (wmma->space == Space::shared || wmma->space == Space::none) note_granule(decoder.program(), in.width);
    in.mix = Mix::memory;
    in.run = loads ? move_fragment<true> : move_fragment<false>;
    in.extra = decoder.keep(std::move(wmma));
}

}  // namespace

void decode_wmma(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (modifiers.take("load")) return decode_move(decoder, statement, in, modifiers, true);
    if (modifiers.take("store")) return decode_move(decoder, statement, in, modifiers, false);
    if (!modifiers.take("mma") || !modifiers.take("sync") || !modifiers.take("aligned")) throw Unsupported("this form");
    // Layouts name how the fragments were loaded; here a fragment is the same for both.
    while (modifiers.take("row") || modifiers.take("col")) {
    }
    auto wmma = std::make_unique<Wmma>();
    const Shape shape = take_shape(modifiers);
    Product& product = wmma->product;
    product.saturates = modifiers.take("satfinite");
    product.counts_both = modifiers.take("and");
    if (!product.counts_both) modifiers.take("xor");
    modifiers.take("popc");
    modifiers.take("rn");
    std::vector<Element> types;
    for (const std::string_view part : statement.parts)
        if (is_element(part) && modifiers.take(part)) types.push_back(element_of(part));
    modifiers.finish({4});
    // .d.c for halves, whose A and B are f16; .d.a.b.c else.
    if (types.size() == 2) types = {types[0], Element::f16, Element::f16, types[1]};
    if (types.size() != 4) throw Unsupported("these types");
    product.d = types[0], product.a = types[1], product.b = types[2], product.c = types[3];
    product.k = shape.k;
    product.model = model_of(product, false);
    wmma->d = {types[0], {}, shape.m, shape.n};
    wmma->a = {types[1], {}, shape.m, shape.k};
    wmma->b = {types[2], {}, shape.k, shape.n};
    wmma->c = {types[3], {}, shape.m, shape.n};
    wmma->a.columns /= wmma->a.elements_a_unit();
    wmma->b.rows /= wmma->b.elements_a_unit();
    take_registers(decoder, statement.operands[0], wmma->d, true);
    take_registers(decoder, statement.operands[1], wmma->a, false);
    take_registers(decoder, statement.operands[2], wmma->b, false);
    take_registers(decoder, statement.operands[3], wmma->c, false);
    in.mix = Mix::tensor;
    in.run = product.a == Element::f64 ? multiply<double> : multiply<uint32_t>;
    in.extra = decoder.keep(std::move(wmma));
}

}  // namespace recuda::vgpu

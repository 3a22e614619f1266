// mma.sync: products of matrices that a warp holds in registers. fragments.h has the layouts.
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "device/vgpu/block.h"
#include "device/vgpu/ops/fragments.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/matrix.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/ops/sparse.h"
#include "device/vgpu/ops/tensor_sum.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;

constexpr uint32_t kMostRowBytes = kMostK * 8;

struct Mma : Extra {
    Product product;
    uint32_t m = 16;
    std::optional<Sparsity> sparse;
    uint32_t metadata = 0;             // register offset
    std::vector<uint32_t> a, b, c, d;  // register offsets
};

void read_columns(Warp& warp, const Mma& mma, uint32_t part, Tile& tile) {
    alignas(64) std::byte columns[kTileColumns][kMostRowBytes];
    for (uint32_t n = 0; n < kTileColumns; ++n) gather_row(warp.registers, mma.b, false, n, part, columns[n]);
    read_tile(mma.product, columns[0], kMostRowBytes, tile);
}

void read_row_of(Warp& warp, const Mma& mma, uint32_t m, Row& row) {
    std::byte elements[kMostRowBytes];
    gather_row(warp.registers, mma.a, mma.m == 16, m, 16, elements);
    if (!mma.sparse) return read_row(mma.product, elements, row);
    std::byte spread[kMostRowBytes];
    const Sparsity& sparse = *mma.sparse;
    const uint64_t kept = sparse.spread(elements, sparse.row(warp.lanes<uint32_t>(mma.metadata), m), spread);
    read_row(mma.product, spread, row);
    leave_out_zeros(mma.product, sparse, kept, row);
}

void multiply(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active)) return;
    const auto& mma = static_cast<const Mma&>(*in.extra);
    Tile tile;
    read_columns(warp, mma, 16, tile);
    // All of C is read before any of D is written: they may be the same registers.
    alignas(64) uint32_t sums[16][kTileColumns];
    for (uint32_t m = 0; m < mma.m; ++m) {
        Row row;
        read_row_of(warp, mma, m, row);
        alignas(32) uint32_t c[kTileColumns];
        gather_sums(warp.registers, mma.c.data(), mma.product.c == Element::f16, m, c);
        add_products(mma.product, row, tile, c, sums[m]);
    }
    for (uint32_t m = 0; m < mma.m; ++m)
        scatter_sums(warp.registers, mma.d.data(), mma.product.d == Element::f16, m, sums[m]);
}

void multiply_doubles(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active)) return;
    const auto& mma = static_cast<const Mma&>(*in.extra);
    Tile tile;
    read_columns(warp, mma, 32, tile);
    double sums[16][kTileColumns];
    for (uint32_t m = 0; m < mma.m; ++m) {
        std::byte elements[kMostRowBytes];
        gather_row(warp.registers, mma.a, mma.m == 16, m, 32, elements);
        Row row;
        read_row(mma.product, elements, row);
        double c[kTileColumns];
        for (uint32_t n = 0; n < kTileColumns; ++n)
            c[n] = warp.lanes<double>(mma.c[m / 8 * 2 + n % 2])[m % 8 * 4 + n / 2];
        add_doubles(mma.product.k, row, tile, c, sums[m]);
    }
    for (uint32_t m = 0; m < mma.m; ++m)
        for (uint32_t n = 0; n < kTileColumns; ++n)
            warp.lanes<double>(mma.d[m / 8 * 2 + n % 2])[m % 8 * 4 + n / 2] = sums[m][n];
}

struct Shape {
    std::string_view name;
    uint32_t m, k;
};
constexpr Shape kShapes[] = {{"m16n8k4", 16, 4},   {"m16n8k8", 16, 8},     {"m16n8k16", 16, 16},   {"m16n8k32", 16, 32},
                             {"m16n8k64", 16, 64}, {"m16n8k128", 16, 128}, {"m16n8k256", 16, 256}, {"m8n8k4", 8, 4},
                             {"m8n8k16", 8, 16},   {"m8n8k32", 8, 32},     {"m8n8k128", 8, 128}};

void take_shape(Modifiers& modifiers, Mma& mma) {
    for (const Shape& shape : kShapes)
        if (modifiers.take(shape.name)) {
            mma.m = shape.m;
            mma.product.k = shape.k;
            return;
        }
    throw Unsupported("this shape");
}

/// The four types, in their order.
void take_types(const ptx::Statement& statement, Modifiers& modifiers, Product& product) {
    std::vector<Element> types;
    for (const std::string_view part : statement.parts) {
        if (types.size() == 4) break;
        if (!is_element(part) || !modifiers.take(part)) continue;
        types.push_back(element_of(part));
    }
    if (types.size() != 4) throw Unsupported("this form");
    product.d = types[0];
    product.a = types[1];
    product.b = types[2];
    product.c = types[3];
}

/// Whether there is a product of these types at all: both factors of one family, sums that belong to it.
bool fits(const Product& product) {
    const auto eight = [](Element e) { return !is_whole(e) && vgpu::bits_of(e) <= 8; };
    const Element a = product.a, b = product.b, c = product.c, d = product.d;
    if (a == Element::f64) return b == a && c == a && d == a;
    if (a == Element::b1) return b == a && c == Element::s32 && d == c;
    if (is_whole(a)) return is_whole(b) && vgpu::bits_of(a) == vgpu::bits_of(b) && c == Element::s32 && d == c;
    if (a == Element::tf32 || a == Element::bf16) return b == a && c == Element::f32 && d == c;
    const bool sums = (c == Element::f32 || c == Element::f16) && (d == Element::f32 || d == Element::f16);
    return sums && (eight(a) ? eight(b) : a == Element::f16 && b == a);
}

void take_registers(Decoder& decoder, const ptx::Operand& list, Element element, bool destination, size_t count,
                    std::vector<uint32_t>& into) {
    const std::vector<ptx::Operand> one{list};
    const auto& elements = list.kind == Kind::vector ? list.elements : one;
    if (elements.size() != count) throw Unsupported("another number of registers");
    const auto type = element == Element::f64 ? ptx::Type::f64 : ptx::Type::b32;
    for (const auto& operand : elements)
        into.push_back(destination ? decoder.destination(operand, type) : decoder.source(operand, type));
}

/// The metadata and the selector of mma.sp.
void take_sparsity(Decoder& decoder, const ptx::Statement& statement, Mma& mma) {
    Product& product = mma.product;
    const ptx::Operand& selector = statement.operands[5];
    const bool exists = mma.m == 16 && product.a != Element::f64 && product.a != Element::b1;
    if (!exists || selector.kind != Kind::integer) throw Unsupported("this form");
    mma.sparse = Sparsity::of(product, static_cast<uint32_t>(selector.bits));
    const uint32_t bits = mma.sparse->row_bits;
    if (bits != 32 && bits != (mma.sparse->two_rows ? 16u : 64u))
        throw Unsupported("this combination of shape and types");
    if (selector.bits >= mma.sparse->selectors()) throw Unsupported("this selector");
    mma.metadata = decoder.source(statement.operands[4], ptx::Type::b32);
    product.model.dealt *= 2;
}

}  // namespace

void decode_mma(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    auto mma = std::make_unique<Mma>();
    Product& product = mma->product;
    if (statement.has("block_scale")) return decode_scaled_mma(decoder, statement, in);
    if (statement.has("m8n8k4") && statement.has("f16")) return decode_quad_mma(decoder, statement, in);
    const bool sparse = modifiers.take("sp") || modifiers.take("sp::ordered_metadata");
    if (!modifiers.take("sync") || !modifiers.take("aligned")) throw Unsupported("this form");
    take_shape(modifiers, *mma);
    if (!modifiers.take("row") || !modifiers.take("col")) throw Unsupported("this layout");
    product.saturates = modifiers.take("satfinite");
    const bool own_kind = modifiers.take("kind::f8f6f4");
    take_types(statement, modifiers, product);
    if (product.a == Element::b1) {
        product.counts_both = modifiers.take("and");
        if ((!product.counts_both && !modifiers.take("xor")) || !modifiers.take("popc")) throw Unsupported("this form");
    }
    modifiers.finish({sparse ? size_t{6} : size_t{4}});
    if (!own_kind) product.model = model_of(product, false);
    if (sparse) take_sparsity(decoder, statement, *mma);
    const bool is_double = product.a == Element::f64;
    const uint32_t part = is_double ? 32 : 16, halves = mma->m / 8;
    const bool eight_rows = mma->m == 8 && !is_double && !is_whole(product.a);
    const uint32_t row_bytes = product.row_bytes() / (sparse ? 2 : 1);
    if (!fits(product) || eight_rows || row_bytes % part != 0 || row_bytes > 2 * part * (is_double ? 2 : 1))
        throw Unsupported("this combination of shape and types");
    const auto sums = [&](Element element) { return halves * 2 / (element == Element::f16 ? 2 : 1); };
    const auto& operands = statement.operands;
    take_registers(decoder, operands[0], product.d, true, sums(product.d), mma->d);
    take_registers(decoder, operands[1], product.a, false, row_bytes / part * halves, mma->a);
    take_registers(decoder, operands[2], product.b, false, product.column_bytes() / part, mma->b);
    take_registers(decoder, operands[3], product.c, false, sums(product.c), mma->c);
    in.mix = Mix::tensor;
    in.run = is_double ? multiply_doubles : multiply;
    in.extra = decoder.keep(std::move(mma));
}

}  // namespace recuda::vgpu

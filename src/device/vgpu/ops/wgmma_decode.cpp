// wgmma as text: mma_async with its shapes, types and operands, fence, commit_group, wait_group. Source: PTX ISA 9.0,
// sections 9.7.15.5 to 9.7.15.7.
#include <fmt/format.h>

#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/ops/wgmma.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;

/// m64nNkK with k as the types want it; the columns.
void take_shape(const ptx::Statement& statement, Modifiers& modifiers, Wgmma& wgmma) {
    for (uint32_t columns = 8; columns <= kMostWarpgroupColumns; columns += 8)
        for (const uint32_t k : {8u, 16u, 32u, 64u, 256u}) {
            if (!modifiers.take(fmt::format("m64n{}k{}", columns, k))) continue;
            wgmma.columns = columns;
            wgmma.product.k = k;
            return;
        }
    throw Unsupported(fmt::format("this shape of {}", statement.text()));
}

bool fits(const Wgmma& wgmma) {
    const Product& product = wgmma.product;
    const Element a = product.a, b = product.b, d = product.d;
    const auto eight = [](Element e) { return e == Element::e4m3 || e == Element::e5m2; };
    const auto byte = [](Element e) { return e == Element::s8 || e == Element::u8; };
    if (product.k * bits_of(a) != (wgmma.sparse ? 512 : 256)) return false;
    if (is_whole(a)) {
        const bool columns = wgmma.columns <= 32 ? true : wgmma.columns % 16 == 0;
        return d == Element::s32 && columns && (a == Element::b1 ? b == a : byte(a) && byte(b));
    }
    if (a == Element::bf16 || a == Element::tf32) return b == a && d == Element::f32;
    return (d == Element::f32 || d == Element::f16) && (eight(a) ? eight(b) : a == Element::f16 && b == a);
}

int64_t immediate(const ptx::Operand& operand) {
    if (operand.kind != Kind::integer) throw Unsupported("an immediate that is none");
    return static_cast<int64_t>(operand.bits);
}

void take_registers(Decoder& decoder, const ptx::Operand& list, size_t count, std::vector<uint32_t>& into) {
    if (list.kind != Kind::vector || list.elements.size() != count) throw Unsupported("another number of registers");
    for (const auto& element : list.elements) into.push_back(decoder.source(element, ptx::Type::b32));
}

/// What stands behind the matrices: scale-d, the signs of A and B, which of them are MN-major.
void take_scales(Decoder& decoder, const ptx::Statement& statement, Wgmma& wgmma, Instruction& in) {
    const auto& operands = statement.operands;
    const size_t first = wgmma.sparse ? 5 : 3;
    const ptx::Operand& scale = operands[first];
    in.c =
        scale.kind == Kind::integer ? decoder.constant(scale.bits != 0 ? kFullMask : 0, 4) : decoder.predicate(scale);
    wgmma.keeps_unless = scale.negated ? 1 : 0;
    if (is_whole(wgmma.product.a)) return;
    wgmma.product.negates_a = immediate(operands[first + 1]) < 0;
    wgmma.product.negates_b = immediate(operands[first + 2]) < 0;
    if (bits_of(wgmma.product.a) != 16) return;
    wgmma.b_by_rows = immediate(operands.back()) != 0;
    wgmma.a_by_rows = wgmma.a.empty() && immediate(operands[first + 3]) != 0;
}

/// The metadata and the selector of A.
void take_sparsity(Decoder& decoder, const ptx::Statement& statement, Wgmma& wgmma) {
    const int64_t selector = immediate(statement.operands[4]);
    if (selector < 0 || selector >= wgmma.sparse->selectors()) throw Unsupported("this selector");
    wgmma.sparse->selector = static_cast<uint32_t>(selector);
    wgmma.metadata = decoder.source(statement.operands[3], ptx::Type::b32);
}

void decode_product(Decoder& decoder, const ptx::Statement& statement, Instruction& in, Modifiers& modifiers) {
    auto wgmma = std::make_unique<Wgmma>();
    Product& product = wgmma->product;
    const bool sparse = modifiers.take("sp");
    if (!modifiers.take("sync") || !modifiers.take("aligned")) throw Unsupported("this form");
    take_shape(statement, modifiers, *wgmma);
    product.saturates = modifiers.take("satfinite");
    std::vector<Element> types;
    for (const std::string_view part : statement.parts)
        if (is_element(part) && modifiers.take(part)) types.push_back(element_of(part));
    if (types.size() != 3) throw Unsupported("this form");
    product.d = product.c = types[0];
    product.a = types[1];
    product.b = types[2];
    if (product.a == Element::b1 && (!modifiers.take("and") || !modifiers.take("popc"))) throw Unsupported("this form");
    if (sparse && product.a != Element::b1) wgmma->sparse = Sparsity::of(product, 0);
    if (!fits(*wgmma)) throw Unsupported("this combination of shape and types");
    const bool a_in_registers = statement.operands.size() > 1 && statement.operands[1].kind == Kind::vector;
    const size_t tail = is_whole(product.a) ? 1 : bits_of(product.a) != 16 ? 3 : a_in_registers ? 4 : 5;
    modifiers.finish({3 + tail + (sparse ? 2 : 0)});
    if (sparse) take_sparsity(decoder, statement, *wgmma);
    product.model = model_of(product, true);
    take_registers(decoder, statement.operands[0], wgmma->columns / (product.d == Element::f16 ? 4 : 2), wgmma->d);
    if (a_in_registers)
        take_registers(decoder, statement.operands[1], 4, wgmma->a);
    else
        in.a = decoder.source(statement.operands[1], ptx::Type::b64);
    in.b = decoder.source(statement.operands[2], ptx::Type::b64);
    take_scales(decoder, statement, *wgmma, in);
    in.mix = Mix::tensor;
    in.run = run_wgmma;
    in.extra = decoder.keep(std::move(wgmma));
}

}  // namespace

void decode_wgmma(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (modifiers.take("mma_async")) return decode_product(decoder, statement, in, modifiers);
    in.mix = Mix::barrier;
    const bool waits = modifiers.take("wait_group");
    if (waits) {
        in.run = run_wgmma_wait;
    } else if (modifiers.take("commit_group")) {
        in.run = run_wgmma_commit;
    } else if (modifiers.take("fence")) {
        in.run = run_wgmma_fence;
    } else {
        throw Unsupported("this form");
    }
    if (!modifiers.take("sync") || !modifiers.take("aligned")) throw Unsupported("this form");
    modifiers.finish({waits ? size_t{1} : size_t{0}});
    if (waits) in.immediate = immediate(statement.operands[0]);
}

}  // namespace recuda::vgpu

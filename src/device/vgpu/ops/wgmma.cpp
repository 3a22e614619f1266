// wgmma: products of a warpgroup, of 64 rows that four warps hold, whose B (and A, if wanted) lies in shared memory.
//
// A product is of the whole group: a warp that comes to it waits for the three others, and the last one computes all
// four parts, reading B once. What the hardware does between the instruction and its wait is done at the instruction.
// Registers that are touched too early are therefore seen as if waited for, which is also what ptxas makes of them (it
// inserts waits, and says so). Shared operands are looked at again when the group is first waited for by one of its
// warps: a write in between is a race, whoever did it. The first wait counts because one thread's wait is enough for
// the program to hand the memory on.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/vgpu/block.h"
#include "device/vgpu/cluster.h"
#include "device/vgpu/ops/fragments.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/matrix_descriptor.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;

constexpr uint32_t kRowBytes = 32;  // of A and of a column of B: every type's k makes as many
constexpr uint32_t kRows = 64, kMostColumns = 256, kWarpRows = 16;

struct Wgmma : Extra {
    Product product;
    uint32_t columns = 8;
    std::vector<uint32_t> a, d;                 // register offsets; no A: it lies in shared memory
    uint32_t keeps_unless = 0;                  // 1: the predicate scale-d is negated
    bool a_by_rows = false, b_by_rows = false;  // MN-major
};

/// The registers of the four warps at one product, and what their first lanes say.
struct Quartet {
    std::byte* files[Warpgroup::kWarps];
    bool keeps[Warpgroup::kWarps];  // adds to what D holds
    uint64_t a = 0, b = 0;
};

/// Calls `visit(address, row, part)` for each 16 bytes of an operand; for MN-major, `row` is the first of eight and
/// `part` is k. Stops where it returns false.
template <typename Visit>
bool each_chunk(uint64_t descriptor, uint32_t rows, bool by_rows, Visit visit) {
    const auto matrix = MatrixDescriptor::of(descriptor);
    if (by_rows) {
        for (uint32_t k = 0; k < kRowBytes / 2; ++k)
            for (uint32_t piece = 0; piece < rows / 8; ++piece)
                if (!visit(matrix.along_rows(piece, k), piece * 8, k)) return false;
        return true;
    }
    for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t part = 0; part < 2; ++part)
            if (!visit(matrix.along_k(row, part), row, part)) return false;
    return true;
}

/// Copies an operand to rows of K; false after a fault.
bool fetch(Warp& warp, const Instruction& in, uint64_t descriptor, uint32_t rows, bool by_rows,
           std::byte (*to)[kRowBytes]) {
    SharedMemory& shared = warp.block->shared;
    return each_chunk(descriptor, rows, by_rows, [&](uint32_t address, uint32_t row, uint32_t part) {
        if (!shared.read_operand(warp, in, address, 16)) return false;
        const std::byte* from = shared.data() + address;
        if (!by_rows)
            std::memcpy(to[row] + part * 16, from, 16);
        else
            for (uint32_t i = 0; i < 8; ++i) std::memcpy(to[row + i] + part * 2, from + i * 2, 2);
        return true;
    });
}

void count(Warp& warp, const Instruction& in, const Wgmma& wgmma) {
    Tally& tally = warp.block->worker->tally;
    if (!tally.on) return;
    const uint32_t bytes = (wgmma.columns + (wgmma.a.empty() ? kRows : 0)) * kRowBytes;
    ++tally.memory[in.index].shared_requests;
    tally.memory[in.index].shared_wavefronts += bytes / 128;
}

/// What the four warps hold of eight columns.
void add_tile(const Wgmma& wgmma, const Quartet& group, const Row* rows, const Tile& tile, uint32_t first) {
    const bool halves = wgmma.product.d == Element::f16;
    const uint32_t* offsets = wgmma.d.data() + first / 8 * (halves ? 2 : 4);
    for (uint32_t w = 0; w < Warpgroup::kWarps; ++w)
        for (uint32_t row = 0; row < kWarpRows; ++row) {
            alignas(32) uint32_t c[kTileColumns] = {}, d[kTileColumns];
            if (group.keeps[w]) gather_sums(group.files[w], offsets, halves, row, c);
            add_products(wgmma.product, rows[w * kWarpRows + row], tile, c, d);
            scatter_sums(group.files[w], offsets, halves, row, d);
        }
}

/// Computes the product of a group; false after a fault.
bool compute(Warp& warp, const Instruction& in, const Wgmma& wgmma, const Quartet& group) {
    alignas(64) std::byte a[kRows][kRowBytes], b[kMostColumns][kRowBytes];
    if (!fetch(warp, in, group.b, wgmma.columns, wgmma.b_by_rows, b)) return false;
    if (!wgmma.a.empty()) {
        for (uint32_t row = 0; row < kRows; ++row)
            gather_row(group.files[row / kWarpRows], wgmma.a, true, row % kWarpRows, 16, a[row]);
    } else if (!fetch(warp, in, group.a, kRows, wgmma.a_by_rows, a)) {
        return false;
    }
    Row rows[kRows];
    for (uint32_t row = 0; row < kRows; ++row) read_row(wgmma.product, a[row], rows[row]);
    for (uint32_t first = 0; first < wgmma.columns; first += kTileColumns) {
        Tile tile;
        read_tile(wgmma.product, b[first], kRowBytes, tile);
        add_tile(wgmma, group, rows, tile, first);
    }
    count(warp, in, wgmma);
    return true;
}

void illegal(Warp& warp, const Instruction& in, std::string message) {
    warp.fault(in, kFullMask, {.check = Check::illegal_instruction, .message = std::move(message)});
}

/// The group that waits at a product in this warp, if one does.
Group* waiting(Warp& warp) {
    for (Group& group : warp.groups)
        if (group.state == Group::State::at_barrier && group.barrier == kWarpgroupWait) return &group;
    return nullptr;
}

/// Whether all lanes of the four warps exist; else a report.
bool complete(Warp& warp, const Instruction& in) {
    const Block& block = *warp.block;
    const uint32_t first = warp.index / Warpgroup::kWarps * Warpgroup::kWarps;
    uint32_t there = 0;
    for (uint32_t w = first; w < std::min<size_t>(first + Warpgroup::kWarps, block.warps.size()); ++w)
        there += block.warps[w]->alive == kFullMask;
    if (there == Warpgroup::kWarps) return true;
    warp.fault(in, kFullMask,
               {.check = Check::absent_lane,
                .message = fmt::format("a product of a warpgroup, of which {} of 4 warps are there", there)});
    return false;
}

/// Fills `group` where all four warps are here; false where some are not, or after a fault.
bool gather_group(Warp& warp, const Instruction& in, Quartet& group) {
    const uint32_t first = warp.index / Warpgroup::kWarps * Warpgroup::kWarps;
    for (uint32_t w = 0; w < Warpgroup::kWarps; ++w) {
        Warp& other = *warp.block->warps[first + w];
        const Group* there = &other == &warp ? nullptr : waiting(other);
        if (&other != &warp && there == nullptr) {
            warp.wait(in, kFullMask, Group::State::at_barrier, kWarpgroupWait, kFullMask);
            return false;
        }
        if (there != nullptr && there->at != &in) {
            warp.fault(in, kFullMask,
                       {.check = Check::divergent_barrier,
                        .message = "the warps of a warpgroup are at different products",
                        .other = OtherAccess{warp.block->line_of(*there->at, there->frame), warp.block->id,
                                             warp.block->launch->thread_at(other.thread(0))}});
            return false;
        }
        group.files[w] = there != nullptr ? there->frame->registers : warp.registers;
    }
    return true;
}

void multiply(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active) || !complete(warp, in)) return;
    const auto& wgmma = static_cast<const Wgmma&>(*in.extra);
    Quartet group;
    if (!gather_group(warp, in, group)) return;
    for (uint32_t w = 0; w < Warpgroup::kWarps; ++w) {
        const auto word = [&](uint32_t offset) {
            uint64_t bits;
            std::memcpy(&bits, group.files[w] + offset, sizeof bits);
            return bits;
        };
        const uint64_t a = wgmma.a.empty() ? word(in.a) : 0, b = word(in.b);
        if (w > 0 && (a != group.a || b != group.b))
            return illegal(warp, in, "the warps of a warpgroup give different matrix descriptors");
        group.a = a;
        group.b = b;
        Mask keeps;
        std::memcpy(&keeps, group.files[w] + in.c, sizeof keeps);
        group.keeps[w] = (keeps & 1) != wgmma.keeps_unless;
    }
    if (!compute(warp, in, wgmma, group)) return;
    Block& block = *warp.block;
    if (block.launch->checks) {
        Warpgroup& own = block.warpgroups[warp.index / Warpgroup::kWarps];
        own.pending.push_back(
            {&in, {group.a, group.b}, block.shared.mark(), own.committed[warp.index % Warpgroup::kWarps]});
    }
    for (uint32_t w = 0; w < Warpgroup::kWarps; ++w) {
        Warp& other = *block.warps[warp.index / Warpgroup::kWarps * Warpgroup::kWarps + w];
        if (Group* there = waiting(other)) there->state = Group::State::runnable;
    }
}

/// The warpgroup of a warp; null where the block has none for it.
Warpgroup* own_group(Warp& warp) {
    const uint32_t number = warp.index / Warpgroup::kWarps;
    return number < warp.block->warpgroups.size() ? &warp.block->warpgroups[number] : nullptr;
}

void fence(Warp& warp, const Instruction& in, Mask active) { whole_warp(warp, in, active); }

void commit(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active)) return;
    if (Warpgroup* own = own_group(warp)) ++own->committed[warp.index % Warpgroup::kWarps];
}

/// Looks once more at what the products read that are over now.
void wait(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active) || own_group(warp) == nullptr) return;
    Block& block = *warp.block;
    Warpgroup& own = *own_group(warp);
    const uint32_t committed = own.committed[warp.index % Warpgroup::kWarps],
                   left = static_cast<uint32_t>(in.immediate);
    const uint32_t over = committed - std::min(committed, left);
    for (const PendingProduct& product : own.pending) {
        if (product.group >= over) continue;
        const auto& wgmma = static_cast<const Wgmma&>(*product.at->extra);
        const auto unchanged = [&](uint32_t address, uint32_t, uint32_t) {
            return block.shared.check_unchanged(warp, *product.at, address, 16, product.stamp);
        };
        if (wgmma.a.empty() && !each_chunk(product.descriptors[0], kRows, wgmma.a_by_rows, unchanged)) return;
        if (!each_chunk(product.descriptors[1], wgmma.columns, wgmma.b_by_rows, unchanged)) return;
    }
    std::erase_if(own.pending, [&](const PendingProduct& product) { return product.group < over; });
}

/// m64nNkK with k as the types want it; the columns.
void take_shape(const ptx::Statement& statement, Modifiers& modifiers, Wgmma& wgmma) {
    for (uint32_t columns = 8; columns <= kMostColumns; columns += 8)
        for (const uint32_t k : {8u, 16u, 32u, 256u}) {
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
    if (product.k * bits_of(a) != kRowBytes * 8) return false;
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
    const ptx::Operand& scale = operands[3];
    in.c =
        scale.kind == Kind::integer ? decoder.constant(scale.bits != 0 ? kFullMask : 0, 4) : decoder.predicate(scale);
    wgmma.keeps_unless = scale.negated ? 1 : 0;
    if (is_whole(wgmma.product.a)) return;
    wgmma.product.negates_a = immediate(operands[4]) < 0;
    wgmma.product.negates_b = immediate(operands[5]) < 0;
    if (bits_of(wgmma.product.a) != 16) return;
    wgmma.b_by_rows = immediate(operands.back()) != 0;
    wgmma.a_by_rows = wgmma.a.empty() && immediate(operands[6]) != 0;
}

void decode_product(Decoder& decoder, const ptx::Statement& statement, Instruction& in, Modifiers& modifiers) {
    auto wgmma = std::make_unique<Wgmma>();
    Product& product = wgmma->product;
    if (modifiers.take("sp")) throw Unsupported("products with half of A zero");
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
    if (!fits(*wgmma)) throw Unsupported("this combination of shape and types");
    const bool a_in_registers = statement.operands.size() > 1 && statement.operands[1].kind == Kind::vector;
    const size_t tail = is_whole(product.a) ? 1 : bits_of(product.a) != 16 ? 3 : a_in_registers ? 4 : 5;
    modifiers.finish({3 + tail});
    product.model = model_of(product, true);
    take_registers(decoder, statement.operands[0], wgmma->columns / (product.d == Element::f16 ? 4 : 2), wgmma->d);
    if (a_in_registers)
        take_registers(decoder, statement.operands[1], 4, wgmma->a);
    else
        in.a = decoder.source(statement.operands[1], ptx::Type::b64);
    in.b = decoder.source(statement.operands[2], ptx::Type::b64);
    take_scales(decoder, statement, *wgmma, in);
    in.mix = Mix::tensor;
    in.run = multiply;
    in.extra = decoder.keep(std::move(wgmma));
}

}  // namespace

void decode_wgmma(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (modifiers.take("mma_async")) return decode_product(decoder, statement, in, modifiers);
    in.mix = Mix::barrier;
    const bool waits = modifiers.take("wait_group");
    if (waits) {
        in.run = wait;
    } else if (modifiers.take("commit_group")) {
        in.run = commit;
    } else if (modifiers.take("fence")) {
        in.run = fence;
    } else {
        throw Unsupported("this form");
    }
    if (!modifiers.take("sync") || !modifiers.take("aligned")) throw Unsupported("this form");
    modifiers.finish({waits ? size_t{1} : size_t{0}});
    if (waits) in.immediate = immediate(statement.operands[0]);
}

}  // namespace recuda::vgpu

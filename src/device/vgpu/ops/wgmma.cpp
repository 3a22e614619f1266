// wgmma: products of a warpgroup, of 64 rows that four warps hold, whose B (and A, if wanted) lies in shared memory.
//
// A product is of the whole group: a warp that comes to it waits for the three others, and the last one computes all
// four parts, reading B once. What the hardware does between the instruction and its wait is done at the instruction.
// Registers that are touched too early are therefore seen as if waited for, which is also what ptxas makes of them (it
// inserts waits, and says so). Shared operands are looked at again when the group is first waited for by one of its
// warps, after all others had a turn: a write in between is a race, whoever did it. Then they are noted as read, so
// that a later write has to be ordered behind one of the group's warps. The first wait counts because one thread's wait
// is enough for the program to hand the memory on.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/vgpu/block.h"
#include "device/vgpu/cluster.h"
#include "device/vgpu/ops/fragments.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/matrix_descriptor.h"
#include "device/vgpu/ops/wgmma.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

constexpr uint32_t kRowBytes = 32;                // of A as it is stored: every type's k makes as many
constexpr uint32_t kColumnBytes = 2 * kRowBytes;  // of B at most, where half of A is zero
constexpr uint32_t kRows = 64, kWarpRows = 16;

/// The registers of the four warps at one product, and what their first lanes say.
struct Quartet {
    std::byte* files[Warpgroup::kWarps];
    bool keeps[Warpgroup::kWarps];  // adds to what D holds
    uint64_t a = 0, b = 0;
};

/// A matrix in shared memory: so many rows of A, or columns of B, of so many bytes along K.
struct Operand {
    uint64_t descriptor;
    uint32_t rows, bytes;
    bool by_rows;
};
Operand operand_a(const Wgmma& wgmma, uint64_t descriptor) { return {descriptor, kRows, kRowBytes, wgmma.a_by_rows}; }
Operand operand_b(const Wgmma& wgmma, uint64_t descriptor) {
    return {descriptor, wgmma.columns, wgmma.product.column_bytes(), wgmma.b_by_rows};
}

/// Calls `visit(address, row, part)` for each 16 bytes of an operand; for MN-major, `row` is the first of eight and
/// `part` is k. Stops where it returns false.
template <typename Visit>
bool each_chunk(const Operand& operand, Visit visit) {
    const auto matrix = MatrixDescriptor::of(operand.descriptor);
    if (operand.by_rows) {
        for (uint32_t k = 0; k < operand.bytes / 2; ++k)
            for (uint32_t piece = 0; piece < operand.rows / 8; ++piece)
                if (!visit(matrix.along_rows(piece, k), piece * 8, k)) return false;
        return true;
    }
    for (uint32_t row = 0; row < operand.rows; ++row)
        for (uint32_t part = 0; part < operand.bytes / 16; ++part)
            if (!visit(matrix.along_k(row, part), row, part)) return false;
    return true;
}

/// Copies an operand to rows of K, `pitch` bytes apart; false after a fault.
bool fetch(Warp& warp, const Instruction& in, const Operand& operand, std::byte* to, uint32_t pitch) {
    SharedMemory& shared = warp.block->shared;
    return each_chunk(operand, [&](uint32_t address, uint32_t row, uint32_t part) {
        if (!shared.read_operand(warp, in, address, 16)) return false;
        const std::byte* from = shared.data() + address;
        std::byte* line = to + size_t{row} * pitch;
        if (!operand.by_rows)
            std::memcpy(line + part * 16, from, 16);
        else
            for (uint32_t i = 0; i < 8; ++i) std::memcpy(line + i * pitch + part * 2, from + i * 2, 2);
        return true;
    });
}

void count(Warp& warp, const Instruction& in, const Wgmma& wgmma) {
    Tally& tally = warp.block->worker->tally;
    if (!tally.on) return;
    const uint32_t bytes = wgmma.columns * wgmma.product.column_bytes() + (wgmma.a.empty() ? kRows * kRowBytes : 0);
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

/// A row of A from the bytes that are stored of it.
void read_stored(const Wgmma& wgmma, const Quartet& group, uint32_t row, const std::byte* stored, Row& to) {
    if (!wgmma.sparse) return read_row(wgmma.product, stored, to);
    const auto* words = reinterpret_cast<const uint32_t*>(group.files[row / kWarpRows] + wgmma.metadata);
    std::byte whole[kColumnBytes];
    const uint64_t kept = wgmma.sparse->spread(stored, wgmma.sparse->row(words, row % kWarpRows), whole);
    read_row(wgmma.product, whole, to);
    leave_out_zeros(wgmma.product, *wgmma.sparse, kept, to);
}

/// Computes the product of a group; false after a fault.
bool compute(Warp& warp, const Instruction& in, const Wgmma& wgmma, const Quartet& group) {
    alignas(64) std::byte a[kRows][kRowBytes], b[kMostWarpgroupColumns][kColumnBytes];
    if (!fetch(warp, in, operand_b(wgmma, group.b), b[0], kColumnBytes)) return false;
    if (!wgmma.a.empty()) {
        for (uint32_t row = 0; row < kRows; ++row)
            gather_row(group.files[row / kWarpRows], wgmma.a, true, row % kWarpRows, 16, a[row]);
    } else if (!fetch(warp, in, operand_a(wgmma, group.a), a[0], kRowBytes)) {
        return false;
    }
    Row rows[kRows];
    for (uint32_t row = 0; row < kRows; ++row) read_stored(wgmma, group, row, a[row], rows[row]);
    for (uint32_t first = 0; first < wgmma.columns; first += kTileColumns) {
        Tile tile;
        read_tile(wgmma.product, b[first], kColumnBytes, tile);
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

/// The warpgroup of a warp; null where the block has none for it.
Warpgroup* own_group(Warp& warp) {
    const uint32_t number = warp.index / Warpgroup::kWarps;
    return number < warp.block->warpgroups.size() ? &warp.block->warpgroups[number] : nullptr;
}

/// A warp that is about to wait lets all others run first: who writes to what a product reads without waiting for it
/// has the chance to, once all warps of the group are behind the product and once told by one of them. The instruction
/// is run again later, and counted once.
bool lets_others_run(Warp& warp, const Instruction& in, Warpgroup& own) {
    constexpr uint8_t kTurns = 3;
    uint8_t& turns = own.gave_way[warp.index % Warpgroup::kWarps];
    if (turns == kTurns) return false;
    ++turns;
    Block& block = *warp.block;
    if (Tally& tally = block.worker->tally; tally.on) {
        --tally.executed[in.index].warps;
        tally.executed[in.index].lanes -= kLanes;
    }
    warp.pc = in.index;
    warp.limit = 0;
    block.give_way();
    return true;
}

}  // namespace

bool is_async_product(const Instruction& in) { return dynamic_cast<const Wgmma*>(in.extra) != nullptr; }

void run_wgmma(Warp& warp, const Instruction& in, Mask active) {
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

void run_wgmma_fence(Warp& warp, const Instruction& in, Mask active) { whole_warp(warp, in, active); }

void run_wgmma_commit(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active)) return;
    if (Warpgroup* own = own_group(warp)) ++own->committed[warp.index % Warpgroup::kWarps];
}

/// Looks once more at what the products read that are over now.
void run_wgmma_wait(Warp& warp, const Instruction& in, Mask active) {
    if (!whole_warp(warp, in, active) || own_group(warp) == nullptr) return;
    Block& block = *warp.block;
    Warpgroup& own = *own_group(warp);
    const uint32_t committed = own.committed[warp.index % Warpgroup::kWarps],
                   left = static_cast<uint32_t>(in.immediate);
    const uint32_t over = committed - std::min(committed, left);
    const auto ends = [&](const PendingProduct& product) { return product.group < over; };
    if (std::none_of(own.pending.begin(), own.pending.end(), ends)) return;
    if (lets_others_run(warp, in, own)) return;
    for (const PendingProduct& product : own.pending) {
        if (!ends(product)) continue;
        const auto& wgmma = static_cast<const Wgmma&>(*product.at->extra);
        const auto ended = [&](uint32_t address, uint32_t, uint32_t) {
            return block.shared.end_read(warp, *product.at, address, 16, product.stamp);
        };
        if (wgmma.a.empty() && !each_chunk(operand_a(wgmma, product.descriptors[0]), ended)) return;
        if (!each_chunk(operand_b(wgmma, product.descriptors[1]), ended)) return;
    }
    std::erase_if(own.pending, ends);
    std::fill(std::begin(own.gave_way), std::end(own.gave_way), uint8_t{0});
}

}  // namespace recuda::vgpu

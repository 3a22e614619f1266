// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor in tile mode: boxes of one to five dimensions between a tensor
// in global memory, which a tensor map describes, and shared memory. What lies outside of the tensor is read as zero or
// NaN and not written, but no box that is written begins before the tensor. Rows of a tile that is swizzled begin a
// whole span of the swizzle apart, as the CUDA C++ Programming Guide asks that shared memory be allocated.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/vgpu/memory/layout.h"
#include "device/vgpu/memory/tensor_map.h"
#include "device/vgpu/ops/bulk.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/memory.h"
#include "device/vgpu/ops/tensor_map_object.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;
using ptx::Space;
using ptx::Type;

constexpr uint32_t kTileAlign = 128;  // bytes, of tiles in shared memory

struct TensorCopy : Extra {
    Place map, tile, barrier;
    std::vector<uint32_t> coordinates;  // registers, innermost first
    bool loads = false, multicast = false;
    uint32_t ranks = 0;        // register of the ranks of a multicast
    std::string_view reduces;  // the operation of a reduction
};

/// A tile of one copy: the map, where its first element lies in the tensor, and how its rows lie in shared memory.
struct Tile {
    TensorMapFields map;
    int64_t at[kMostTensorRank] = {};
    uint32_t base = 0;  // in shared memory, without rank

    uint32_t row_bytes() const { return map.box[0] * map.element_bytes(); }
    uint32_t pitch() const { return std::max(row_bytes(), map.swizzle_span()); }
    uint64_t rows() const {
        uint64_t rows = 1;
        for (uint32_t i = 1; i < map.rank; ++i) rows *= map.tile_extent(i);
        return rows;
    }
    uint64_t bytes() const { return rows() * pitch(); }
    /// Where a byte of the tile lies, from its base.
    uint32_t place(uint32_t offset) const { return swizzled(base + offset, map.swizzle_span()) - base; }
};

/// Part of a row that lies within the tensor.
struct RowPart {
    uint64_t address = 0;
    uint32_t offset = 0, bytes = 0;  // in the tile before it is swizzled
};

/// Rows end with the tensor for loads; for writes with the 16 bytes in which it ends: what lies between is written too,
/// as an H200 does (docs/evidence, h200-async/starts.txt).
std::vector<RowPart> parts_of(const Tile& tile, bool loads) {
    const TensorMapFields& map = tile.map;
    const int64_t element = map.element_bytes(), unit = loads ? 1 : std::max<int64_t>(1, 16 / element);
    const int64_t extent = (static_cast<int64_t>(map.extents[0]) + unit - 1) / unit * unit;
    const int64_t low = std::max<int64_t>(0, -tile.at[0]);
    const int64_t high = std::min<int64_t>(map.box[0], extent - tile.at[0]);
    std::vector<RowPart> parts;
    if (low >= high) return parts;
    uint32_t index[kMostTensorRank] = {};
    for (uint64_t row = 0; row < tile.rows(); ++row) {
        bool inside = true;
        uint64_t address = map.address + static_cast<uint64_t>((tile.at[0] + low) * element);
        for (uint32_t i = 1; i < map.rank; ++i) {
            const int64_t at = tile.at[i] + int64_t{index[i]} * map.element_strides[i];
            inside = inside && at >= 0 && at < static_cast<int64_t>(map.extents[i]);
            address += static_cast<uint64_t>(at) * map.strides[i - 1];
        }
        if (inside)
            parts.push_back({address, static_cast<uint32_t>(row * tile.pitch() + low * element),
                             static_cast<uint32_t>((high - low) * element)});
        for (uint32_t i = 1; i < map.rank && ++index[i] == map.tile_extent(i); ++i) index[i] = 0;
    }
    return parts;
}

/// Calls body(place in the tile, offset in the part, bytes) for the pieces of a part that stay together when swizzled.
template <typename Body>
void pieces_of(const Tile& tile, const RowPart& part, Body body) {
    for (uint32_t at = 0; at < part.bytes;) {
        const uint32_t offset = part.offset + at;
        const uint32_t bytes = std::min(kBulkPiece - offset % kBulkPiece, part.bytes - at);
        body(tile.place(offset), at, bytes);
        at += bytes;
    }
}

bool read_tile(Warp& warp, const Instruction& in, uint32_t lane, const Tile& tile, std::vector<std::byte>& data) {
    const TensorMapFields& map = tile.map;
    const uint32_t element = map.element_bytes();
    if (const uint64_t fill = map.fill_bits(); fill != 0)
        for (size_t at = 0; at + element <= data.size(); at += element) std::memcpy(data.data() + at, &fill, element);
    std::vector<std::byte> row(tile.row_bytes());
    for (const RowPart& part : parts_of(tile, true)) {
        if (!read_run(warp, in, lane, part.address, part.bytes, row.data())) return false;
        pieces_of(tile, part, [&](uint32_t place, uint32_t at, uint32_t bytes) {
            std::memcpy(data.data() + place, row.data() + at, bytes);
        });
    }
    return true;
}

bool load_tile(Warp& warp, const Instruction& in, const TensorCopy& copy, uint32_t lane, const Tile& tile) {
    Transfer transfer;
    transfer.data.resize(tile.bytes());
    if (!read_tile(warp, in, lane, tile, transfer.data)) return false;
    const SharedTarget target{.to = copy.tile.of(warp, lane),
                              .barrier = copy.barrier.of(warp, lane),
                              .multicast = copy.multicast,
                              .ranks = copy.multicast ? warp.lanes<uint16_t>(copy.ranks)[lane] : 1u,
                              .align = kTileAlign};
    return issue_to_shared(warp, in, lane, target, std::move(transfer),
                           static_cast<uint32_t>(tile.rows() * tile.row_bytes()));
}

bool store_tile(Warp& warp, const Instruction& in, const TensorCopy& copy, uint32_t lane, const Tile& tile) {
    Transfer transfer;
    if (!copy.reduces.empty()) {
        try {
            transfer.reduction = {update_of(copy.reduces, tile.map.type(), Space::global), tile.map.element_bytes()};
        } catch (const Unsupported& error) {
            warp.fault(in, Mask{1} << lane,
                       {.check = Check::illegal_instruction,
                        .message = fmt::format("a reduction of a tensor by .{}: {}", copy.reduces, error.what())});
            return false;
        }
    }
    const std::vector<RowPart> parts = parts_of(tile, false);
    std::vector<bool> used((tile.bytes() + kBulkPiece - 1) / kBulkPiece, false);
    for (const RowPart& part : parts)
        pieces_of(tile, part, [&](uint32_t place, uint32_t, uint32_t) { used[place / kBulkPiece] = true; });
    if (!take_shared(warp, in, lane, copy.tile.of(warp, lane), static_cast<uint32_t>(tile.bytes()), kTileAlign, used,
                     transfer))
        return false;
    std::vector<std::byte> dense;
    for (const RowPart& part : parts) {
        const auto at = static_cast<uint32_t>(dense.size());
        dense.resize(at + part.bytes);
        pieces_of(tile, part, [&](uint32_t place, uint32_t offset, uint32_t bytes) {
            std::memcpy(dense.data() + at + offset, transfer.data.data() + place, bytes);
        });
        if (!write_run(warp, in, lane, part.address, part.bytes, nullptr, transfer.reduction)) return false;
        transfer.runs.push_back({part.address, at, part.bytes});
    }
    transfer.data = std::move(dense);
    transfer.warp = &warp;
    transfer.lane = lane;
    transfer.in = &in;
    warp.block->cluster->transfers.collect(std::move(transfer));
    return true;
}

/// A box that is written may end behind the tensor but not begin before it (CUDA C++ Programming Guide, "Using TMA to
/// transfer multi-dimensional arrays"); an H200 stops with an illegal instruction.
bool begins_inside(Warp& warp, const Instruction& in, uint32_t lane, const Tile& tile) {
    for (uint32_t i = 0; i < tile.map.rank; ++i) {
        if (tile.at[i] >= 0) continue;
        warp.fault(in, Mask{1} << lane,
                   {.check = Check::illegal_instruction,
                    .message = fmt::format("a tensor is written from coordinate {} of dimension {} on: only copies to "
                                           "shared memory may begin before the tensor",
                                           tile.at[i], i)});
        return false;
    }
    return true;
}

/// A box begins at a multiple of 16 bytes of its rows. No text says so that we know; an H200 stops with an illegal
/// instruction at any other coordinate, of loads, stores and reductions (docs/evidence, h200-async/starts.txt).
bool begins_aligned(Warp& warp, const Instruction& in, uint32_t lane, const Tile& tile) {
    const uint32_t bytes = tile.map.element_bytes();
    if (tile.at[0] * int64_t{bytes} % 16 == 0) return true;
    warp.fault(in, Mask{1} << lane,
               {.check = Check::illegal_instruction,
                .message = fmt::format("a box begins at coordinate {} of dimension 0, elements of {} bytes: that is no "
                                       "multiple of 16 bytes",
                                       tile.at[0], bytes)});
    return false;
}

bool copy_lane(Warp& warp, const Instruction& in, const TensorCopy& copy, uint32_t lane) {
    const auto map = read_tensor_map(warp, in, lane, copy.map.of(warp, lane));
    if (!map) return false;
    Tile tile{.map = *map};
    if (tile.map.rank != copy.coordinates.size()) {
        warp.fault(in, Mask{1} << lane,
                   {.check = Check::illegal_instruction,
                    .message = fmt::format("a copy of {} dimensions with a tensor map of {}", copy.coordinates.size(),
                                           tile.map.rank)});
        return false;
    }
    for (size_t i = 0; i < copy.coordinates.size(); ++i) tile.at[i] = warp.lanes<int32_t>(copy.coordinates[i])[lane];
    if (!begins_aligned(warp, in, lane, tile)) return false;
    if (!copy.loads && !begins_inside(warp, in, lane, tile)) return false;
    tile.base = static_cast<uint32_t>(copy.tile.of(warp, lane) & (kRankUnit - 1));
    if (!fits_shared(warp, in, lane, tile.bytes())) return false;
    return copy.loads ? load_tile(warp, in, copy, lane, tile) : store_tile(warp, in, copy, lane, tile);
}

void run(Warp& warp, const Instruction& in, Mask active) {
    const auto& copy = static_cast<const TensorCopy&>(*in.extra);
    for (Mask rest = active; rest != 0; rest &= rest - 1)
        if (!copy_lane(warp, in, copy, first_lane(rest))) return;
}

/// [map, {x, y, …}].
void take_map(ProgramDecoder& decoder, const ptx::Operand& operand, uint32_t dimensions, TensorCopy& copy) {
    copy.map = place_of(decoder, operand, Space::none);
    if (operand.elements.size() != dimensions) throw Unsupported("another number of coordinates than dimensions");
    for (const auto& coordinate : operand.elements) copy.coordinates.push_back(decoder.source(coordinate, Type::s32));
}

uint32_t take_dimensions(Modifiers& modifiers) {
    static constexpr std::string_view kNames[] = {"1d", "2d", "3d", "4d", "5d"};
    for (uint32_t i = 0; i < std::size(kNames); ++i)
        if (modifiers.take(kNames[i])) return i + 1;
    throw Unsupported("a tensor copy without dimensions");
}

}  // namespace

void decode_tensor_copy(Decoder& base, const ptx::Statement& statement, Instruction& in) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    Modifiers modifiers(statement);
    for (const auto name : {"async", "bulk", "tensor"}) modifiers.take(name);
    if (modifiers.take("prefetch")) return decode_hint(base, statement, in);
    auto copy = std::make_unique<TensorCopy>();
    if (modifiers.take("reduce"))
        for (const auto name : {"add", "inc", "dec", "min", "max", "and", "or", "xor"})
            if (modifiers.take(name)) copy->reduces = name;
    const uint32_t dimensions = take_dimensions(modifiers);
    if (!modifiers.take("tile"))
        for (const auto& part : statement.parts)
            if (part.starts_with("im2col") || part.starts_with("tile::"))
                throw Unsupported(fmt::format("'.{}': tiles alone are implemented", part));
    copy->loads = !modifiers.take("bulk_group");
    if (copy->loads && !modifiers.take("mbarrier::complete_tx::bytes")) throw Unsupported("this way of completion");
    const bool peers = modifiers.take("shared::cluster"), own = modifiers.take("shared::cta");
    if (!modifiers.take("global") || peers == own || (peers && !copy->loads)) throw Unsupported("these spaces");
    copy->multicast = modifiers.take("multicast::cluster");
    const bool policy = take_cache(modifiers);
    modifiers.finish({(copy->loads ? size_t{3} : size_t{2}) + (copy->multicast ? 1 : 0) + (policy ? 1 : 0)});
    const auto& operands = statement.operands;
    take_map(decoder, operands[copy->loads ? 1 : 0], dimensions, *copy);
    copy->tile = place_of(decoder, operands[copy->loads ? 0 : 1], Space::shared);
    if (copy->loads) copy->barrier = place_of(decoder, operands[2], Space::shared);
    if (copy->multicast) copy->ranks = decoder.source(operands[3], Type::u16);
    note_granule(decoder.program(), 4);
    in.mode |= kOnce | (peers ? kPeers : 0) | (copy->reduces.empty() ? 0 : kStrong);
    in.unread = !copy->reduces.empty();
    in.width = kBulkPiece;
    in.mix = Mix::memory;
    in.run = run;
    in.extra = decoder.keep(std::move(copy));
}

}  // namespace recuda::vgpu

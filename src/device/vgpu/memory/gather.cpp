#include "device/vgpu/memory/gather.h"

#include <bit>
#include <cstring>
#include <utility>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/access.h"

namespace recuda::vgpu {
namespace {

void count(Warp& warp, const Instruction& in, ptx::Space space, const uint64_t* address, Mask active,
           const std::vector<Piece>& pieces) {
    Tally::Memory& memory = warp.block->worker->tally.memory[in.index];
    uint64_t bytes = 0;
    for (const Piece& piece : pieces) bytes += uint64_t{piece.bytes} * std::popcount(active);
    if (space == ptx::Space::shared) {
        memory.count_shared(wavefronts_of(address, active, in.width, pattern_of(address, active, in.width)),
                            std::popcount(active), in.width);
        return;
    }
    if (space == ptx::Space::local) return count_local(memory.local, address, active, in.width, bytes);
    if (space == ptx::Space::param) return;
    uint64_t first[kLanes];
    const uint32_t span = pieces.back().at + pieces.back().bytes - pieces.front().at;
    for (uint32_t lane = 0; lane < kLanes; ++lane) first[lane] = address[lane] + pieces.front().at;
    ++memory.read.requests;
    memory.read.bytes += bytes;
    memory.read.sectors += sectors_of(first, active, span, pattern_of(first, active, span));
}

}  // namespace

std::vector<Piece> pieces_of(uint32_t used, uint32_t width, uint32_t element) {
    std::vector<Piece> pieces;
    for (uint32_t at = 0; at < width;) {
        uint32_t bytes = element;
        const auto whole = [&] { return (used >> at & ((uint64_t{1} << bytes) - 1)) == (uint64_t{1} << bytes) - 1; };
        while (bytes > 1 && (at % bytes != 0 || !whole())) bytes /= 2;
        if (whole()) pieces.push_back({static_cast<uint8_t>(at), static_cast<uint8_t>(bytes)});
        at += bytes;
    }
    return pieces;
}

bool gather(Warp& warp, const Instruction& in, ptx::Space space, const uint64_t* address, Mask active,
            const std::vector<Piece>& pieces, std::byte* values) {
    Access access;
    // A misaligned access is a fault as a whole.
    if ((pattern_of(address, active, in.width).bits & (in.width - 1)) != 0 &&
        !reach(warp, in, space, address, active, in.width, Intent::read, access))
        return false;
    Tally& tally = warp.block->worker->tally;
    const bool on = std::exchange(tally.on, false);
    bool fine = true;
    for (const Piece& piece : pieces) {
        alignas(64) uint64_t part[kLanes];
        for (uint32_t lane = 0; lane < kLanes; ++lane) part[lane] = address[lane] + piece.at;
        fine = reach(warp, in, space, part, active, piece.bytes, Intent::read, access);
        if (!fine) break;
        for (Mask rest = active; rest != 0; rest &= rest - 1) {
            const uint32_t lane = first_lane(rest);
            const std::byte* from = access.contiguous ? access.lane[0] + size_t{lane} * piece.bytes : access.lane[lane];
            std::memcpy(values + lane * kGatherStep + piece.at, from, piece.bytes);
        }
    }
    tally.on = on;
    if (on && fine) count(warp, in, space, address, active, pieces);
    return fine;
}

}  // namespace recuda::vgpu

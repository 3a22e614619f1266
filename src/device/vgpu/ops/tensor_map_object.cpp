// tensormap.replace and tensormap.cp_fenceproxy, and the reading of tensor maps by copies.
#include "device/vgpu/ops/tensor_map_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/access.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/ops/address.h"
#include "device/vgpu/ops/bulk.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;
using ptx::Space;
using ptx::Type;

constexpr uint32_t kPiece = 16;

bool illegal(Warp& warp, const Instruction& in, uint32_t lane, std::string message) {
    warp.fault(in, Mask{1} << lane, {.check = Check::illegal_instruction, .message = std::move(message)});
    return false;
}

/// One lane reads or writes the 128 bytes at an address of a space; false after a fault.
bool move_map(Warp& warp, const Instruction& in, uint32_t lane, Space space, uint64_t address, bool reads,
              TensorMapBytes& bytes) {
    if (address % kTensorMapAlign != 0)
        return misaligned_bulk(warp, in, lane, fmt::format("a tensor map at address {:#x}", address), kTensorMapBytes,
                               kTensorMapAlign);
    for (uint32_t at = 0; at < kTensorMapBytes; at += kPiece) {
        alignas(64) uint64_t addresses[kLanes];
        std::fill(addresses, addresses + kLanes, address + at);
        const Mask one = Mask{1} << lane;
        if (space == Space::shared && !reads) {
            alignas(64) std::byte values[kLanes * 32];
            std::memcpy(values + lane * 32, bytes.data() + at, kPiece);
            const Pattern pattern = pattern_of(addresses, one, kPiece);
            ++warp.block->changes;
            if (!prepare_shared(warp, in, addresses, one, kPiece, pattern) ||
                !warp.block->shared.write(warp, in, addresses, one, kPiece, pattern, values))
                return false;
            continue;
        }
        Access access;
        if (!reach(warp, in, space, addresses, one, kPiece, reads ? Intent::read : Intent::write, access)) return false;
        if (reads)
            std::memcpy(bytes.data() + at, access.lane[lane], kPiece);
        else
            std::memcpy(access.lane[lane], bytes.data() + at, kPiece);
    }
    return true;
}

std::optional<TensorMapFields> read_fields(Warp& warp, const Instruction& in, uint32_t lane, Space space,
                                           uint64_t address) {
    TensorMapBytes bytes;
    if (!move_map(warp, in, lane, space, address, true, bytes)) return std::nullopt;
    const auto fields = decoded(bytes);
    if (!fields)
        illegal(warp, in, lane,
                fmt::format("the {} bytes at {:#x} are no tensor map: nobody has built one there, or it is damaged",
                            kTensorMapBytes, address));
    return fields;
}

enum class Field : uint8_t {
    global_address,
    rank,
    box_dim,
    global_dim,
    global_stride,
    element_stride,
    elemtype,
    interleave_layout,
    swizzle_mode,
    fill_mode
};
constexpr std::pair<const char*, Field> kFields[] = {{"global_address", Field::global_address},
                                                     {"rank", Field::rank},
                                                     {"box_dim", Field::box_dim},
                                                     {"global_dim", Field::global_dim},
                                                     {"global_stride", Field::global_stride},
                                                     {"element_stride", Field::element_stride},
                                                     {"elemtype", Field::elemtype},
                                                     {"interleave_layout", Field::interleave_layout},
                                                     {"swizzle_mode", Field::swizzle_mode},
                                                     {"fill_mode", Field::fill_mode}};

/// in.immediate and in.a: the address; in.b: the new value, of in.width bytes.
struct Replace : Extra {
    Field field = Field::rank;
    uint32_t ordinal = 0;
    Space space = Space::none;
};

/// What a value must lie in, both ends included.
std::pair<uint64_t, uint64_t> range_of(Field field) {
    switch (field) {
        case Field::rank:
            return {0, kMostTensorRank - 1};
        case Field::box_dim:
            return {1, 256};
        case Field::global_dim:
            return {1, UINT32_MAX};
        case Field::global_stride:
            return {0, (uint64_t{1} << 40) - 1};
        case Field::element_stride:
            return {1, 8};
        case Field::elemtype:
            return {0, 10};
        case Field::interleave_layout:
            return {0, 0};
        case Field::swizzle_mode:
            return {0, 3};
        case Field::fill_mode:
            return {0, 1};
        default:
            return {0, UINT64_MAX};
    }
}

bool set_field(Warp& warp, const Instruction& in, uint32_t lane, const Replace& replace, uint64_t value,
               TensorMapFields& map) {
    const auto [low, high] = range_of(replace.field);
    const bool sixteenths = replace.field == Field::global_address || replace.field == Field::global_stride;
    if (value < low || value > high || (sixteenths && value % 16 != 0))
        return illegal(
            warp, in, lane,
            fmt::format("{} of a tensor map cannot be {}", kFields[static_cast<size_t>(replace.field)].first, value));
    const auto narrow = static_cast<uint32_t>(value);
    switch (replace.field) {
        case Field::global_address:
            map.address = value;
            break;
        case Field::rank:
            map.rank = narrow + 1;
            break;
        case Field::box_dim:
            map.box[replace.ordinal] = narrow;
            break;
        case Field::global_dim:
            map.extents[replace.ordinal] = narrow;
            break;
        case Field::global_stride:
            map.strides[replace.ordinal] = value;
            break;
        case Field::element_stride:
            map.element_strides[replace.ordinal] = narrow;
            break;
        case Field::elemtype:
            map.element_type = narrow;
            break;
        case Field::interleave_layout:
            break;
        case Field::swizzle_mode:
            map.swizzle = narrow;
            break;
        case Field::fill_mode:
            map.fill = narrow;
            break;
    }
    return true;
}

void replace_in(Warp& warp, const Instruction& in, Mask active) {
    const auto& replace = static_cast<const Replace&>(*in.extra);
    alignas(64) uint64_t address[kLanes];
    addresses_of(warp, in, active, address);
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        uint64_t at = address[lane];
        const Space space = replace.space == Space::none ? space_of(address[lane], &at) : replace.space;
        auto map = read_fields(warp, in, lane, space, at);
        const uint64_t value = in.width == 8 ? warp.lanes<uint64_t>(in.b)[lane] : warp.lanes<uint32_t>(in.b)[lane];
        if (!map || !set_field(warp, in, lane, replace, value, *map)) return;
        TensorMapBytes bytes = encoded(*map);
        if (!move_map(warp, in, lane, space, at, false, bytes)) return;
    }
}

struct MapCopy : Extra {
    Place to, from;
};

/// The lanes of a warp copy one map together: their first one does it.
void copy_map(Warp& warp, const Instruction& in, Mask active) {
    const auto& copy = static_cast<const MapCopy&>(*in.extra);
    const uint32_t lane = first_lane(active);
    TensorMapBytes bytes;
    if (!move_map(warp, in, lane, Space::shared, copy.from.of(warp, lane), true, bytes)) return;
    if (!move_map(warp, in, lane, Space::global, copy.to.of(warp, lane), false, bytes)) return;
    warp.block->order.fence(warp.index, active, Scope::gpu, true, true);
}

void decode_copy_map(ProgramDecoder& decoder, const ptx::Statement& statement, Modifiers& modifiers, Instruction& in) {
    for (const auto name :
         {"global", "shared::cta", "tensormap::generic", "release", "cta", "cluster", "gpu", "sys", "sync", "aligned"})
        modifiers.take(name);
    modifiers.finish({3});
    auto copy = std::make_unique<MapCopy>();
    copy->to = place_of(decoder, statement.operands[0], Space::global);
    copy->from = place_of(decoder, statement.operands[1], Space::shared);
    const auto& size = statement.operands[2];
    if (size.kind != Kind::integer || size.bits != kTensorMapBytes) throw Unsupported("a map of another size");
    note_order(decoder.program(), kAcquires | kReleases);
    note_granule(decoder.program(), 4);
    in.width = kPiece;
    in.mix = Mix::memory;
    in.run = copy_map;
    in.extra = decoder.keep(std::move(copy));
}

void decode(Decoder& base, const ptx::Statement& statement, Instruction& in) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    Modifiers modifiers(statement);
    if (modifiers.take("cp_fenceproxy")) return decode_copy_map(decoder, statement, modifiers, in);
    if (!modifiers.take("replace") || !modifiers.take("tile")) throw Unsupported("this form");
    auto replace = std::make_unique<Replace>();
    bool found = false;
    for (const auto& [name, field] : kFields) {
        if (found || !modifiers.take(name)) continue;
        replace->field = field;
        found = true;
    }
    if (!found) throw Unsupported("this field");
    replace->space = take_space(modifiers);
    modifiers.take("b1024");
    const Type type = modifiers.type();
    modifiers.finish({2, 3});
    const auto& operands = statement.operands;
    if (operands.size() == 3) {
        if (operands[1].kind != Kind::integer || operands[1].bits >= kMostTensorRank)
            throw Unsupported("an ordinal that is no constant below 5");
        replace->ordinal = static_cast<uint32_t>(operands[1].bits);
    }
    if (replace->field == Field::interleave_layout && operands.back().kind == Kind::integer &&
        operands.back().bits != 0)
        throw Unsupported("an interleaved layout");
    resolve_address(decoder, operands[0], in);
    in.width = type == Type::b64 ? 8 : 4;
    in.b = decoder.source(operands.back(), in.width == 8 ? Type::b64 : Type::b32);
    note_granule(decoder.program(), 4);
    in.mix = Mix::memory;
    in.run = replace_in;
    in.extra = decoder.keep(std::move(replace));
}

[[noreturn]] void decode_multimem(Decoder&, const ptx::Statement&, Instruction&) {
    throw Unsupported("memory that several GPUs share: there is one virtual GPU");
}

[[noreturn]] void decode_launch_control(Decoder&, const ptx::Statement&, Instruction&) {
    throw Unsupported("blocks that take over the work of blocks not yet launched");
}

constexpr OpRow kRows[] = {
    {"tensormap", decode}, {"multimem", decode_multimem}, {"clusterlaunchcontrol", decode_launch_control}};

}  // namespace

std::optional<TensorMapFields> read_tensor_map(Warp& warp, const Instruction& in, uint32_t lane, uint64_t generic) {
    uint64_t address = 0;
    const Space space = space_of(generic, &address);
    if (space != Space::global && space != Space::param) {
        illegal(warp, in, lane,
                "a tensor map in shared or local memory: copies read it from parameters, constants or "
                "global memory");
        return std::nullopt;
    }
    auto fields = read_fields(warp, in, lane, space, address);
    if (fields && fields->address == 0) {
        illegal(warp, in, lane, fmt::format("the tensor map at {:#x} has no address: nobody has filled it", address));
        return std::nullopt;
    }
    return fields;
}

std::span<const OpRow> tensor_map_rows() { return kRows; }

}  // namespace recuda::vgpu

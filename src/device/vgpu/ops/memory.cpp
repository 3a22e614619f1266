// ld and st.
#include <bit>
#include <cstring>

#include "device/vgpu/block.h"
#include "device/vgpu/demand.h"
#include "device/vgpu/memory/access.h"
#include "device/vgpu/ops/address.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/memory.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;
using ptx::Space;

/// One element of every lane, `at` bytes into the lane's access.
template <typename E, typename R>
void take(R* to, const Access& access, Mask active, uint32_t at, uint32_t width) {
    if (access.contiguous) {
        const std::byte* from = access.lane[0] + at;
        if (width == sizeof(E)) {
            const E* elements = reinterpret_cast<const E*>(from);
#pragma GCC ivdep
            for (uint32_t lane = 0; lane < kLanes; ++lane) to[lane] = static_cast<R>(elements[lane]);
            return;
        }
        for (uint32_t lane = 0; lane < kLanes; ++lane)
            to[lane] = static_cast<R>(*reinterpret_cast<const E*>(from + size_t{lane} * width));
        return;
    }
    if (active == kFullMask) {
        for (uint32_t lane = 0; lane < kLanes; ++lane)
            to[lane] = static_cast<R>(*reinterpret_cast<const E*>(access.lane[lane] + at));
        return;
    }
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        to[lane] = static_cast<R>(*reinterpret_cast<const E*>(access.lane[lane] + at));
    }
}

template <typename E, typename R>
void load_pieces(Warp& warp, const Instruction& in, Space space, const uint64_t* address, Mask active,
                 const Vector& vector) {
    alignas(64) std::byte values[kLanes * kGatherStep] = {};
    if (!gather(warp, in, space, address, active, vector.pieces, values)) return;
    Access access;
    for (uint32_t lane = 0; lane < kLanes; ++lane) access.lane[lane] = values + lane * kGatherStep;
    for (size_t i = 0; i < vector.offsets.size(); ++i)
        take<E, R>(warp.lanes<R>(vector.offsets[i]), access, active, i * sizeof(E), in.width);
}

template <typename E, typename R>
void load_in(Warp& warp, const Instruction& in, Space space, const uint64_t* address, Mask active) {
    if (const auto* vector = static_cast<const Vector*>(in.extra); vector != nullptr && !vector->pieces.empty())
        return load_pieces<E, R>(warp, in, space, address, active, *vector);
    Access access;
    if (!reach(warp, in, space, address, active, in.width, Intent::read, access)) return;
    note_strong(warp, in, space, access, address, active, 0, false);
    if (in.extra == nullptr) {
        take<E, R>(warp.lanes<R>(in.d), access, active, 0, in.width);
        return;
    }
    const auto& vector = static_cast<const Vector&>(*in.extra);
    for (size_t i = 0; i < vector.offsets.size(); ++i)
        take<E, R>(warp.lanes<R>(vector.offsets[i]), access, active, i * sizeof(E), in.width);
}

template <typename E, typename R, Space kSpace>
void load(Warp& warp, const Instruction& in, Mask active) {
    alignas(64) uint64_t address[kLanes];
    addresses_of(warp, in, active, address);
    if constexpr (kSpace == Space::none) {
        by_space(warp, address, active, [&](Space space, const uint64_t* inside, Mask lanes) {
            load_in<E, R>(warp, in, space, inside, lanes);
        });
    } else {
        load_in<E, R>(warp, in, kSpace, address, active);
    }
}

template <typename E, typename R>
void put(const R* from, const Access& access, Mask active, uint32_t at, uint32_t width) {
    if (access.contiguous && width == sizeof(E)) {
        E* to = reinterpret_cast<E*>(access.lane[0]);
#pragma GCC ivdep
        for (uint32_t lane = 0; lane < kLanes; ++lane) to[lane] = static_cast<E>(from[lane]);
        return;
    }
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        std::byte* to = access.contiguous ? access.lane[0] + size_t{lane} * width : access.lane[lane];
        *reinterpret_cast<E*>(to + at) = static_cast<E>(from[lane]);
    }
}

template <typename E, typename R>
void store_in(Warp& warp, const Instruction& in, Space space, const uint64_t* address, Mask active) {
    const auto* vector = static_cast<const Vector*>(in.extra);
    const auto element = [&](size_t i) { return warp.lanes<R>(vector != nullptr ? vector->offsets[i] : in.b); };
    const size_t count = vector != nullptr ? vector->offsets.size() : 1;
    const auto all_values = [&](std::byte* values) {
        constexpr uint32_t kStep = 32;
        for (size_t i = 0; i < count; ++i) {
            const R* from = element(i);
            for (uint32_t lane = 0; lane < kLanes; ++lane)
                *reinterpret_cast<E*>(values + lane * kStep + i * sizeof(E)) = static_cast<E>(from[lane]);
        }
    };
    Access access;
    if (space == Space::shared) {
        alignas(64) std::byte values[kLanes * 32];
        all_values(values);
        note_strong(warp, in, space, access, address, 0, active, false);
        const Pattern pattern = pattern_of(address, active, in.width);
        if (pattern.high >= kRankUnit) {
            ++warp.block->changes;
            reach_peers(warp, in, address, active, in.width, Intent::write, access, values);
            return;
        }
        if (!prepare_shared(warp, in, address, active, in.width, pattern)) return;
        ++warp.block->changes;
        warp.block->shared.write(warp, in, address, active, in.width, pattern, values);
        return;
    }
    const WrittenValues values(all_values);
    if (!reach(warp, in, space, address, active, in.width, Intent::write, access, &values)) return;
    note_strong(warp, in, space, access, address, 0, active, false);
    for (size_t i = 0; i < count; ++i) put<E, R>(element(i), access, active, i * sizeof(E), in.width);
}

template <typename E, typename R, Space kSpace>
void store(Warp& warp, const Instruction& in, Mask active) {
    alignas(64) uint64_t address[kLanes];
    addresses_of(warp, in, active, address);
    if constexpr (kSpace == Space::none) {
        by_space(warp, address, active, [&](Space space, const uint64_t* inside, Mask lanes) {
            store_in<E, R>(warp, in, space, inside, lanes);
        });
    } else {
        store_in<E, R>(warp, in, kSpace, address, active);
    }
}

template <bool kLoads, typename E, typename R>
Handler handler(Space space) {
    const auto of = [](auto constant) -> Handler {
        constexpr Space kSpace = decltype(constant)::value;
        if constexpr (kLoads)
            return load<E, R, kSpace>;
        else
            return store<E, R, kSpace>;
    };
    switch (space) {
        case Space::shared:
            return of(std::integral_constant<Space, Space::shared>());
        case Space::local:
            return of(std::integral_constant<Space, Space::local>());
        case Space::param:
            return of(std::integral_constant<Space, Space::param>());
        case Space::none:
            return of(std::integral_constant<Space, Space::none>());
        default:
            return of(std::integral_constant<Space, Space::global>());
    }
}

/// E: element in memory, signed where a wider register is to be filled with its sign.
template <bool kLoads>
Handler handler(Space space, uint32_t element, bool is_signed, uint32_t lane) {
    const uint32_t key = element * 100 + lane * (is_signed && kLoads && element < lane ? 10 : 1);
    switch (key) {
        case 102:
            return handler<kLoads, uint8_t, uint16_t>(space);
        case 120:
            return handler<kLoads, int8_t, uint16_t>(space);
        case 104:
            return handler<kLoads, uint8_t, uint32_t>(space);
        case 140:
            return handler<kLoads, int8_t, uint32_t>(space);
        case 108:
            return handler<kLoads, uint8_t, uint64_t>(space);
        case 180:
            return handler<kLoads, int8_t, uint64_t>(space);
        case 202:
            return handler<kLoads, uint16_t, uint16_t>(space);
        case 204:
            return handler<kLoads, uint16_t, uint32_t>(space);
        case 240:
            return handler<kLoads, int16_t, uint32_t>(space);
        case 208:
            return handler<kLoads, uint16_t, uint64_t>(space);
        case 280:
            return handler<kLoads, int16_t, uint64_t>(space);
        case 404:
            return handler<kLoads, uint32_t, uint32_t>(space);
        case 408:
            return handler<kLoads, uint32_t, uint64_t>(space);
        case 480:
            return handler<kLoads, int32_t, uint64_t>(space);
        case 808:
            return handler<kLoads, uint64_t, uint64_t>(space);
        case 1616:
            return handler<kLoads, Wide, Wide>(space);
    }
    throw Unsupported("a memory access of this size");
}

/// Which bytes of a load are an access: those that are used. A single value of which only its low half, quarter … is
/// used was narrowed by the program, not widened by its compiler: it counts as a whole, as all of global memory's do,
/// whose bounds no compiler knows.
std::vector<Piece> used_pieces(const Demand& demand, const std::vector<ptx::Operand>& elements, uint32_t bytes,
                               Space space) {
    const uint32_t width = bytes * elements.size(), all = width == 32 ? ~0u : (1u << width) - 1;
    uint32_t used = 0;
    for (size_t i = 0; i < elements.size(); ++i) used |= demand.of(elements[i], bytes) << i * bytes;
    if (used == all || used == 0) return {};
    const bool known = space == Space::shared || space == Space::local || space == Space::constant;
    if (elements.size() == 1 &&
        (!known || (std::has_single_bit(used + 1) && std::has_single_bit(static_cast<uint32_t>(std::popcount(used))))))
        return {};
    return pieces_of(used, width, bytes);
}

void decode_access(Decoder& base, const ptx::Statement& statement, Instruction& in, bool loads) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    Modifiers modifiers(statement);
    const Space space = take_space(modifiers);
    in.mode |= take_order(modifiers) | reach_of(statement, space);
    note_order(decoder.program(), in.mode);
    const bool policy = take_cache(modifiers);
    const uint32_t count = modifiers.take("v8") ? 8 : modifiers.take("v4") ? 4 : modifiers.take("v2") ? 2 : 1;
    const ptx::Type type = modifiers.type();
    if (type == ptx::Type::none) throw Unsupported("an access without type");
    modifiers.finish({2, policy ? size_t{3} : size_t{2}});
    const auto& address = statement.operands[loads ? 1 : 0];
    const auto& value = statement.operands[loads ? 0 : 1];
    if ((value.kind == Kind::vector) != (count > 1) &&
        !(value.kind == Kind::vector && count == 1 && value.elements.size() == 1))
        throw Unsupported("a vector of another size");
    if (space == Space::param && decode_parameter(decoder, statement, in, type, loads)) return;
    const std::vector<ptx::Operand> one{value};
    const auto& elements = value.kind == Kind::vector ? value.elements : one;
    if (elements.size() != count) throw Unsupported("a vector of another size");
    const uint32_t bytes = ptx::size_bytes(type);
    if (bytes * count > 32) throw Unsupported("an access of more than 32 bytes");
    in.width = bytes * count;
    resolve_address(decoder, address, in);
    auto vector = std::make_unique<Vector>();
    uint32_t lane = 0;
    for (const auto& element : elements) {
        const auto [offset, width] = element_register(decoder, element, type, loads);
        if (lane != 0 && lane != width) {
            if (element.kind != Kind::sink) throw Unsupported("registers of different widths in one access");
            vector->offsets.push_back(decoder.scratch(lane));
            continue;
        }
        lane = width;
        vector->offsets.push_back(offset);
    }
    if (loads && (in.mode & kStrong) == 0) vector->pieces = used_pieces(decoder.demand(), elements, bytes, space);
    if (space == Space::shared || space == Space::none) {
        note_granule(decoder.program(), in.width);
        for (const Piece& piece : vector->pieces) note_granule(decoder.program(), piece.bytes);
    }
    in.mix = space == Space::shared ? Mix::shared : Mix::memory;
    in.run = loads ? handler<true>(space, bytes, is_signed(type), lane)
                   : handler<false>(space, bytes, is_signed(type), lane);
    if (count == 1 && vector->pieces.empty())
        (loads ? in.d : in.b) = vector->offsets[0];
    else
        in.extra = decoder.keep(std::move(vector));
}

void decode_ld(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    decode_access(decoder, statement, in, true);
    in.read_only = statement.has("nc");
}
void decode_st(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    if (statement.has("async")) return decode_remote(decoder, statement, in);
    decode_access(decoder, statement, in, false);
}

constexpr OpRow kRows[] = {
    {"ld", decode_ld},
    {"ldu", decode_ld},
    {"st", decode_st},
    {"prefetch", decode_hint},
    {"prefetchu", decode_hint},
    {"discard", decode_discard},
    {"applypriority", decode_hint},
    {"createpolicy", decode_createpolicy},
    {"membar", decode_fence},
    {"fence", decode_fence},
    {"cp", decode_cp},
};

}  // namespace

std::span<const OpRow> memory_rows() { return kRows; }

}  // namespace recuda::vgpu

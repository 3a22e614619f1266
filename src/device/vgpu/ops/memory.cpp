// ld, st, prefetches, asynchronous copies and fences.
#include <bit>
#include <cstring>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/access.h"
#include "device/vgpu/ops/address.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;
using ptx::Space;

/// Registers of a vector, element by element.
struct Vector : Extra {
    std::vector<uint32_t> offsets;
};

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
        for (uint32_t lane = 0; lane < kLanes; ++lane) to[lane] = static_cast<R>(*reinterpret_cast<const E*>(from + size_t{lane} * width));
        return;
    }
    if (active == kFullMask) {
        for (uint32_t lane = 0; lane < kLanes; ++lane) to[lane] = static_cast<R>(*reinterpret_cast<const E*>(access.lane[lane] + at));
        return;
    }
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        to[lane] = static_cast<R>(*reinterpret_cast<const E*>(access.lane[lane] + at));
    }
}

/// 128 bits as two halves.
struct Wide {
    uint64_t low, high;
};

template <typename E, typename R>
void load_in(Warp& warp, const Instruction& in, Space space, const uint64_t* address, Mask active) {
    Access access;
    if (!reach(warp, in, space, address, active, in.width, Intent::read, access)) return;
    note_strong(warp, in, space, address, active, true, false);
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
        by_space(warp, address, active, [&](Space space, const uint64_t* inside, Mask lanes) { load_in<E, R>(warp, in, space, inside, lanes); });
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
    note_strong(warp, in, space, address, active, false, true);
    if (space == Space::shared) {
        constexpr uint32_t kStep = 32;
        alignas(64) std::byte values[kLanes * kStep];
        for (size_t i = 0; i < count; ++i) {
            const R* from = element(i);
            for (uint32_t lane = 0; lane < kLanes; ++lane) *reinterpret_cast<E*>(values + lane * kStep + i * sizeof(E)) = static_cast<E>(from[lane]);
        }
        const Pattern pattern = pattern_of(address, active, in.width);
        if (!prepare_shared(warp, in, address, active, in.width, pattern)) return;
        ++warp.block->changes;
        warp.block->shared.write(warp, in, address, active, in.width, pattern, values);
        return;
    }
    Access access;
    if (!reach(warp, in, space, address, active, in.width, Intent::write, access)) return;
    for (size_t i = 0; i < count; ++i) put<E, R>(element(i), access, active, i * sizeof(E), in.width);
}

template <typename E, typename R, Space kSpace>
void store(Warp& warp, const Instruction& in, Mask active) {
    alignas(64) uint64_t address[kLanes];
    addresses_of(warp, in, active, address);
    if constexpr (kSpace == Space::none) {
        by_space(warp, address, active, [&](Space space, const uint64_t* inside, Mask lanes) { store_in<E, R>(warp, in, space, inside, lanes); });
    } else {
        store_in<E, R>(warp, in, kSpace, address, active);
    }
}

template <bool kLoads, typename E, typename R>
Handler handler(Space space) {
    const auto of = [](auto constant) -> Handler {
        constexpr Space kSpace = decltype(constant)::value;
        if constexpr (kLoads) return load<E, R, kSpace>;
        else return store<E, R, kSpace>;
    };
    switch (space) {
        case Space::shared: return of(std::integral_constant<Space, Space::shared>());
        case Space::local: return of(std::integral_constant<Space, Space::local>());
        case Space::param: return of(std::integral_constant<Space, Space::param>());
        case Space::none: return of(std::integral_constant<Space, Space::none>());
        default: return of(std::integral_constant<Space, Space::global>());
    }
}

/// E: element in memory, signed where a wider register is to be filled with its sign.
template <bool kLoads>
Handler handler(Space space, uint32_t element, bool is_signed, uint32_t lane) {
    const uint32_t key = element * 100 + lane * (is_signed && kLoads && element < lane ? 10 : 1);
    switch (key) {
        case 102: return handler<kLoads, uint8_t, uint16_t>(space);
        case 120: return handler<kLoads, int8_t, uint16_t>(space);
        case 104: return handler<kLoads, uint8_t, uint32_t>(space);
        case 140: return handler<kLoads, int8_t, uint32_t>(space);
        case 108: return handler<kLoads, uint8_t, uint64_t>(space);
        case 180: return handler<kLoads, int8_t, uint64_t>(space);
        case 202: return handler<kLoads, uint16_t, uint16_t>(space);
        case 204: return handler<kLoads, uint16_t, uint32_t>(space);
        case 240: return handler<kLoads, int16_t, uint32_t>(space);
        case 208: return handler<kLoads, uint16_t, uint64_t>(space);
        case 280: return handler<kLoads, int16_t, uint64_t>(space);
        case 404: return handler<kLoads, uint32_t, uint32_t>(space);
        case 408: return handler<kLoads, uint32_t, uint64_t>(space);
        case 480: return handler<kLoads, int32_t, uint64_t>(space);
        case 808: return handler<kLoads, uint64_t, uint64_t>(space);
        case 1616: return handler<kLoads, Wide, Wide>(space);
    }
    throw Unsupported("a memory access of this size");
}

bool is_signed(ptx::Type type) {
    return type == ptx::Type::s8 || type == ptx::Type::s16 || type == ptx::Type::s32 || type == ptx::Type::s64;
}

/// Offset and bytes a lane of an element's register; a load's sink gets a scratch register, a store's literal a constant.
std::pair<uint32_t, uint32_t> element_register(ProgramDecoder& decoder, const ptx::Operand& operand, ptx::Type type, bool loads) {
    const uint32_t bytes = std::max(2u, ptx::size_bytes(type));
    if (operand.kind == Kind::name && decoder.is_register(operand.text)) {
        const auto found = decoder.register_of(operand);
        if (found.type == ptx::Type::pred) throw Unsupported("a predicate in memory");
        const uint32_t lane = std::max(2u, ptx::size_bytes(found.type));
        if (lane < ptx::size_bytes(type)) throw Unsupported("a register narrower than the access");
        return {found.offset, lane};
    }
    if (loads) return {decoder.destination(operand, type), bytes};
    return {decoder.source(operand, type), bytes};
}

// Variables in .param space lie in the register file.

template <typename E, typename R>
void load_slot(Warp& warp, const Instruction& in, Mask active) {
    const auto* vector = static_cast<const Vector*>(in.extra);
    const size_t count = vector != nullptr ? vector->offsets.size() : 1;
    for (size_t i = 0; i < count; ++i) {
        R* to = warp.lanes<R>(vector != nullptr ? vector->offsets[i] : in.d);
        for (Mask rest = active; rest != 0; rest &= rest - 1) {
            const uint32_t lane = first_lane(rest);
            E value;
            std::memcpy(&value, warp.registers + in.a + size_t{lane} * in.c + i * sizeof(E), sizeof(E));
            to[lane] = static_cast<R>(value);
        }
    }
}

template <typename E, typename R>
void store_slot(Warp& warp, const Instruction& in, Mask active) {
    const auto* vector = static_cast<const Vector*>(in.extra);
    const size_t count = vector != nullptr ? vector->offsets.size() : 1;
    for (size_t i = 0; i < count; ++i) {
        const R* from = warp.lanes<R>(vector != nullptr ? vector->offsets[i] : in.b);
        for (Mask rest = active; rest != 0; rest &= rest - 1) {
            const uint32_t lane = first_lane(rest);
            const E value = static_cast<E>(from[lane]);
            std::memcpy(warp.registers + in.a + size_t{lane} * in.c + i * sizeof(E), &value, sizeof(E));
        }
    }
}

template <bool kLoads>
Handler slot_handler(uint32_t element, bool is_signed, uint32_t lane) {
    const uint32_t key = element * 100 + lane * (is_signed && kLoads && element < lane ? 10 : 1);
    const auto of = [](auto e, auto r) -> Handler {
        if constexpr (kLoads) return load_slot<decltype(e), decltype(r)>;
        else return store_slot<decltype(e), decltype(r)>;
    };
    switch (key) {
        case 102: return of(uint8_t(), uint16_t());
        case 120: return of(int8_t(), uint16_t());
        case 104: return of(uint8_t(), uint32_t());
        case 140: return of(int8_t(), uint32_t());
        case 108: return of(uint8_t(), uint64_t());
        case 180: return of(int8_t(), uint64_t());
        case 202: return of(uint16_t(), uint16_t());
        case 204: return of(uint16_t(), uint32_t());
        case 240: return of(int16_t(), uint32_t());
        case 208: return of(uint16_t(), uint64_t());
        case 280: return of(int16_t(), uint64_t());
        case 404: return of(uint32_t(), uint32_t());
        case 408: return of(uint32_t(), uint64_t());
        case 480: return of(int32_t(), uint64_t());
        case 808: return of(uint64_t(), uint64_t());
        case 1616: return of(Wide(), Wide());
    }
    throw Unsupported("a parameter access of this size");
}

/// A parameter of the entry: one value for all lanes, in the register file from the start.
template <typename E, typename R>
void load_constant(Warp& warp, const Instruction& in, Mask active) {
    const auto* vector = static_cast<const Vector*>(in.extra);
    for (size_t i = 0; i < vector->offsets.size(); i += 2) {
        R value;
        std::memcpy(&value, warp.registers + vector->offsets[i + 1], sizeof(R));
        if constexpr (!std::is_same_v<E, R>) value = static_cast<R>(static_cast<E>(value));
        for_lanes(warp.lanes<R>(vector->offsets[i]), active, [&](uint32_t) { return value; });
    }
}

Handler constant_handler(uint32_t element, bool is_signed, uint32_t lane) {
    switch (element * 100 + lane * (is_signed && element < lane ? 10 : 1)) {
        case 102: case 202: return load_constant<uint16_t, uint16_t>;
        case 104: case 204: case 404: return load_constant<uint32_t, uint32_t>;
        case 108: case 208: case 408: case 808: return load_constant<uint64_t, uint64_t>;
        case 120: return load_constant<int8_t, uint16_t>;
        case 140: return load_constant<int8_t, uint32_t>;
        case 180: return load_constant<int8_t, uint64_t>;
        case 240: return load_constant<int16_t, uint32_t>;
        case 280: return load_constant<int16_t, uint64_t>;
        case 480: return load_constant<int32_t, uint64_t>;
    }
    throw Unsupported("a parameter access of this size");
}

bool decode_parameter(ProgramDecoder& decoder, const ptx::Statement& statement, Instruction& in, ptx::Type type, bool loads) {
    const auto& address = statement.operands[loads ? 0 + 1 : 0];
    const auto& value = statement.operands[loads ? 0 : 1];
    const std::vector<ptx::Operand> one{value};
    const auto& elements = value.kind == Kind::vector ? value.elements : one;
    const uint32_t bytes = ptx::size_bytes(type);
    auto vector = std::make_unique<Vector>();
    uint32_t lane = 0;
    for (const auto& element : elements) {
        const auto [offset, width] = element_register(decoder, element, type, loads);
        if (lane != 0 && lane != width) throw Unsupported("registers of different widths in one access");
        lane = width;
        vector->offsets.push_back(offset);
    }
    in.mix = Mix::move;
    if (const ParamSlot* slot = decoder.parameter(address.text)) {
        const int64_t end = address.offset + static_cast<int64_t>(bytes * elements.size());
        if (address.offset < 0 || end > slot->bytes) throw Unsupported(fmt::format("an access past the end of '{}'", address.text));
        in.a = slot->offset + static_cast<uint32_t>(address.offset);
        in.c = slot->stride;
        in.run = loads ? slot_handler<true>(bytes, is_signed(type), lane) : slot_handler<false>(bytes, is_signed(type), lane);
        if (value.kind != Kind::vector) (loads ? in.d : in.b) = vector->offsets[0];
        else in.extra = decoder.keep(std::move(vector));
        return true;
    }
    if (!loads) return false;
    // Read at the register's width: entry_parameter pads with zeros.
    std::vector<uint32_t> pairs;
    for (size_t i = 0; i < elements.size(); ++i) {
        uint32_t constant;
        if (!decoder.entry_parameter(address.text, address.offset + static_cast<int64_t>(i * bytes), bytes, lane, &constant)) return false;
        pairs.push_back(vector->offsets[i]);
        pairs.push_back(constant);
    }
    if (lane == 16) throw Unsupported("a parameter of 128 bits");
    vector->offsets = std::move(pairs);
    in.run = constant_handler(bytes, is_signed(type), lane);
    in.extra = decoder.keep(std::move(vector));
    return true;
}

void decode_access(Decoder& base, const ptx::Statement& statement, Instruction& in, bool loads) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    Modifiers modifiers(statement);
    const Space space = take_space(modifiers);
    in.mode |= take_order(modifiers);
    if ((in.mode & (kAcquires | kReleases)) != 0) decoder.program().orders = true;
    const bool policy = take_cache(modifiers);
    const uint32_t count = modifiers.take("v8") ? 8 : modifiers.take("v4") ? 4 : modifiers.take("v2") ? 2 : 1;
    const ptx::Type type = modifiers.type();
    if (type == ptx::Type::none) throw Unsupported("an access without type");
    modifiers.finish({2, policy ? size_t{3} : size_t{2}});
    const auto& address = statement.operands[loads ? 1 : 0];
    const auto& value = statement.operands[loads ? 0 : 1];
    if ((value.kind == Kind::vector) != (count > 1) && !(value.kind == Kind::vector && count == 1 && value.elements.size() == 1))
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
    if (space == Space::shared || space == Space::none) note_granule(decoder.program(), in.width);
    in.mix = space == Space::shared ? Mix::shared : Mix::memory;
    in.run = loads ? handler<true>(space, bytes, is_signed(type), lane) : handler<false>(space, bytes, is_signed(type), lane);
    if (count == 1) (loads ? in.d : in.b) = vector->offsets[0];
    else in.extra = decoder.keep(std::move(vector));
}

void decode_ld(Decoder& decoder, const ptx::Statement& statement, Instruction& in) { decode_access(decoder, statement, in, true); }
void decode_st(Decoder& decoder, const ptx::Statement& statement, Instruction& in) { decode_access(decoder, statement, in, false); }

void nothing(Warp&, const Instruction&, Mask) {}

void decode_nothing(Decoder&, const ptx::Statement&, Instruction& in) {
    in.mix = Mix::special;
    in.run = nothing;
}

void fence(Warp& warp, const Instruction&, Mask) {
    if (warp.block->launch->checks) warp.block->shared.fence(warp.index);
}

void decode_fence(Decoder& decoder, const ptx::Statement&, Instruction& in) {
    static_cast<ProgramDecoder&>(decoder).program().orders = true;
    in.mix = Mix::special;
    in.run = fence;
}

/// A cache policy: its value means nothing here.
void make_policy(Warp& warp, const Instruction& in, Mask active) {
    for_lanes(warp.lanes<uint64_t>(in.d), active, [](uint32_t) { return uint64_t{0}; });
}

void decode_createpolicy(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    in.mix = Mix::special;
    in.d = decoder.destination(statement.operands.at(0), ptx::Type::b64);
    in.run = make_policy;
}

// cp.async: the bytes are there at once; what waits for them has nothing to wait for.

constexpr uint8_t kHasSize = 1, kIgnores = 2;

/// in.a: shared address, in.b: global address (64 bits), in.immediate / in.e: their offsets, in.c: source bytes or the ignore predicate.
struct Copy : Extra {
    int64_t source_offset = 0;
    uint8_t form = 0;
    bool negated = false;
};

void copy_async(Warp& warp, const Instruction& in, Mask active) {
    const auto& copy = static_cast<const Copy&>(*in.extra);
    alignas(64) uint64_t to[kLanes], from[kLanes];
    addresses_of(warp, in, active, to);
    Instruction source = in;
    source.a = in.b;
    source.mode |= kWideBase;
    source.immediate = copy.source_offset;
    // What is read: all bytes, or the first `size` and zeros behind them.
    constexpr uint32_t kStep = 32;
    alignas(64) std::byte values[kLanes * kStep] = {};
    for (Mask rest = active; rest != 0;) {
        uint32_t size = in.width;
        Mask lanes = rest;
        if (copy.form == kHasSize) {
            const uint32_t* sizes = warp.lanes<uint32_t>(in.c);
            size = std::min<uint32_t>(in.width, sizes[first_lane(rest)]);
            lanes = mask_of([&](uint32_t i) { return std::min<uint32_t>(in.width, sizes[i]) == size; }) & rest;
        } else if (copy.form == kIgnores) {
            const Mask ignored = copy.negated ? ~warp.predicate(in.c) : warp.predicate(in.c);
            size = (ignored >> first_lane(rest) & 1) != 0 ? 0 : in.width;
            lanes = rest & (size == 0 ? ignored : ~ignored);
        }
        rest &= ~lanes;
        if (size == 0) continue;
        Access access;
        addresses_of(warp, source, lanes, from);
        // A size that is no power of two is read in bytes, at the alignment of its own.
        const uint32_t step = std::has_single_bit(size) ? size : 1;
        for (uint32_t at = 0; at < size; at += step) {
            alignas(64) uint64_t part[kLanes];
            for (uint32_t lane = 0; lane < kLanes; ++lane) part[lane] = from[lane] + at;
            if (!reach(warp, in, Space::global, part, lanes, step, Intent::read, access)) return;
            for (Mask some = lanes; some != 0; some &= some - 1) {
                const uint32_t lane = first_lane(some);
                const std::byte* host = access.contiguous ? access.lane[0] + size_t{lane} * step : access.lane[lane];
                std::memcpy(values + lane * kStep + at, host, step);
            }
        }
    }
    const Pattern pattern = pattern_of(to, active, in.width);
    if (!prepare_shared(warp, in, to, active, in.width, pattern)) return;
    ++warp.block->changes;
    warp.block->shared.write(warp, in, to, active, in.width, pattern, values);
}

void decode_cp(Decoder& base, const ptx::Statement& statement, Instruction& in) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    Modifiers modifiers(statement);
    if (!modifiers.take("async")) throw Unsupported("this form");
    if (modifiers.take("commit_group") || modifiers.take("wait_group") || modifiers.take("wait_all")) return decode_nothing(base, statement, in);
    if (!(modifiers.take("ca") || modifiers.take("cg"))) throw Unsupported("this form");
    if (!(modifiers.take("shared") || modifiers.take("shared::cta")) || !modifiers.take("global")) throw Unsupported("this form");
    const bool policy = take_cache(modifiers);
    modifiers.finish({3, 4, 5});
    const auto& operands = statement.operands;
    if (operands[2].kind != Kind::integer || (operands[2].bits != 4 && operands[2].bits != 8 && operands[2].bits != 16))
        throw Unsupported("a copy of this size");
    in.width = static_cast<uint8_t>(operands[2].bits);
    auto copy = std::make_unique<Copy>();
    Instruction source;
    resolve_address(decoder, operands[1], source);
    if ((source.mode & kWideBase) == 0) throw Unsupported("a global address of 32 bits");
    in.b = source.a;
    copy->source_offset = source.immediate;
    resolve_address(decoder, operands[0], in);
    const size_t extra = operands.size() - (policy ? 1 : 0);
    if (extra == 4) {
        const bool ignores = operands[3].kind == Kind::name && decoder.is_predicate(operands[3].text);
        copy->form = ignores ? kIgnores : kHasSize;
        copy->negated = operands[3].negated;
        in.c = decoder.source(operands[3], ignores ? ptx::Type::pred : ptx::Type::u32);
    } else if (extra != 3) {
        throw Unsupported("this form");
    }
    note_granule(decoder.program(), in.width);
    in.mix = Mix::memory;
    in.run = copy_async;
    in.extra = decoder.keep(std::move(copy));
}

constexpr OpRow kRows[] = {
    {"ld", decode_ld},
    {"ldu", decode_ld},
    {"st", decode_st},
    {"prefetch", decode_nothing},
    {"prefetchu", decode_nothing},
    {"discard", decode_nothing},
    {"applypriority", decode_nothing},
    {"createpolicy", decode_createpolicy},
    {"membar", decode_fence},
    {"fence", decode_fence},
    {"cp", decode_cp},
};

}  // namespace

std::span<const OpRow> memory_rows() { return kRows; }

}  // namespace recuda::vgpu

// atom and red: one lane after another, each indivisible for all host threads.
#include "device/vgpu/ops/atomic.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <mutex>

#include "device/vgpu/block.h"
#include "device/vgpu/demand.h"
#include "device/vgpu/memory/access.h"
#include "device/vgpu/ops/address.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/memory.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;
using ptx::Space;
using ptx::Type;

template <typename T, typename F>
uint64_t on(uint64_t old, uint64_t b, F f) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<Unsigned>(f(static_cast<T>(old), static_cast<T>(b)));
}

template <typename T>
Update integer_update(std::string_view operation) {
    using U = std::make_unsigned_t<T>;
    if (operation == "add") return [](uint64_t old, uint64_t b, uint64_t) { return uint64_t{static_cast<U>(old + b)}; };
    if (operation == "min")
        return [](uint64_t old, uint64_t b, uint64_t) { return on<T>(old, b, [](T x, T y) { return x < y ? x : y; }); };
    if (operation == "max")
        return [](uint64_t old, uint64_t b, uint64_t) { return on<T>(old, b, [](T x, T y) { return x > y ? x : y; }); };
    if (operation == "inc")
        return [](uint64_t old, uint64_t b, uint64_t) {
            return on<U>(old, b, [](U x, U y) { return static_cast<U>(x >= y ? 0 : x + 1); });
        };
    if (operation == "dec")
        return [](uint64_t old, uint64_t b, uint64_t) {
            return on<U>(old, b, [](U x, U y) { return static_cast<U>(x == 0 || x > y ? y : x - 1); });
        };
    if (operation == "and") return [](uint64_t old, uint64_t b, uint64_t) { return old & b; };
    if (operation == "or") return [](uint64_t old, uint64_t b, uint64_t) { return old | b; };
    if (operation == "xor") return [](uint64_t old, uint64_t b, uint64_t) { return old ^ b; };
    if (operation == "exch") return [](uint64_t, uint64_t b, uint64_t) { return b; };
    if (operation == "cas") return [](uint64_t old, uint64_t b, uint64_t c) { return old == b ? c : old; };
    throw Unsupported("this operation");
}

uint64_t add_float(uint64_t old, uint64_t b, uint64_t) { return bits_of(canonical(as_float(old) + as_float(b))); }
uint64_t add_float_flushed(uint64_t old, uint64_t b, uint64_t) {
    return bits_of(canonical(flushed(flushed(as_float(old)) + flushed(as_float(b)))));
}
/// Of two NaNs shared memory keeps the old one, made quiet; global memory takes the new one as it is (seen on an H200).
uint64_t add_double(uint64_t old, uint64_t b, uint64_t) {
    return bits_of(with_payload(as_double(old) + as_double(b), as_double(old), as_double(b)));
}
uint64_t add_double_in_global(uint64_t old, uint64_t b, uint64_t) {
    if (is_nan(as_double(b))) return b;
    return is_nan(as_double(old)) ? old : add_double(old, b, 0);
}

/// Sums, minima and maxima of 16-bit floats: exact in float, then rounded once.
template <bool kBfloat>
struct Half {
    static float wide(uint64_t bits) {
        return kBfloat ? from_bfloat(static_cast<uint16_t>(bits)) : from_half(static_cast<uint16_t>(bits));
    }
    static uint16_t narrow(double exact) {
        return kBfloat ? detail::nearest_bfloat(float_to_odd(exact)) : detail::nearest_half(float_to_odd(exact));
    }
    static uint16_t sum(uint64_t a, uint64_t b) { return narrow(sum_to_odd(wide(a), wide(b))); }
    template <bool kMax>
    static uint16_t extreme(uint64_t a, uint64_t b) {
        const float x = wide(a), y = wide(b);
        if (is_nan(x) && is_nan(y)) return kHalfNan;
        if (is_nan(x)) return static_cast<uint16_t>(b);
        if (is_nan(y)) return static_cast<uint16_t>(a);
        if (x == y) return static_cast<uint16_t>((std::signbit(x) == kMax) ? b : a);
        return static_cast<uint16_t>((x > y) == kMax ? a : b);
    }
    template <uint16_t (*F)(uint64_t, uint64_t)>
    static uint64_t one(uint64_t old, uint64_t b, uint64_t) {
        return F(old & 0xffff, b & 0xffff);
    }
    template <uint16_t (*F)(uint64_t, uint64_t)>
    static uint64_t two(uint64_t old, uint64_t b, uint64_t) {
        return F(old & 0xffff, b & 0xffff) | uint64_t{F(old >> 16 & 0xffff, b >> 16 & 0xffff)} << 16;
    }
    static Update update(std::string_view operation, bool packed) {
        if (operation == "add") return packed ? two<sum> : one<sum>;
        if (operation == "min") return packed ? two<extreme<false>> : one<extreme<false>>;
        if (operation == "max") return packed ? two<extreme<true>> : one<extreme<true>>;
        throw Unsupported("this operation on 16-bit floats");
    }
};

template <typename T>
uint64_t exchange(std::byte* at, Update update, uint64_t b, uint64_t c, uint64_t* changes) {
    std::atomic_ref<T> word(*reinterpret_cast<T*>(at));
    T old = word.load(std::memory_order_relaxed);
    for (;;) {
        const T fresh = static_cast<T>(update(old, b, c));
        if (word.compare_exchange_weak(old, fresh, std::memory_order_seq_cst)) {
            *changes += fresh != old;
            return old;
        }
    }
}

struct Atomic : Extra {
    Update update = nullptr;  // in memory, global and shared
    Update update_shared = nullptr;
    uint32_t bytes = 4;                               // of an element in memory
    uint32_t lane_bytes = 4;                          // of its register
    std::vector<uint32_t> results, operands, others;  // registers, element by element; results empty for red
    Space space = Space::none;
};

uint64_t lane_value(const Warp& warp, uint32_t offset, uint32_t lane, uint32_t bytes) {
    uint64_t value = 0;
    std::memcpy(&value, warp.registers + offset + size_t{lane} * bytes, bytes);
    return value;
}

void run_in(Warp& warp, const Instruction& in, const Atomic& atomic, Space space, const uint64_t* address,
            Mask active) {
    Access access;
    if (!reach(warp, in, space, address, active, in.width, Intent::atomic, access)) return;
    warp.budget -= std::popcount(active) / 2;  // what it costs here, against endless loops of atomics
    const Update update = space == Space::shared ? atomic.update_shared : atomic.update;
    Mask written = active;
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        std::byte* at = access.contiguous ? access.lane[0] + size_t{lane} * in.width : access.lane[lane];
        for (size_t i = 0; i < atomic.operands.size(); ++i, at += atomic.bytes) {
            const uint64_t b = lane_value(warp, atomic.operands[i], lane, atomic.lane_bytes);
            const uint64_t c = atomic.others.empty() ? 0 : lane_value(warp, atomic.others[i], lane, atomic.lane_bytes);
            const uint64_t old = update_word(at, atomic.bytes, update, b, c, &warp.block->changes);
            if (!atomic.results.empty())
                std::memcpy(warp.registers + atomic.results[i] + size_t{lane} * atomic.lane_bytes, &old,
                            atomic.lane_bytes);
            // A comparison that fails writes nothing.
            if (!atomic.others.empty() && old != b) written &= ~(Mask{1} << lane);
        }
    }
    note_strong(warp, in, space, access, address, active, written, true);
}

/// atom.b128 exch and cas. Host threads take turns: no plain access of 128 bits is indivisible on every host.
void run_wide(Warp& warp, const Instruction& in, const Atomic& atomic, Space space, const uint64_t* address,
              Mask active) {
    static std::mutex turn;
    Access access;
    if (!reach(warp, in, space, address, active, in.width, Intent::atomic, access)) return;
    Mask written = active;
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        std::byte* at = access.contiguous ? access.lane[0] + size_t{lane} * in.width : access.lane[lane];
        const Wide fresh = warp.lanes<Wide>((atomic.others.empty() ? atomic.operands : atomic.others)[0])[lane];
        const Wide wanted = warp.lanes<Wide>(atomic.operands[0])[lane];
        Wide old;
        {
            const std::lock_guard lock(turn);
            std::memcpy(&old, at, sizeof old);
            const bool stores = atomic.others.empty() || std::memcmp(&old, &wanted, sizeof old) == 0;
            if (stores) std::memcpy(at, &fresh, sizeof fresh);
            warp.block->changes += stores && std::memcmp(&old, &fresh, sizeof old) != 0;
            if (!stores) written &= ~(Mask{1} << lane);
        }
        warp.lanes<Wide>(atomic.results[0])[lane] = old;
    }
    note_strong(warp, in, space, access, address, active, written, true);
}

void run(Warp& warp, const Instruction& in, Mask active) {
    const auto& atomic = static_cast<const Atomic&>(*in.extra);
    alignas(64) uint64_t address[kLanes];
    addresses_of(warp, in, active, address);
    const auto part = atomic.bytes == sizeof(Wide) ? run_wide : run_in;
    if (atomic.space != Space::none) return part(warp, in, atomic, atomic.space, address, active);
    by_space(warp, address, active,
             [&](Space space, const uint64_t* inside, Mask lanes) { part(warp, in, atomic, space, inside, lanes); });
}

void decode(Decoder& base, const ptx::Statement& statement, Instruction& in, bool has_result) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    Modifiers modifiers(statement);
    auto atomic = std::make_unique<Atomic>();
    in.mode |= kStrong | take_order(modifiers);
    note_order(decoder.program(), in.mode);
    atomic->space = take_space(modifiers);
    in.mode |= reach_of(statement, atomic->space);
    const bool policy = take_cache(modifiers);
    std::string_view operation;
    for (const auto name : {"add", "inc", "dec", "min", "max", "and", "or", "xor", "exch", "cas"})
        if (modifiers.take(name)) operation = name;
    modifiers.take("noftz");
    const uint32_t count = modifiers.take("v8") ? 8 : modifiers.take("v4") ? 4 : modifiers.take("v2") ? 2 : 1;
    const Type type = modifiers.type();
    const bool compares = operation == "cas";
    const size_t expected = (has_result ? 1 : 0) + 2 + (compares ? 1 : 0);
    modifiers.finish({expected, policy ? expected + 1 : expected});
    size_t at = 0;
    const auto registers = [&](const ptx::Operand& operand, std::vector<uint32_t>& list, bool destination) {
        const std::vector<ptx::Operand> one{operand};
        const auto& elements = operand.kind == Kind::vector ? operand.elements : one;
        if (elements.size() != count) throw Unsupported("a vector of another size");
        for (const auto& element : elements)
            list.push_back(destination ? decoder.destination(element, type) : decoder.source(element, type));
    };
    in.unread = !has_result || decoder.demand().unread(statement.operands[0]);
    if (has_result) registers(statement.operands[at++], atomic->results, true);
    resolve_address(decoder, statement.operands[at++], in);
    registers(statement.operands[at++], atomic->operands, false);
    if (compares) registers(statement.operands[at++], atomic->others, false);
    atomic->bytes = atomic->lane_bytes = ptx::size_bytes(type);
    if (type == Type::b128) {
        if (!has_result || count != 1 || (operation != "exch" && operation != "cas"))
            throw Unsupported("this operation on b128");
    } else {
        atomic->update = update_of(operation, type, Space::global);
        atomic->update_shared = update_of(operation, type, Space::shared);
    }
    in.width = static_cast<uint8_t>(atomic->bytes * count);
    if (atomic->space == Space::shared || atomic->space == Space::none) note_granule(decoder.program(), in.width);
    in.mix = Mix::atomic;
    in.run = run;
    in.extra = decoder.keep(std::move(atomic));
}

void decode_atom(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    decode(decoder, statement, in, true);
}
void decode_red(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    if (statement.has("async")) return decode_remote(decoder, statement, in);
    decode(decoder, statement, in, false);
}

constexpr OpRow kRows[] = {{"atom", decode_atom}, {"red", decode_red}};

}  // namespace

Update update_of(std::string_view operation, Type type, Space space) {
    switch (type) {
        case Type::s32:
            return integer_update<int32_t>(operation);
        case Type::b32:
        case Type::u32:
            return integer_update<uint32_t>(operation);
        case Type::s64:
            return integer_update<int64_t>(operation);
        case Type::b64:
        case Type::u64:
            return integer_update<uint64_t>(operation);
        case Type::b16:
        case Type::u16:
            return integer_update<uint16_t>(operation);
        case Type::f32:
            if (operation != "add") throw Unsupported("this operation on f32");
            // Global memory flushes denormals, shared memory does not (seen on an H200).
            return space == Space::shared ? add_float : add_float_flushed;
        case Type::f64:
            if (operation != "add") throw Unsupported("this operation on f64");
            return space == Space::shared ? add_double : add_double_in_global;
        case Type::f16:
            return Half<false>::update(operation, false);
        case Type::f16x2:
            return Half<false>::update(operation, true);
        case Type::bf16:
            return Half<true>::update(operation, false);
        case Type::bf16x2:
            return Half<true>::update(operation, true);
        default:
            throw Unsupported("an atomic of this type");
    }
}

uint64_t update_word(std::byte* at, uint32_t bytes, Update update, uint64_t b, uint64_t c, uint64_t* changes) {
    if (bytes == 2) return exchange<uint16_t>(at, update, b, c, changes);
    if (bytes == 4) return exchange<uint32_t>(at, update, b, c, changes);
    return exchange<uint64_t>(at, update, b, c, changes);
}

std::span<const OpRow> atomic_rows() { return kRows; }

}  // namespace recuda::vgpu

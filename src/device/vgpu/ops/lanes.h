// Loops over the 32 lanes of a warp, from a function of one lane.
//
// `lanes<[](uint32_t a, uint32_t b) { return a + b; }>` is a Handler: destination and sources have the types of the
// function's result and parameters. A warp whose lanes are all active writes the destination in place; otherwise the
// results of all lanes are computed beside it and the active ones blended in, so every function must be total: no trap,
// no undefined behaviour for any bits. Both loops vectorise when the function has no calls and no branches that the
// compiler must keep. A destination may be the register of a source: each element is read before it is written.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/vgpu/machine.h"
#include "device/vgpu/warp.h"

namespace recuda::vgpu {

/// The bit of each lane.
template <typename T>
struct LaneBits {
    alignas(64) T bit[kLanes];
};
template <typename T>
constexpr LaneBits<T> lane_bits() {
    LaneBits<T> result{};
    for (uint32_t i = 0; i < kLanes; ++i) result.bit[i] = T{1} << (i % (8 * sizeof(T)));
    return result;
}
inline constexpr auto kLaneBits32 = lane_bits<uint32_t>();
inline constexpr auto kLaneBits64 = lane_bits<uint64_t>();
inline constexpr auto kLaneBits16 = lane_bits<uint16_t>();

/// All ones for the lanes of `active`, else zero. Selecting with masks instead of conditions keeps the compiler from
/// making conditional stores, which the processor cannot forward to the loads of the next instruction (measured: 30 ns
/// against 5 ns).
template <typename Word>
inline Word lane_mask(Mask active, uint32_t lane) {
    if constexpr (sizeof(Word) == 4)
        return (active & kLaneBits32.bit[lane]) != 0 ? ~Word{0} : Word{0};
    else
        return (uint64_t{active} & kLaneBits64.bit[lane]) != 0 ? ~Word{0} : Word{0};
}
template <>
inline uint16_t lane_mask<uint16_t>(Mask active, uint32_t lane) {
    const auto half = static_cast<uint16_t>(lane < 16 ? active : active >> 16);
    return (half & kLaneBits16.bit[lane]) != 0 ? 0xffff : 0;
}

/// Every lane from `yes` where the mask has it, else from `no`; the destination may be one of them.
template <typename T>
inline void choose_lanes(T* destination, const T* yes, const T* no, Mask chosen) {
    using Word = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
    constexpr uint32_t kPart = sizeof(T) == 2 ? 16 : kLanes;
    for (uint32_t part = 0; part < kLanes; part += kPart) {
#pragma GCC ivdep
        for (uint32_t i = part; i < part + kPart; ++i) {
            const Word mask = lane_mask<Word>(chosen, i);
            const Word a = std::bit_cast<Word>(yes[i]), b = std::bit_cast<Word>(no[i]);
            destination[i] = std::bit_cast<T>(static_cast<Word>((a & mask) | (b & ~mask)));
        }
    }
}

/// Writes the active lanes of `result` to `destination`.
template <typename T>
inline void blend(T* destination, const T* result, Mask active) {
    choose_lanes(destination, result, destination, active);
}

template <typename D, typename F>
inline void for_lanes(D* destination, Mask active, F function) {
    if (active == kFullMask) {
#pragma GCC ivdep
        for (uint32_t i = 0; i < kLanes; ++i) destination[i] = function(i);
    } else {
        alignas(64) D result[kLanes];
        for (uint32_t i = 0; i < kLanes; ++i) result[i] = function(i);
        blend(destination, result, active);
    }
}

/// The same for what is slow in one lane (library calls): only active lanes are computed.
template <typename D, typename F>
inline void for_active_lanes(D* destination, Mask active, F function) {
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<uint32_t>(std::countr_zero(rest));
        destination[i] = function(i);
    }
}

namespace detail {

template <auto F, typename Signature = decltype(+F)>
struct Lanes;

template <auto F, typename D, typename A>
struct Lanes<F, D (*)(A)> {
    static void run(Warp& warp, const Instruction& in, Mask active) {
        const A* a = warp.lanes<A>(in.a);
        for_lanes(warp.lanes<D>(in.d), active, [&](uint32_t i) { return F(a[i]); });
    }
    static void run_active(Warp& warp, const Instruction& in, Mask active) {
        const A* a = warp.lanes<A>(in.a);
        for_active_lanes(warp.lanes<D>(in.d), active, [&](uint32_t i) { return F(a[i]); });
    }
};

template <auto F, typename D, typename A, typename B>
struct Lanes<F, D (*)(A, B)> {
    static void run(Warp& warp, const Instruction& in, Mask active) {
        const A* a = warp.lanes<A>(in.a);
        const B* b = warp.lanes<B>(in.b);
        for_lanes(warp.lanes<D>(in.d), active, [&](uint32_t i) { return F(a[i], b[i]); });
    }
    static void run_active(Warp& warp, const Instruction& in, Mask active) {
        const A* a = warp.lanes<A>(in.a);
        const B* b = warp.lanes<B>(in.b);
        for_active_lanes(warp.lanes<D>(in.d), active, [&](uint32_t i) { return F(a[i], b[i]); });
    }
};

template <auto F, typename D, typename A, typename B, typename C>
struct Lanes<F, D (*)(A, B, C)> {
    static void run(Warp& warp, const Instruction& in, Mask active) {
        const A* a = warp.lanes<A>(in.a);
        const B* b = warp.lanes<B>(in.b);
        const C* c = warp.lanes<C>(in.c);
        for_lanes(warp.lanes<D>(in.d), active, [&](uint32_t i) { return F(a[i], b[i], c[i]); });
    }
};

template <auto F, typename D, typename A, typename B, typename C, typename E>
struct Lanes<F, D (*)(A, B, C, E)> {
    static void run(Warp& warp, const Instruction& in, Mask active) {
        const A* a = warp.lanes<A>(in.a);
        const B* b = warp.lanes<B>(in.b);
        const C* c = warp.lanes<C>(in.c);
        const E* e = warp.lanes<E>(in.e);
        for_lanes(warp.lanes<D>(in.d), active, [&](uint32_t i) { return F(a[i], b[i], c[i], e[i]); });
    }
};

}  // namespace detail

/// The handler that applies F (a function or a lambda without captures) to every lane: d = F(a, b, …).
template <auto F>
inline constexpr Handler lanes = &detail::Lanes<F>::run;

/// The same, lane by lane, for what would not vectorise anyway.
template <auto F>
inline constexpr Handler active_lanes = &detail::Lanes<F>::run_active;

/// The mask of the lanes for which `test(i)` holds, whatever lanes are active.
template <typename F>
inline Mask mask_of(F test) {
    Mask mask = 0;
    for (uint32_t i = 0; i < kLanes; ++i) mask |= test(i) ? kLaneBits32.bit[i] : 0;
    return mask;
}

/// Sets the active lanes of a predicate.
inline void set_predicate(Warp& warp, uint32_t offset, Mask value, Mask active) {
    Mask& predicate = warp.predicate(offset);
    predicate = (predicate & ~active) | (value & active);
}

}  // namespace recuda::vgpu

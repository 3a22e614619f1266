// Pairs of f32 (f32x2) and mixed precision (f32 with f16 or bf16).
#pragma once

#include "device/vgpu/ops/float_operations.h"
#include "device/vgpu/ops/lanes.h"

namespace recuda::vgpu {

template <typename Operation, int sources, Rounding rounding, bool ftz>
void pair_of_singles(Warp& warp, const Instruction& in, Mask active) {
    const auto* a = warp.lanes<float>(in.a);
    const auto* b = warp.lanes<float>(in.b);
    alignas(64) float result[2 * kLanes];
    for (uint32_t i = 0; i < 2 * kLanes; ++i) {
        if constexpr (sources == 2)
            result[i] = single_result<Operation, rounding, ftz, false>(a[i], b[i]);
        else
            result[i] = single_result<Operation, rounding, ftz, false>(a[i], b[i], warp.lanes<float>(in.c)[i]);
    }
    alignas(64) uint64_t words[kLanes];
    for (uint32_t i = 0; i < kLanes; ++i)
        words[i] = static_cast<uint64_t>(bits_of(result[2 * i + 1])) << 32 | bits_of(result[2 * i]);
    blend(warp.lanes<uint64_t>(in.d), words, active);
}

template <typename Operation, int sources, Rounding rounding>
Handler pair_handler(bool ftz) {
    return ftz ? pair_of_singles<Operation, sources, rounding, true>
               : pair_of_singles<Operation, sources, rounding, false>;
}

template <typename Operation, int sources>
Handler pair_handler(Rounding rounding, bool ftz) {
    switch (rounding) {
        case Rounding::nearest:
            return pair_handler<Operation, sources, Rounding::nearest>(ftz);
        case Rounding::zero:
            return pair_handler<Operation, sources, Rounding::zero>(ftz);
        case Rounding::minus:
            return pair_handler<Operation, sources, Rounding::minus>(ftz);
        default:
            return pair_handler<Operation, sources, Rounding::plus>(ftz);
    }
}

/// add.f32.f16 d, a, c and fma.f32.f16 d, a, b, c: the narrow factors are exact in f32.
template <typename Operation, int sources, Rounding rounding, float (*widened)(uint16_t), bool sat>
Handler mixed_handler() {
    if constexpr (sources == 2) {
        return lanes<[](uint16_t a, float b) { return single_result<Operation, rounding, false, sat>(widened(a), b); }>;
    } else {
        return lanes<[](uint16_t a, uint16_t b, float c) {
            return single_result<Operation, rounding, false, sat>(widened(a), widened(b), c);
        }>;
    }
}

template <typename Operation, int sources, float (*widened)(uint16_t), bool sat>
Handler mixed_handler(Rounding rounding) {
    switch (rounding) {
        case Rounding::nearest:
            return mixed_handler<Operation, sources, Rounding::nearest, widened, sat>();
        case Rounding::zero:
            return mixed_handler<Operation, sources, Rounding::zero, widened, sat>();
        case Rounding::minus:
            return mixed_handler<Operation, sources, Rounding::minus, widened, sat>();
        default:
            return mixed_handler<Operation, sources, Rounding::plus, widened, sat>();
    }
}

template <typename Operation, int sources>
Handler mixed_handler(Rounding rounding, bool half, bool sat) {
    if (half) {
        return sat ? mixed_handler<Operation, sources, from_half, true>(rounding)
                   : mixed_handler<Operation, sources, from_half, false>(rounding);
    }
    return sat ? mixed_handler<Operation, sources, from_bfloat, true>(rounding)
               : mixed_handler<Operation, sources, from_bfloat, false>(rounding);
}

}  // namespace recuda::vgpu

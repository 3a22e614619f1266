// f64 has no wider type: directed roundings set the host's mode around a lane-by-lane loop.
#pragma once

#include <cfenv>
#include <type_traits>

#include "device/vgpu/ops/float_operations.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/ops/lanes.h"

namespace recuda::vgpu {

/// The host's rounding mode for the time of a loop. Operands and results of such a loop are volatile, so that nothing
/// moves out of it.
class HostRounding {
 public:
    explicit HostRounding(Rounding rounding) : before_(std::fegetround()) {
        std::fesetround(rounding == Rounding::zero    ? FE_TOWARDZERO
                        : rounding == Rounding::minus ? FE_DOWNWARD
                                                      : FE_UPWARD);
    }
    ~HostRounding() { std::fesetround(before_); }
    HostRounding(const HostRounding&) = delete;
    HostRounding& operator=(const HostRounding&) = delete;

 private:
    int before_;
};

/// Of several NaN operands the hardware passes on b, then c, then a; its routine for the quotient a first (seen on an
/// H200).
template <typename Operation>
double with_nan_of(double result, double a) {
    return with_payload(result, a);
}
template <typename Operation>
double with_nan_of(double result, double a, double b) {
    return std::is_same_v<Operation, Divide> ? with_payload(result, a, b) : with_payload(result, b, a);
}
template <typename Operation>
double with_nan_of(double result, double a, double b, double c) {
    return with_payload(result, b, c, a);
}

template <typename Operation, int sources>
double operate(const double* a, const double* b, const double* c, uint32_t i) {
    const volatile double x = a[i], y = sources > 1 ? b[i] : 0.0, z = sources > 2 ? c[i] : 0.0;
    volatile double result;
    if constexpr (sources == 1)
        result = Operation::apply(x);
    else if constexpr (sources == 2)
        result = Operation::apply(x, y);
    else
        result = Operation::apply(x, y, z);
    return result;
}

template <typename Operation, int sources>
void directed_double(Warp& warp, const Instruction& in, Mask active) {
    const auto* a = warp.lanes<double>(in.a);
    const auto* b = sources > 1 ? warp.lanes<double>(in.b) : a;
    const auto* c = sources > 2 ? warp.lanes<double>(in.c) : a;
    alignas(64) double result[kLanes];
    {
        const HostRounding mode(static_cast<Rounding>(in.mode));
        for (uint32_t i = 0; i < kLanes; ++i) result[i] = operate<Operation, sources>(a, b, c, i);
    }
    for (uint32_t i = 0; i < kLanes; ++i) {
        if constexpr (sources == 1)
            result[i] = with_nan_of<Operation>(result[i], a[i]);
        else if constexpr (sources == 2)
            result[i] = with_nan_of<Operation>(result[i], a[i], b[i]);
        else
            result[i] = with_nan_of<Operation>(result[i], a[i], b[i], c[i]);
    }
    blend(warp.lanes<double>(in.d), result, active);
}

template <typename Operation, int sources>
Handler double_handler(Rounding rounding) {
    if (rounding != Rounding::nearest) return directed_double<Operation, sources>;
    if constexpr (sources == 1)
        return lanes<[](double a) { return with_nan_of<Operation>(Operation::apply(a), a); }>;
    else if constexpr (sources == 2)
        return lanes<[](double a, double b) { return with_nan_of<Operation>(Operation::apply(a, b), a, b); }>;
    else
        return lanes<[](double a, double b, double c) {
            return with_nan_of<Operation>(Operation::apply(a, b, c), a, b, c);
        }>;
}

}  // namespace recuda::vgpu

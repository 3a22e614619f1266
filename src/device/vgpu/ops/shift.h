// Shifts as PTX has them.
#pragma once

#include <cstdint>
#include <type_traits>

namespace recuda::vgpu {

/// Amounts beyond the word give 0 or the sign.
template <typename T>
T shifted_left(T a, uint32_t by) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    return by < kBits ? static_cast<T>(a << (by & (kBits - 1))) : T{0};
}
template <typename T>
T shifted_right(T a, uint32_t by) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>)
        return static_cast<T>(a >> (by < kBits ? by : kBits - 1));
    else
        return by < kBits ? static_cast<T>(a >> (by & (kBits - 1))) : T{0};
}

}  // namespace recuda::vgpu

// A function's registers by name: `%r<10>` declares %r0 to %r9, `.v4 .b32 v` the elements v.x to v.w as well.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "device/vgpu/ptx/ptx.h"

namespace recuda::vgpu::ptx {

class Registers {
 public:
    explicit Registers(const Function& function);

    /// A register, a whole vector register, or one element of one.
    struct Found {
        const RegisterDeclaration* declaration;
        uint32_t number = 0;              // in the range
        std::optional<uint32_t> element;  // of a vector register
        bool is_scalar() const { return declaration->vector == 1 || element.has_value(); }
    };
    std::optional<Found> find(std::string_view name) const;

 private:
    std::optional<Found> whole(std::string_view name) const;

    // `.reg .b32 a, a<2>` declares a, a0 and a1.
    std::map<std::string_view, const RegisterDeclaration*, std::less<>> single_, ranges_;
};

}  // namespace recuda::vgpu::ptx

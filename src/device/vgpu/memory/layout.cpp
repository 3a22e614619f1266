#include "device/vgpu/memory/layout.h"

#include <algorithm>

#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

/// The least address from `from` on that has the bank and alignment of `natural`.
uint32_t keep_banks(uint32_t from, uint32_t natural, uint32_t align) {
    const uint32_t period = std::max(128u, align);
    const uint32_t wanted = natural % period;
    uint32_t at = from / period * period + wanted;
    if (at < from) at += period;
    return at;
}

}  // namespace

void lay_out_shared(Program& program) {
    uint32_t natural = 0, at = kReservedShared;
    for (SharedVariable& variable : program.shared) {
        if (variable.dynamic) continue;
        natural = (natural + variable.align - 1) / variable.align * variable.align;
        at = keep_banks(at, natural, variable.align);
        variable.address = at;
        natural += variable.bytes;
        at += variable.bytes + kSharedGap;
    }
    program.static_shared_bytes = natural;
}

uint32_t dynamic_shared_start(const Program& program) {
    uint32_t align = 16, at = kReservedShared;
    for (const SharedVariable& variable : program.shared) {
        if (variable.dynamic)
            align = std::max(align, variable.align);
        else
            at = std::max<uint32_t>(at, variable.address + variable.bytes + kSharedGap);
    }
    const uint32_t natural = (program.static_shared_bytes + align - 1) / align * align;
    return keep_banks(at, natural, align);
}

}  // namespace recuda::vgpu

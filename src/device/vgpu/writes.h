// Which of a launch's buffers a kernel may write: the others need no watching for races.
//
// A flow-insensitive analysis over the entry's registers: an address comes from the parameters, variables or memory
// that its register has been computed from. On the safe side: where it cannot tell, the kernel may write everything.
#pragma once

#include <cstdint>
#include <vector>

#include "device/vgpu/ptx/ptx.h"

namespace recuda::vgpu {

struct Writes {
    static constexpr uint32_t kMostParameters = 60;

    bool everything = true;
    std::vector<uint64_t> sites;  // by store: bit i for the entry's parameter i, and whether variables of the module

    /// Whether a store may go where parameter i points. `buffers`: the parameters that are addresses.
    bool may_reach(uint32_t parameter, uint64_t buffers) const;
    bool may_reach_all(uint64_t buffers) const;
};

/// What the entry may write where it calls no function.
Writes writes_of(const ptx::Module& module, const ptx::Function& entry);

}  // namespace recuda::vgpu

// What parsing alone does not see: names that nobody declares, labels that nobody sets, instructions of no such form.
//
// It looks at every function of the module, as ptxas does, and knows nothing of what the virtual GPU can run.
#pragma once

#include "device/vgpu/ptx/ptx.h"

namespace recuda::vgpu::ptx {

/// Throws Error with "ptx line N: …" for the first statement that is not PTX.
void check(const Module& module);

}  // namespace recuda::vgpu::ptx

// Baselines that run an op's reference.py in PyTorch: eager and compiled, each launch by launch and as a CUDA graph.
//
// Each has a process of its own with the workload's inputs, in the same number of copies as need be to be cold, and
// takes samples by the device's own protocol; what its runs computed comes back and is judged like everybody's. The two
// processes never time at once: whoever compares waits for one before it asks the other.
#pragma once

#include "judge/baseline.h"

namespace recuda {

Offer offer_torch_eager(const BaselineParts& parts);
Offer offer_torch_eager_graph(const BaselineParts& parts);
/// torch.compile in its default mode; where the whole function cannot be one graph, with graph breaks, which the method
/// of its samples says.
Offer offer_torch_compile(const BaselineParts& parts);
Offer offer_torch_compile_graph(const BaselineParts& parts);

}  // namespace recuda

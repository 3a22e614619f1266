// Kinds of facts about a kernel's code: what evidence shows, and what an op may forbid (`forbid`, `allow` in op.toml).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

enum class FactKind {
    tensor_core,            // mma, wmma, wgmma, tcgen05.mma
    half_accumulator,       // one of those whose sums are kept in f16
    half_arithmetic,        // additions and products whose result is f16 or bf16
    double_arithmetic,      // f64
    global_load,            // by width
    global_store,           //
    local_memory,           // loads and stores of a thread's stack
    async_copy,             // cp.async
    bulk_copy,              // cp.async.bulk and tensor copies
    float_atomic,           // additions of floats in no fixed order
    clock,                  // %clock, %clock64
    global_timer,           // %globaltimer
    grid_id,                // %gridid, %current_graph_exec: which launch this is
    performance_counter,    // %pm…, pmevent
    sm_id,                  // %smid, %warpid: where a thread runs
    sleep,                  // nanosleep
    l2_residency,           // asks the L2 to keep data beyond its turn: L2::evict_last
    cache_policy,           // any other word to a cache: other policies, prefetch, discard, applypriority
    volatile_access,        // of global memory
    system_scope,           // accesses and fences that the host takes part in
    dependent_launch,       // griddepcontrol
    register_reallocation,  // setmaxnreg
    print,                  // printf
    trap,                   // trap, a failed assertion
    breakpoint,             // brkpt
};

inline constexpr size_t kFactKinds = static_cast<size_t>(FactKind::breakpoint) + 1;

/// As enumerated: "tensor_core".
std::string_view name(FactKind kind);

/// The kind of that name; throws Error that names the nearest.
FactKind fact_kind_named(std::string_view name);

}  // namespace recuda

#include "device/vgpu/tally.h"

#include <algorithm>
#include <bit>

#include "device/vgpu/costs.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

constexpr uint32_t kBankBytes = 128;  // of all 32 banks together

const char* mix_name(Mix mix) {
    switch (mix) {
        case Mix::integer:
            return "integer";
        case Mix::floating:
            return "floating";
        case Mix::half:
            return "half";
        case Mix::fma:
            return "fma";
        case Mix::convert:
            return "convert";
        case Mix::compare:
            return "compare";
        case Mix::move:
            return "move";
        case Mix::branch:
            return "branch";
        case Mix::memory:
            return "memory";
        case Mix::shared:
            return "shared";
        case Mix::atomic:
            return "atomic";
        case Mix::barrier:
            return "barrier";
        case Mix::warp:
            return "warp";
        case Mix::special:
            return "special";
        case Mix::tensor:
            return "tensor";
    }
    return "other";
}

}  // namespace

void Tally::prepare(const Program& program, bool count) {
    on = count;
    executed.assign(program.code.size(), {});
    memory.assign(count ? program.code.size() : 0, {});
}

void Tally::Memory::count_shared(uint32_t wavefronts, uint32_t lanes, uint32_t width) {
    ++shared_requests;
    shared_wavefronts += wavefronts;
    // Lanes that read one word share it, so that fewer passes than the bytes ask for may do.
    shared_ideal += std::min(wavefronts, std::max(1u, (lanes * width + kBankBytes - 1) / kBankBytes));
}

void Tally::Memory::count_atomic(const uint64_t* address, uint32_t active, bool global) {
    const auto first = static_cast<uint32_t>(std::countr_zero(active));
    atomics += std::popcount(active);
    for (Mask rest = active & (active - 1); rest != 0; rest &= rest - 1) {
        const uint64_t at = address[std::countr_zero(rest)];
        bool seen = false;
        for (Mask before = active & ((rest & -rest) - 1); before != 0 && !seen; before &= before - 1)
            seen = address[std::countr_zero(before)] == at;
        atomic_conflicts += seen;
    }
    if (!global) return;
    atomic_repeats += address[first] == last_atomic;
    last_atomic = address[first];
}

void Tally::add_to(Counters& counters, const Program& program) const {
    if (!on) return;
    counters.blocks += blocks;
    counters.threads += threads;
    counters.warps += warps;
    counters.barriers += barriers;
    const std::vector<Cost>& costs = program.costs();
    uint64_t working = 0;
    for (size_t i = 0; i < executed.size(); ++i) {
        const Executed& ran = executed[i];
        if (ran.warps == 0) continue;
        const Instruction& in = program.code[i];
        const Memory& moved = memory[i];
        LineCounters line;
        line.warp_instructions = ran.warps;
        line.thread_instructions = ran.lanes;
        line.global_read = moved.read;
        line.global_write = moved.write;
        line.local = moved.local;
        line.shared_requests = moved.shared_requests;
        line.shared_wavefronts = moved.shared_wavefronts;
        line.shared_ideal = moved.shared_ideal;
        line.atomics = moved.atomics;
        line.atomic_conflicts = moved.atomic_conflicts;
        line.atomic_repeats = moved.atomic_repeats;
        line.barrier_arrivals = in.mix == Mix::barrier ? ran.warps : 0;
        line.early_exits = moved.early_exits;
        line.branches = in.mix == Mix::branch && in.guard != Instruction::kNoGuard ? ran.warps : 0;
        line.divergent_branches = ran.divergent;
        counters.LineCounters::add(line);
        counters.mix[mix_name(in.mix)] += ran.lanes;
        counters.issue_cycles += costs[i].issue * ran.warps;
        if (in.mix == Mix::memory) working = std::max(working, ran.warps);
        costs[i].add_chain(counters.chain, ran.warps);
        counters.chain.branch += in.mix == Mix::branch ? ran.warps : 0;
        const uint32_t source = program.ptx_lines ? in.ptx_line : in.source_line;
        if (source != 0) counters.lines[source].add(line);
    }
    counters.working_warps += working == 0 ? warps : std::min(working, warps);
}

}  // namespace recuda::vgpu

#include "device/vgpu/tally.h"

#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

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

void add(Traffic& to, const Traffic& from) {
    to.requests += from.requests;
    to.bytes += from.bytes;
    to.sectors += from.sectors;
}

}  // namespace

void Tally::prepare(const Program& program, bool count) {
    on = count;
    executed.assign(program.code.size(), {});
    memory.assign(count ? program.code.size() : 0, {});
}

void Tally::add_to(Counters& counters, const Program& program) const {
    if (!on) return;
    counters.blocks += blocks;
    counters.threads += threads;
    counters.barriers += barriers;
    for (size_t i = 0; i < executed.size(); ++i) {
        if (executed[i].warps == 0) continue;
        const Instruction& in = program.code[i];
        counters.warp_instructions += executed[i].warps;
        counters.thread_instructions += executed[i].lanes;
        counters.mix[mix_name(in.mix)] += executed[i].lanes;
        const Memory& moved = memory[i];
        add(counters.global_read, moved.read);
        add(counters.global_write, moved.write);
        add(counters.local, moved.local);
        counters.shared_requests += moved.shared_requests;
        counters.shared_wavefronts += moved.shared_wavefronts;
        counters.atomics += moved.atomics;
        const uint32_t source = program.ptx_lines ? in.ptx_line : in.source_line;
        if (source == 0) continue;
        LineCounters& line = counters.lines[source];
        line.warp_instructions += executed[i].warps;
        line.thread_instructions += executed[i].lanes;
        add(line.global_read, moved.read);
        add(line.global_write, moved.write);
        line.shared_requests += moved.shared_requests;
        line.shared_wavefronts += moved.shared_wavefronts;
    }
}

}  // namespace recuda::vgpu

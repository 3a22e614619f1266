#include "device/counters.h"

#include <nlohmann/json.hpp>

namespace recuda {
namespace {

void add(Traffic& to, const Traffic& from) {
    to.requests += from.requests;
    to.bytes += from.bytes;
    to.sectors += from.sectors;
}

nlohmann::json to_json(const Traffic& traffic) {
    return {{"requests", traffic.requests}, {"bytes", traffic.bytes}, {"sectors", traffic.sectors}};
}

}  // namespace

void Counters::add(const Counters& other) {
    blocks += other.blocks;
    threads += other.threads;
    warp_instructions += other.warp_instructions;
    thread_instructions += other.thread_instructions;
    recuda::add(global_read, other.global_read);
    recuda::add(global_write, other.global_write);
    recuda::add(local, other.local);
    shared_requests += other.shared_requests;
    shared_wavefronts += other.shared_wavefronts;
    atomics += other.atomics;
    barriers += other.barriers;
    for (const auto& [kind, count] : other.mix) mix[kind] += count;
    for (const auto& [number, counted] : other.lines) {
        LineCounters& line = lines[number];
        line.warp_instructions += counted.warp_instructions;
        line.thread_instructions += counted.thread_instructions;
        recuda::add(line.global_read, counted.global_read);
        recuda::add(line.global_write, counted.global_write);
        line.shared_requests += counted.shared_requests;
        line.shared_wavefronts += counted.shared_wavefronts;
    }
}

nlohmann::json to_json(const Counters& counters) {
    nlohmann::json lines = nlohmann::json::array();
    for (const auto& [number, line] : counters.lines)
        lines.push_back({{"line", number},
                         {"warp_instructions", line.warp_instructions},
                         {"thread_instructions", line.thread_instructions},
                         {"global_read", to_json(line.global_read)},
                         {"global_write", to_json(line.global_write)},
                         {"shared_requests", line.shared_requests},
                         {"shared_wavefronts", line.shared_wavefronts}});
    return {{"blocks", counters.blocks},
            {"threads", counters.threads},
            {"warp_instructions", counters.warp_instructions},
            {"thread_instructions", counters.thread_instructions},
            {"global_read", to_json(counters.global_read)},
            {"global_write", to_json(counters.global_write)},
            {"local", to_json(counters.local)},
            {"shared_requests", counters.shared_requests},
            {"shared_wavefronts", counters.shared_wavefronts},
            {"atomics", counters.atomics},
            {"barriers", counters.barriers},
            {"mix", counters.mix},
            {"lines", std::move(lines)}};
}

}  // namespace recuda

#include "device/counters.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace recuda {
namespace {

template <typename Record, typename Value = uint64_t>
struct Field {
    const char* name;
    Value Record::*value;
};

constexpr Field<LineCounters> kLineFields[] = {
    {"warp_instructions", &LineCounters::warp_instructions},
    {"thread_instructions", &LineCounters::thread_instructions},
    {"shared_requests", &LineCounters::shared_requests},
    {"shared_wavefronts", &LineCounters::shared_wavefronts},
    {"shared_ideal", &LineCounters::shared_ideal},
    {"atomics", &LineCounters::atomics},
    {"atomic_conflicts", &LineCounters::atomic_conflicts},
    {"atomic_repeats", &LineCounters::atomic_repeats},
    {"barrier_arrivals", &LineCounters::barrier_arrivals},
    {"early_exits", &LineCounters::early_exits},
    {"branches", &LineCounters::branches},
    {"divergent_branches", &LineCounters::divergent_branches},
};

struct TrafficField {
    const char* name;
    Traffic LineCounters::*value;
};

constexpr TrafficField kTrafficFields[] = {
    {"global_read", &LineCounters::global_read},
    {"global_write", &LineCounters::global_write},
    {"local", &LineCounters::local},
};

constexpr Field<Chain, int64_t> kChainFields[] = {
    {"arithmetic", &Chain::arithmetic}, {"special", &Chain::special}, {"warp", &Chain::warp},
    {"shared", &Chain::shared},         {"global", &Chain::global},   {"barrier", &Chain::barrier},
    {"tensor", &Chain::tensor},         {"branch", &Chain::branch},
};

constexpr Field<LaunchCounters> kTotalFields[] = {
    {"blocks", &LaunchCounters::blocks},     {"threads", &LaunchCounters::threads},
    {"warps", &LaunchCounters::warps},       {"working_warps", &LaunchCounters::working_warps},
    {"barriers", &LaunchCounters::barriers}, {"issue_cycles", &LaunchCounters::issue_cycles},
};

nlohmann::json line_json(const LineCounters& line) {
    nlohmann::json json;
    for (const auto& field : kLineFields) json[field.name] = line.*field.value;
    for (const auto& field : kTrafficFields) {
        const Traffic& traffic = line.*field.value;
        json[field.name] = {{"requests", traffic.requests}, {"bytes", traffic.bytes}, {"sectors", traffic.sectors}};
    }
    return json;
}

nlohmann::json launch_json(const LaunchCounters& launch) {
    nlohmann::json json = line_json(launch);
    for (const auto& field : kTotalFields) json[field.name] = launch.*field.value;
    for (const auto& field : kChainFields) json["chain"][field.name] = launch.chain.*field.value;
    return json;
}

LaunchCounters launch_from_json(const nlohmann::json& json) {
    LaunchCounters launch;
    for (const auto& field : kLineFields) launch.*field.value = json.at(field.name);
    for (const auto& field : kTrafficFields) {
        const nlohmann::json& traffic = json.at(field.name);
        launch.*field.value = {traffic.at("requests"), traffic.at("bytes"), traffic.at("sectors")};
    }
    for (const auto& field : kTotalFields) launch.*field.value = json.at(field.name);
    for (const auto& field : kChainFields) launch.chain.*field.value = json.at("chain").at(field.name);
    return launch;
}

}  // namespace

void Traffic::add(const Traffic& other) {
    requests += other.requests;
    bytes += other.bytes;
    sectors += other.sectors;
}

void LineCounters::add(const LineCounters& other) {
    for (const auto& field : kLineFields) this->*field.value += other.*field.value;
    for (const auto& field : kTrafficFields) (this->*field.value).add(other.*field.value);
}

void Chain::add(const Chain& other) {
    for (const auto& field : kChainFields) this->*field.value += other.*field.value;
}

void LaunchCounters::add(const LaunchCounters& other) {
    LineCounters::add(other);
    for (const auto& field : kTotalFields) this->*field.value += other.*field.value;
    chain.add(other.chain);
}

void Counters::add(const Counters& other) {
    LaunchCounters::add(other);
    launches.resize(std::max(launches.size(), other.launches.size()));
    for (size_t i = 0; i < other.launches.size(); ++i) launches[i].add(other.launches[i]);
    for (const auto& [kind, count] : other.mix) mix[kind] += count;
    for (const auto& [number, counted] : other.lines) lines[number].add(counted);
}

nlohmann::json to_json(const Counters& counters) {
    nlohmann::json json = launch_json(counters);
    json["launches"] = nlohmann::json::array();
    for (const LaunchCounters& launch : counters.launches) json["launches"].push_back(launch_json(launch));
    json["mix"] = counters.mix;
    json["lines"] = nlohmann::json::array();
    for (const auto& [number, line] : counters.lines) {
        json["lines"].push_back(line_json(line));
        json["lines"].back()["line"] = number;
    }
    return json;
}

Counters counters_from_json(const nlohmann::json& json) {
    Counters counters;
    try {
        static_cast<LaunchCounters&>(counters) = launch_from_json(json);
        for (const nlohmann::json& launch : json.at("launches")) counters.launches.push_back(launch_from_json(launch));
    } catch (const nlohmann::json::exception& error) {
        throw Error("these are no counters: {}", error.what());
    }
    return counters;
}

}  // namespace recuda

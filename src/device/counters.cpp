#include "device/counters.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace recuda {
namespace {

template <typename Record>
struct Field {
    const char* name;
    uint64_t Record::*value;
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

constexpr Field<Chain> kChainFields[] = {
    {"arithmetic", &Chain::arithmetic}, {"special", &Chain::special}, {"warp", &Chain::warp},
    {"shared", &Chain::shared},         {"global", &Chain::global},   {"barrier", &Chain::barrier},
    {"tensor", &Chain::tensor},
};

constexpr Field<Counters> kTotalFields[] = {
    {"blocks", &Counters::blocks},     {"threads", &Counters::threads},           {"warps", &Counters::warps},
    {"barriers", &Counters::barriers}, {"issue_cycles", &Counters::issue_cycles},
};

nlohmann::json line_json(const LineCounters& line) {
    nlohmann::json json;
    for (const auto& field : kLineFields) json[field.name] = line.*field.value;
    for (const auto& field : kTrafficFields) {
        const Traffic& traffic = line.*field.value;
        json[field.name] = {
            {"requests", traffic.requests}, {"bytes", traffic.bytes}, {"sectors", traffic.sectors}};
    }
    return json;
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

void Counters::add(const Counters& other) {
    LineCounters::add(other);
    for (const auto& field : kTotalFields) this->*field.value += other.*field.value;
    chain.add(other.chain);
    for (const auto& [kind, count] : other.mix) mix[kind] += count;
    for (const auto& [number, counted] : other.lines) lines[number].add(counted);
}

nlohmann::json to_json(const Counters& counters) {
    nlohmann::json json = line_json(counters);
    for (const auto& field : kTotalFields) json[field.name] = counters.*field.value;
    for (const auto& field : kChainFields) json["chain"][field.name] = counters.chain.*field.value;
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
        for (const auto& field : kLineFields) counters.*field.value = json.at(field.name);
        for (const auto& field : kTrafficFields) {
            const nlohmann::json& traffic = json.at(field.name);
            counters.*field.value = {traffic.at("requests"), traffic.at("bytes"), traffic.at("sectors")};
        }
        for (const auto& field : kTotalFields) counters.*field.value = json.at(field.name);
        for (const auto& field : kChainFields) counters.chain.*field.value = json.at("chain").at(field.name);
    } catch (const nlohmann::json::exception& error) {
        throw Error("these are no counters: {}", error.what());
    }
    return counters;
}

}  // namespace recuda

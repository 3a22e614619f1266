#include "evaluation/proof.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace recuda {
namespace {

/// JSON numbers of 64 bits are beyond many readers, so a seed is text.
uint64_t seed_from(const std::string& text) {
    uint64_t seed = 0;
    const char* const end = text.data() + text.size();
    if (const auto [at, problem] = std::from_chars(text.data(), end, seed, 16); problem != std::errc() || at != end)
        throw Error("`{}` is no seed", text);
    return seed;
}

Json to_json(const ProofSession& session) {
    return {{"seed", fmt::format("{:016x}", session.seed)},
            {"began", session.baseline_began ? "baseline" : "candidate"},
            {"log_ratio", json_number(session.log_ratio)},
            {"candidate_ns", json_numbers(session.candidate_ns)},
            {"baseline_ns", json_numbers(session.baseline_ns)},
            {"candidate_clock_mhz", json_numbers(session.candidate_clock_mhz)},
            {"baseline_clock_mhz", json_numbers(session.baseline_clock_mhz)}};
}

ProofSession session_from_json(const Json& json) {
    ProofSession session;
    session.seed = seed_from(json.at("seed"));
    session.baseline_began = json.at("began") == "baseline";
    session.log_ratio = number_from_json(json.at("log_ratio"));
    session.candidate_ns = numbers_from_json(json.at("candidate_ns"));
    session.baseline_ns = numbers_from_json(json.at("baseline_ns"));
    session.candidate_clock_mhz = numbers_from_json(json.at("candidate_clock_mhz"));
    session.baseline_clock_mhz = numbers_from_json(json.at("baseline_clock_mhz"));
    if (session.candidate_ns.size() != session.baseline_ns.size())
        throw Error("a session has {} samples of the candidate and {} of the baseline", session.candidate_ns.size(),
                    session.baseline_ns.size());
    return session;
}

Json to_json(const WorkloadProof& workload) {
    Json sessions = Json::array();
    for (const ProofSession& session : workload.sessions) sessions.push_back(to_json(session));
    return {{"axes", workload.axes},
            {"method", json_text(workload.method)},
            {"baseline_method", json_text(workload.baseline_method)},
            {"sessions", std::move(sessions)}};
}

WorkloadProof workload_from_json(const Json& json) {
    WorkloadProof workload;
    json.at("axes").get_to(workload.axes);
    json.at("method").get_to(workload.method);
    json.at("baseline_method").get_to(workload.baseline_method);
    for (const Json& session : json.at("sessions")) workload.sessions.push_back(session_from_json(session));
    return workload;
}

}  // namespace

Json to_json(const Proof& proof) {
    Json workloads = Json::array();
    for (const WorkloadProof& workload : proof.workloads) workloads.push_back(to_json(workload));
    return {{"baseline", json_text(proof.baseline)}, {"promotion", proof.promotion},
            {"level", json_number(proof.level)},     {"margin", json_number(proof.margin)},
            {"block_samples", proof.block_samples},  {"voided", proof.voided},
            {"unfit", json_text(proof.unfit)},       {"workloads", std::move(workloads)}};
}

Proof proof_from_json(const Json& json) {
    Proof proof;
    json.at("baseline").get_to(proof.baseline);
    json.at("promotion").get_to(proof.promotion);
    proof.level = number_from_json(json.at("level"));
    proof.margin = number_from_json(json.at("margin"));
    json.at("block_samples").get_to(proof.block_samples);
    proof.voided = json.value("voided", size_t{0});
    json.at("unfit").get_to(proof.unfit);
    for (const Json& workload : json.at("workloads")) proof.workloads.push_back(workload_from_json(workload));
    return proof;
}

}  // namespace recuda

// What steers a search beside its task and budget, as data: how much of it each proposer gets, and how a model is
// asked.
//
// A policy file is a JSON object of the members below by name, `shares` an object of its own; what it leaves out is as
// it is here.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace recuda {

struct Policy {
    /// Of what a model is asked beside repairs, by weight.
    struct Shares {
        double propose = 0.4, improve = 0.4, combine = 0.2;
    } shares;

    double model = 0.6;      // of the candidates, the model's part where there is one; seeds and tuner have the rest
    double retrieved = 0.1;  // of the candidates, kernels of the index, where retrieval is enabled
    std::optional<double> temperature;   // left to the model where there is none
    size_t repair_attempts = 2;          // of a chain of candidates; --repair-attempts goes before it
    size_t retrieved_documents = 3;      // shown in a prompt
    bool retrieve_by_diagnostic = true;  // a repair is shown what the index has on its messages
    size_t futile_answers = 3;           // in a row without anything new: then the model is asked no more
};

/// Reads a policy file. Throws Error "FILE: …" for an unknown member and a value out of bounds.
Policy read_policy(const std::filesystem::path& file);

nlohmann::json to_json(const Policy& policy);

}  // namespace recuda

// What `results` and `show` ask of a store.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace recuda {

struct ResultsQuery {
    std::string task;  // "": every task
    bool all = false;  // those that are not correct too
};

/// The contract's list for `results`: one object a run and candidate (its last evaluation), task by task, best first. A
/// missing store is an empty one and is not created. Throws StoreProblem.
nlohmann::json results(const std::filesystem::path& store, const ResultsQuery& query);

/// The contract's object for `show`: the newest evaluation of the candidate, whole, with its `source`, its `run` and
/// all its `evaluations`. `digest` may be a beginning of at least four characters. Throws Error when no candidate, or
/// more than one, has it.
nlohmann::json show(const std::filesystem::path& store, const std::string& digest);

/// Where a stored evaluation was recorded.
struct Recorded {
    std::string run, id, digest, out_dir;
};

/// The evaluation of this id, else the newest of the candidate with this digest (or unique beginning of one). Throws
/// Error when there is none.
Recorded recorded(const std::filesystem::path& store, const std::string& id);

}  // namespace recuda

// `merge-results`, and the end of a run: rows of many stores come together in one.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "store/database.h"

namespace recuda {

struct MergeOptions {
    bool dry_run = false;                // count, create and change nothing
    LockWait target_wait;                // for the target
    LockWait source_wait{.seconds = 0};  // a source in use is skipped after that
};

struct MergeReport {
    struct Skipped {
        std::string path, why;
    };
    std::vector<std::string> found, merged;
    std::vector<Skipped> skipped;
    int64_t added = 0, present = 0;
};

/// Adds the rows of the stores at or below `sources` (files as named, folders by every *.duckdb below them, links
/// resolved) to `into`, which is never a source and is created when there is something to add. What is no usable store
/// is skipped with the reason and left untouched. Throws StoreProblem when the target cannot be used, Error for a
/// source that does not exist.
MergeReport merge(const std::vector<std::filesystem::path>& sources, const std::filesystem::path& into,
                  const MergeOptions& options = {});

/// The end of a run: everything of its own store goes into the main one, and both are waited for. Throws StoreProblem.
MergeReport merge_run(const std::filesystem::path& store, const std::filesystem::path& into, const LockWait& wait);

nlohmann::json to_json(const MergeReport& report);

}  // namespace recuda

// Answers of earlier runs on the disk: FOLDER/ab/abcd….json by the request's digest, with a checksum. What is damaged
// is as if it were not there; failures are not kept.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "lm/model.h"

namespace recuda {

/// Where the answers of all runs lie, below the user's cache folder.
std::filesystem::path answer_cache();

/// Asks `inner` what the cache does not answer, and keeps its answer. A folder that cannot be written to costs nothing
/// but the answers.
std::unique_ptr<LanguageModel> make_cached(std::unique_ptr<LanguageModel> inner, const std::filesystem::path& folder,
                                           const std::string& preset, const std::string& model);

}  // namespace recuda

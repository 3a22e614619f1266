// Answers of earlier runs on the disk: FOLDER/ab/abcd….json by the request's digest, with a checksum. What is damaged
// is as if it were not there; failures are not kept.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "lm/model.h"

namespace recuda {

/// Where the answers of all runs lie, below the user's cache folder.
std::filesystem::path answer_cache();

/// Asks `inner` what the cache does not answer, and keeps its answer. A folder that cannot be written to costs nothing
/// but the answers.
/// `model` says which model answers; where it throws LmError, nobody knows, and nothing is taken from the cache.
using ModelName = std::function<std::string(const std::stop_token&)>;
std::unique_ptr<LanguageModel> make_cached(std::unique_ptr<LanguageModel> inner, const std::filesystem::path& folder,
                                           const std::string& preset, ModelName model);

}  // namespace recuda

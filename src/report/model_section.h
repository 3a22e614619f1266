// The part of report.md that says what a language model did in a run: what it cost, what each step gained, its best
// kernel against the best seed, its prompts.
#pragma once

#include <string>
#include <vector>

#include "store/run_result.h"

namespace recuda {

class RunFolder;

/// One question of a run, from its record.
struct AskedPrompt {
    std::string number, step, state;  // "0001", "repair.predict", "answered"
    uint64_t tokens = 0;
    std::vector<std::string> documents;
};

/// Those in prompts/ of the run's folder; records that cannot be read are left out.
std::vector<AskedPrompt> asked_prompts(const RunFolder& folder);

/// "" where there was no model.
std::string model_section(const RunResult& result, const std::vector<AskedPrompt>& prompts);

/// The model's best against the best seed in one line, for the terminal too; "" where there is no such pair.
std::string shown(const ModelAgainstSeed& pair);

}  // namespace recuda

// Baselines that are programs: kernel files of ours, timed like a candidate.
#pragma once

#include "judge/baseline.h"

namespace recuda {

/// A program under a name.
std::unique_ptr<Baseline> make_program_baseline(std::string name, std::string about,
                                                std::unique_ptr<LoadedProgram> program, Benchmark& benchmark);

/// The op's plain seed.
Offer offer_plain(const BaselineParts& parts);
/// The op's reference with the storage types of the task.
Offer offer_reference(const BaselineParts& parts);

}  // namespace recuda

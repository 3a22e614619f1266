// Kernel files of the catalogue as programs: the plain seed that bounds errors, the reference as a baseline.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/compile.h"
#include "judge/program.h"

namespace recuda {

class Builder;

/// For what and where they are built; all but the workloads outlive the programs.
struct OwnPlace {
    const Task& task;
    Device& device;
    Builder& builder;
    const DeviceLimits& limits;
    std::string target;
    std::vector<Axes> axes;
};

/// The file at its first legal point, for every workload of the place. That it can be built and launched is our part:
/// throws Error where it cannot.
std::unique_ptr<LoadedProgram> own_program(const OwnPlace& place, const std::filesystem::path& path,
                                           CompileOptions options);

/// The op's seed of this name (without its ending) in its folder, none where it has no such seed.
std::optional<std::filesystem::path> seed_named(const Op& op, std::string_view name);

}  // namespace recuda

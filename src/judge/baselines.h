// The baselines that a session was asked for: those that there are, and why the others are not there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "judge/baseline.h"

namespace recuda {

/// Names that `--baselines` knows, in the order in which help lists them.
std::vector<std::string> baseline_names();

/// Throws UsageError for a name that there is not, or not in this version.
void check_baselines(std::span<const std::string> names);

class Baselines {
 public:
    explicit Baselines(std::vector<std::string> names) : names_(std::move(names)) {}

    /// Makes each that there is. On a device without a clock none is made.
    void open(const BaselineParts& parts);

    const std::vector<std::unique_ptr<Baseline>>& all() const { return made_; }
    /// One for each that is not there, for lack of software or of use for the op.
    const std::vector<std::string>& warnings() const { return warnings_; }
    /// One object a name asked for: {"name", "used", "about"} with `about` what it is, or why it is not there.
    nlohmann::json record() const;

    void forget();
    void renew();

 private:
    struct Absent {
        std::string name, why;
    };
    std::vector<std::string> names_;
    std::vector<std::unique_ptr<Baseline>> made_;
    std::vector<Absent> absent_;
    std::vector<std::string> warnings_;
};

}  // namespace recuda

// Builds of candidates: one or many, each as binaries for every request of its compilation.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/compile.h"
#include "kernel/facts.h"

namespace recuda {

/// A candidate ready to be loaded, or why it is not.
struct Built {
    Outcome outcome = Outcome::correct;  // else launch_refused, build_failed, refused
    std::string log;
    Compilation compilation;
    std::vector<std::vector<Binary>> binaries;  // one list a request
    Resources resources;                        // of the entry that uses most registers
    Facts facts;                                // of all binaries together, from their PTX
    double seconds = 0;
};

/// What to build of one candidate; `refusal` says why nothing can be.
struct Order {
    Compilation compilation;
    std::string refusal;
};

/// Compiles what can be planned; a LaunchRefused becomes the order's refusal.
Order order_of(const Candidate& candidate, const Task& task, std::span<const Axes> workloads,
               const DeviceLimits& limits, const CompileOptions& options);

/// Builds all orders together on the builder's pool; results stand in their order.
std::vector<Built> build_all(Builder& builder, std::vector<Order> orders);

}  // namespace recuda

// What can become of a candidate, as data. The contract lists the words; `name` gives them.
#pragma once

#include <string_view>

namespace recuda {

enum class Outcome {
    correct,
    wrong,           // a result differs from the reference, an output left unwritten included
    faulted,         // a check of the device fired, or the process that ran it died of it; outranks wrong
    build_failed,    // the compiler said no, or had to be stopped
    launch_refused,  // the launch plan cannot be launched
    refused,         // the code does what candidates may not do
    timed_out,
    unsupported,  // the virtual GPU cannot run it: says nothing about the candidate
    impossible,   // faster than the card can be
};

std::string_view name(Outcome outcome);

/// The outcome of that name; throws Error for an unknown one.
Outcome outcome_named(std::string_view name);

/// The worse of two by how much it says against the candidate (faulted outranks wrong; correct is best).
Outcome worse(Outcome a, Outcome b);

}  // namespace recuda

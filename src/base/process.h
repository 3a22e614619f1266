// A child process that is run to its end. It has its own process group, dies with its parent, and is killed as a group
// at its deadline.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

namespace recuda {

struct ProcessResult {
    int status = 0;          // exit status; 128 + signal where a signal ended it
    bool timed_out = false;  // killed at the deadline
    bool stopped = false;    // killed because stop was requested
    std::string out, err;    // bounded
};

struct ProcessOptions {
    std::string input;  // to stdin
    double deadline_s = 60;
    uint64_t output_limit_bytes = 1 << 20;           // of each stream; the rest is read and dropped
    std::map<std::string, std::string> environment;  // added to ours
    std::vector<std::string> without;                // variables of ours that it does not get
    std::string folder;                              // working folder; "": ours
    double grace_s = 0;    // between SIGTERM and SIGKILL when it has to be ended; 0: SIGKILL at once
    std::stop_token stop;  // ends it
};

/// Runs a program to its end. Throws Error when it cannot be started.
ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options = {});

/// Path of the running program, to start it again as a worker.
std::string this_program();

}  // namespace recuda

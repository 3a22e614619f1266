// What the estimate is calibrated on: kernel files of the catalogue's ops at several points and workloads, naive and
// pathological variants of them, and small kernels that stress one thing each. bench/calibration/corpus.json lists it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kernel/candidate.h"
#include "task/task.h"

namespace recuda::calibration {

/// One task with all kernel files to be tried for it.
struct TaskEntry {
    Task task;
    std::vector<Axes> workloads;  // those it is benchmarked with, and one with many tokens
    std::vector<std::shared_ptr<const KernelFile>> files;
};

/// One launch in the words of `cuda-rlm exec`.
struct Micro {
    std::string op;  // what it stresses: "copy", "atomics" …
    std::filesystem::path file;
    std::map<std::string, std::string> defines;
    std::string launch;
    std::vector<std::string> buffers;
};

struct Corpus {
    std::vector<TaskEntry> tasks;
    std::vector<Micro> micros;
};

/// Reads `folder`/corpus.json against the catalogue of `home`.
Corpus read_corpus(const std::filesystem::path& home, const std::filesystem::path& folder);

/// The candidates of one file: up to so many of its legal points, evenly spread, the first among them.
std::vector<Candidate> spread_candidates(const std::shared_ptr<const KernelFile>& file, const TaskEntry& entry,
                                         size_t points, const DeviceLimits& limits);

}  // namespace recuda::calibration

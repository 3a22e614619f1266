// Whether a file may be opened as a store by this process. DuckDB can crash on a damaged file, so a process of ours
// that does nothing else reads it first.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/database.h"

namespace recuda {

/// Has a child process read every row of the file. Throws StoreProblem when it says no, dies or does not end, and
/// StoreLocked when others hold the file for longer than `wait`. A file that is as it was when this process last probed
/// or wrote it is not read again.
void probe(const std::filesystem::path& path, const LockWait& wait);

/// Takes the file as it is now for a good one: this process has just written it.
void remember(const std::filesystem::path& path);

/// The command that gets the file as its last word; `cuda-rlm store-probe` unless a test sets another.
std::vector<std::string>& probe_command();

/// The child's side: reads the file and gives the exit status; what keeps it from being a store is printed as JSON.
int serve_probe(const std::filesystem::path& path);

}  // namespace recuda

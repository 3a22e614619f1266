// The catalogue: ops/ and tasks/ of the home folder, and users' own task files.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "task/op.h"
#include "task/task.h"

namespace recuda {

class Catalogue {
 public:
    /// Reads nothing yet.
    explicit Catalogue(std::filesystem::path home);

    /// Every task of tasks/*.toml, by family in the order of file names, then as written.
    const std::vector<Task>& tasks();

    /// `nano30b_rmsnorm`, `cuda_rlm.tasks.nano30b_rmsnorm` or `path/to/file.toml#name`. Throws UsageError with the
    /// nearest name for an unknown task, Error for a file that cannot be read.
    Task task(std::string_view name);

    /// The op of that name; throws Error with the nearest one. Ops are read once.
    std::shared_ptr<const Op> op(const std::string& name);

    const std::filesystem::path& home() const { return home_; }

 private:
    std::vector<Task> read_tasks(const std::filesystem::path& file, bool own);

    std::filesystem::path home_;
    std::vector<Task> tasks_;
    bool tasks_read_ = false;
    std::map<std::string, std::shared_ptr<const Op>> ops_;
};

/// Kernel files of an op: its reference.cu is not among them. `seeds/*.cu` and `seeds/*.py`, sorted by name, `plain`
/// first.
std::vector<std::filesystem::path> seed_files(const Op& op);

}  // namespace recuda

// A process that runs an op's reference.py in PyTorch (python/torch_adapter.py). Code of ours, but with a deadline for
// each call and killed with its group: what a library does on a GPU may not end.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/worker_process.h"

namespace recuda {

struct TorchOptions {
    std::string interpreter;
    std::string reference;  // reference.py
    std::string mode;       // "eager", "compile"
    bool graph = false;     // runs in CUDA graphs
    int device = 0;
    uint64_t l2_bytes = 0;
};

class TorchProcess {
 public:
    /// Starts it and opens PyTorch; throws Error with the reason where that fails.
    explicit TorchProcess(const TorchOptions& options);

    /// The answer to a request. Throws Error with the adapter's reason, or with how it ended or was ended.
    nlohmann::json call(const nlohmann::json& request, double deadline_s);

    /// What `open` told: {"torch", "device"}.
    const std::string& about() const { return about_; }
    /// For files that are passed to it.
    const std::filesystem::path& folder() const { return folder_.path(); }

 private:
    TemporaryFolder folder_;
    std::optional<WorkerProcess> worker_;
    std::string about_;
};

}  // namespace recuda

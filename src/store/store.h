// results.duckdb: what runs found. One schema for a run's own store and for the main store; merging copies rows.
//
//   meta(key, value)         "format" = "cuda-rlm results", "schema" = "1"
//   runs(run, task, preset, device, out_dir, started, asked, environment)
//   evaluations(run, id, task, digest, outcome, stage, origin, device, median_ns, estimate, "when", evaluation, source)
//
// A row of `evaluations` is one line of evaluations.jsonl (`evaluation` is that line, `source` the candidate's own
// file), its key is (run, id), and it never changes: a candidate that was judged again has a later row. So a store only
// grows, and merging twice adds nothing.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/database.h"

namespace recuda {

struct Evaluation;

inline constexpr int64_t kStoreSchema = 1;

struct StoredRun {
    std::string run, task, preset, device, out_dir, started;
    std::string asked, environment;  // JSON
};

struct StoredEvaluation {
    std::string run, id, task, digest, outcome, stage, origin, device;
    std::optional<double> median_ns, estimate;
    std::string when;        // UTC, "2026-11-30T11:02:33Z"
    std::string evaluation;  // JSON, whole
    std::string source;      // the kernel file with its tunables fixed
};

StoredEvaluation stored(const std::string& run, const Evaluation& evaluation, std::string source);

/// (run, id)
using RowKey = std::pair<std::string, std::string>;

/// Whether a store is looked at before it is written to; `known`: it was, and is ours alone since.
enum class Trust { none, known };

class Store {
 public:
    /// Opens an existing store to read it, not a byte of it changes; or to add to it, created whole when it is missing.
    /// Throws StoreProblem for what is no store of ours, damaged, of a newer version or in use; it is then untouched.
    /// What this process has not written itself is read by a child process first (store/probe.h).
    Store(const std::filesystem::path& path, Access access, const LockWait& wait = {}, Trust trust = Trust::none);

    std::set<RowKey> keys();
    std::vector<StoredRun> runs();
    std::vector<StoredEvaluation> evaluations();

    struct Added {
        int64_t added = 0, present = 0;  // evaluations
    };
    /// Adds what is not there yet, in one transaction that is on the disk when this returns.
    Added add(std::span<const StoredRun> runs, std::span<const StoredEvaluation> evaluations);

    Database& database() { return database_; }

 private:
    /// Remembers what was written, when the file is closed.
    struct Written {
        std::filesystem::path path;
        explicit Written(std::filesystem::path file) : path(std::move(file)) {}
        ~Written();
    };
    std::unique_ptr<Written> written_;  // before the database, so that it ends after it
    Database database_;
};

/// Reads every row of a store in this process, which the file may crash: for the child that probes. Throws
/// StoreProblem.
void read_store(const std::filesystem::path& path);

/// Throws StoreProblem when the file exists and is no usable store, every row of which is read, and when the file or
/// its folder cannot be written. A store that is in use is taken for a good one.
void check_store(const std::filesystem::path& path);

/// `--db`, else RECUDA_DB, else results.duckdb in the current folder.
std::filesystem::path main_store(const std::string& chosen);

}  // namespace recuda

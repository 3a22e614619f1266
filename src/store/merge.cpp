#include "store/merge.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "store/store.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kBatchBytes = 64 << 20;

/// Finds stores below folders, each once, by the path that links lead to.
class Finder {
 public:
    Finder(const fs::path& into, MergeReport& report) : report_(report) {
        std::error_code ignored;
        into_ = fs::weakly_canonical(into, ignored);
    }

    void look_at(const fs::path& path) {
        std::error_code problem;
        const fs::path real = fs::canonical(path, problem);
        if (problem) return skip(path, problem.message());
        if (fs::is_directory(real, problem))
            look_into(path, real);
        else if (real != into_ && seen_.insert(real).second)
            found_.push_back(path);
    }
    const std::vector<fs::path>& found() const { return found_; }

 private:
    void look_into(const fs::path& folder, const fs::path& real) {
        if (!seen_.insert(real).second) return;
        std::error_code problem, ignored;
        std::set<fs::path> entries;
        for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem))
            if (entry->is_directory(ignored) || entry->path().extension() == ".duckdb") entries.insert(entry->path());
        if (problem) skip(folder, problem.message());
        for (const fs::path& entry : entries) look_at(entry);
    }
    void skip(const fs::path& path, const std::string& why) { report_.skipped.push_back({shown(path), why}); }

    fs::path into_;
    MergeReport& report_;
    std::set<fs::path> seen_;
    std::vector<fs::path> found_;
};

struct Contents {
    std::vector<StoredRun> runs;
    std::vector<StoredEvaluation> evaluations;
    uint64_t bytes = 0;

    void take(Store& store) {
        for (StoredRun& run : store.runs()) runs.push_back(std::move(run));
        for (StoredEvaluation& row : store.evaluations()) {
            bytes += row.evaluation.size() + row.source.size();
            evaluations.push_back(std::move(row));
        }
    }
};

/// Where rows go: the store, or for a dry run a count against its keys.
class Target {
 public:
    Target(fs::path path, const MergeOptions& options) : path_(std::move(path)), options_(options) {
        std::error_code ignored;
        if (!fs::exists(fs::symlink_status(path_, ignored))) return;
        Store store(path_, Access::read, options_.target_wait);
        if (options_.dry_run) keys_ = store.keys();
    }

    void add(Contents& contents, MergeReport& report) {
        if (options_.dry_run) {
            for (const StoredEvaluation& row : contents.evaluations)
                ++(keys_.emplace(row.run, row.id).second ? report.added : report.present);
        } else if (!contents.runs.empty() || !contents.evaluations.empty()) {
            Store store(path_, Access::write, options_.target_wait);
            const Store::Added added = store.add(contents.runs, contents.evaluations);
            report.added += added.added;
            report.present += added.present;
        }
        contents = {};
    }

 private:
    fs::path path_;
    const MergeOptions& options_;
    std::set<RowKey> keys_;
};

}  // namespace

MergeReport merge(const std::vector<fs::path>& sources, const fs::path& into, const MergeOptions& options) {
    MergeReport report;
    Finder finder(into, report);
    for (const fs::path& source : sources) {
        std::error_code ignored;
        if (!fs::exists(fs::symlink_status(source, ignored)))
            throw Error("there is no file or folder {} to merge", shown(source));
        finder.look_at(source);
    }
    Target target(into, options);
    Contents contents;
    for (const fs::path& path : finder.found()) {
        report.found.push_back(shown(path));
        try {
            Contents read;
            {
                Store store(path, Access::read, options.source_wait);
                read.take(store);
            }
            for (StoredRun& run : read.runs) contents.runs.push_back(std::move(run));
            for (StoredEvaluation& row : read.evaluations) contents.evaluations.push_back(std::move(row));
            contents.bytes += read.bytes;
            report.merged.push_back(shown(path));
        } catch (const StoreProblem& problem) {
            report.skipped.push_back({shown(path), problem.why()});
        }
        if (contents.bytes > kBatchBytes) target.add(contents, report);
    }
    target.add(contents, report);
    return report;
}

MergeReport merge_run(const fs::path& store, const fs::path& into, const LockWait& wait) {
    MergeReport report = merge({store}, into, {.target_wait = wait, .source_wait = wait});
    for (const MergeReport::Skipped& skipped : report.skipped) throw StoreProblem(skipped.path, skipped.why, "");
    return report;
}

Json to_json(const MergeReport& report) {
    Json skipped = Json::array();
    for (const MergeReport::Skipped& one : report.skipped) skipped.push_back({{"path", one.path}, {"why", one.why}});
    return {{"found", report.found},
            {"merged", report.merged},
            {"skipped", std::move(skipped)},
            {"rows", {{"added", report.added}, {"present", report.present}}}};
}

}  // namespace recuda

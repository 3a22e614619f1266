// The run directory (`--out-dir`), the one place that says what a run has done:
//
//   run.json              what was asked, the environment, each start; at the end the result
//   candidates/<digest>.* kernel files with their tunables fixed, written before the line that names them
//   evaluations.jsonl     one evaluation a line, only ever appended; a later line of a digest stands for it
//   prompts/              what a language model was asked and said
//   results.duckdb        the same evaluations, at most a second behind
//   best.cu | best.py     report.md   plot.svg
//   .lock                 held by the run that writes here
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "evaluation/evaluation.h"
#include "kernel/candidate.h"

namespace recuda {

struct RunFacts {
    std::string task, preset;
    std::string device;       // "vgpu sm_90"
    std::string asked;        // the options, a JSON object
    std::string environment;  // Evaluator::device_description()
};

class RunFolder {
 public:
    enum class Open { fresh, resume };

    /// `fresh` refuses a folder that holds a run; `resume` goes on with the one that is there, drops a torn last line
    /// of evaluations.jsonl, and begins afresh where there is none. Throws Error, for another task's run too; what was
    /// there is then as it was.
    RunFolder(std::filesystem::path path, Open how, RunFacts facts);

    const std::filesystem::path& path() const { return path_; }
    const std::string& run() const { return run_; }
    const RunFacts& facts() const { return facts_; }
    /// In the order of the lines.
    const std::vector<Evaluation>& recorded() const { return recorded_; }

    /// Gives the evaluation its id and what the candidate says of itself, and keeps both. On the disk when it returns.
    void record(Evaluation evaluation, const Candidate& candidate);

    /// The recorded candidate, as candidate_in gives it.
    Candidate candidate(const Evaluation& evaluation) const;

    /// Writes best.cu or best.py and takes an older one of the other language away; gives back its path.
    std::filesystem::path write_best(const Candidate& candidate) const;

    /// Writes the result, a JSON object, into run.json and everything into results.duckdb.
    void finish(const std::string& result);

    std::filesystem::path store() const { return path_ / "results.duckdb"; }

 private:
    std::string read_run(Open how);
    void read_evaluations();
    void write_run(const std::string& old) const;
    void update_store(double wait_s);

    std::filesystem::path path_;
    RunFacts facts_;
    FileLock lock_;
    std::string run_, started_;
    std::vector<Evaluation> recorded_;
    size_t stored_ = 0;  // of recorded_, how many are in results.duckdb
    bool store_known_ = false;
    std::chrono::steady_clock::time_point stored_at_{};
};

/// What a run's folder has recorded, in the order of the lines; nothing in it is touched, and a torn last line does not
/// count. Throws Error for a folder that holds no run and for a damaged line.
std::vector<Evaluation> recorded_in(const std::filesystem::path& folder);

/// The candidate of a recorded evaluation: its kernel file at its only point. Throws Error when the file is missing or
/// is not what its name says.
Candidate candidate_in(const std::filesystem::path& folder, const Evaluation& evaluation);

/// Where a run goes that names no folder: artifacts/runs/<task>/<time>.
std::filesystem::path default_run_folder(const std::string& task);

}  // namespace recuda

#include "store/run_folder.h"

#include <fmt/chrono.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "store/store.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStoreEvery{1};
constexpr double kStoreWait = 0.2, kLastStoreWait = 120;  // seconds

std::string timestamp() { return fmt::format("{:%Y%m%d-%H%M%S}", fmt::gmtime(std::time(nullptr))); }

/// Unique over machines and starts: time and chance.
std::string new_run_id() {
    std::random_device device;
    return fmt::format("{}-{:06x}", timestamp(), device() & 0xffffff);
}

std::string extension(const std::string& language) { return language == "triton" ? ".py" : ".cu"; }

std::string_view name_of(Language language) { return language == Language::triton ? "triton" : "cuda"; }

bool holds_run(const fs::path& path) {
    std::error_code ignored;
    for (const char* name : {"run.json", "evaluations.jsonl", "candidates", "results.duckdb"})
        if (fs::exists(path / name, ignored)) return true;
    return false;
}

bool is_run(const Json& json) {
    const auto has_text = [&](const char* key) { return json.contains(key) && json.at(key).is_string(); };
    return json.is_object() && has_text("run") && has_text("task") && has_text("started") && json.contains("starts") &&
           json.at("starts").is_array();
}

/// Where a candidate lies in a run's folder. What a line of the folder says of it is not gone by.
std::string place_of(const Evaluation& evaluation) {
    if (evaluation.digest.find_first_not_of("0123456789abcdef") != std::string::npos)
        throw Error("{} is no digest", one_line(evaluation.digest, 80));
    return fmt::format("candidates/{}{}", evaluation.digest, extension(evaluation.language));
}

/// The whole lines of evaluations.jsonl.
std::vector<Evaluation> evaluations_of(const std::string& text, const fs::path& file) {
    std::vector<Evaluation> evaluations;
    size_t at = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; at = end + 1, end = text.find('\n', at)) {
        const std::string where = fmt::format("{}:{}", shown(file), evaluations.size() + 1);
        try {
            Evaluation evaluation = evaluation_from_json(parse_json(text.substr(at, end - at), where));
            evaluation.file = place_of(evaluation);
            evaluations.push_back(std::move(evaluation));
        } catch (const Error& error) {
            throw Error("{}: a damaged line ({}); take it out, or name another folder with --out-dir", where,
                        error.what());
        }
    }
    return evaluations;
}

FileLock locked(const fs::path& path) {
    make_folder(path);
    FileLock lock(path / ".lock", FileLock::Wait::never);
    if (!lock.held())
        throw Error("another run is writing to {}: wait for it, or name another folder with --out-dir", shown(path));
    return lock;
}

}  // namespace

RunFolder::RunFolder(fs::path path, Open how, RunFacts facts)
    : path_(std::move(path)), facts_(std::move(facts)), lock_(locked(path_)) {
    run_ = new_run_id();
    started_ = utc_now();
    const std::string old = read_run(how);
    if (!old.empty()) {
        check_store(store());
        read_evaluations();
    }
    write_run(old);  // first: a folder with anything of a run can be resumed
    make_folder(path_ / "candidates");
    make_folder(path_ / "prompts");
    std::error_code ignored;
    if (!fs::exists(path_ / "evaluations.jsonl", ignored)) write_atomically(path_ / "evaluations.jsonl", "");
}

/// run.json as it is, which names run and start; "" where a run begins.
std::string RunFolder::read_run(Open how) {
    if (!holds_run(path_)) return "";
    const fs::path file = path_ / "run.json";
    if (how == Open::fresh)
        throw Error("{} already holds a run: go on with it by --resume, or name another folder with --out-dir",
                    shown(path_));
    std::error_code ignored;
    if (!fs::exists(file, ignored))
        throw Error("{} has no run.json, so it cannot be resumed: name another folder with --out-dir", shown(path_));
    std::string text = read_own_file(file);
    const Json json = parse_json(text, shown(file));
    if (!is_run(json)) throw Error("{} is no run's: name another folder with --out-dir", shown(file));
    if (const std::string task = json.at("task"); task != facts_.task)
        throw Error("{} holds a run of {}, not of {}: name another folder with --out-dir", shown(path_), task,
                    facts_.task);
    run_ = json.at("run");
    started_ = json.at("started");
    return text;
}

void RunFolder::read_evaluations() {
    const fs::path file = path_ / "evaluations.jsonl";
    std::error_code problem;
    if (!fs::exists(file, problem)) return;
    const std::string text = read_own_file(file);
    recorded_ = evaluations_of(text, file);
    // What follows the last line end was cut off when the run was killed.
    const size_t whole = text.rfind('\n') + 1;
    if (whole == text.size()) return;
    fs::resize_file(file, whole, problem);
    if (problem) throw Error("cannot shorten {}: {}", shown(file), problem.message());
}

void RunFolder::write_run(const std::string& old) const {
    Json json = old.empty() ? Json::object() : parse_json(old, "run.json");
    Json start{{"when", utc_now()},
               {"asked", parse_json(facts_.asked.empty() ? "{}" : facts_.asked, "the options")},
               {"preset", facts_.preset},
               {"device", json_text(facts_.device)},
               {"environment",
                Json::accept(facts_.environment) ? Json::parse(facts_.environment) : json_text(facts_.environment)}};
    json["run"] = run_;
    json["task"] = json_text(facts_.task);
    json["started"] = started_;
    json["starts"].push_back(std::move(start));
    json.erase("result");
    write_atomically(path_ / "run.json", dump(json, 2) + "\n");
}

void RunFolder::record(Evaluation evaluation, const Candidate& candidate) {
    evaluation.id = fmt::format("{}-{}", run_, recorded_.size() + 1);
    evaluation.digest = candidate.digest;
    evaluation.origin = candidate.origin;
    evaluation.parent = candidate.parent;
    evaluation.step = candidate.step;
    evaluation.language = name_of(candidate.file->language);
    evaluation.file = place_of(evaluation);
    std::error_code ignored;
    if (!fs::exists(path_ / evaluation.file, ignored))
        write_atomically(path_ / evaluation.file, text_at(*candidate.file, candidate.point));
    const Json line = to_json(evaluation);
    append_line(path_ / "evaluations.jsonl", dump(line));
    recorded_.push_back(evaluation_from_json(line));  // as one who resumes the run finds it
    if (Clock::now() - stored_at_ >= kStoreEvery) update_store(kStoreWait);
}

Candidate RunFolder::candidate(const Evaluation& evaluation) const { return candidate_in(path_, evaluation); }

fs::path RunFolder::write_best(const Candidate& candidate) const {
    const std::string language(name_of(candidate.file->language));
    const fs::path file = path_ / ("best" + extension(language));
    write_atomically(file, text_at(*candidate.file, candidate.point));
    std::error_code problem;
    fs::remove(path_ / ("best" + extension(language == "cuda" ? "triton" : "cuda")), problem);
    if (problem) throw Error("cannot remove the older best file in {}: {}", shown(path_), problem.message());
    return file;
}

void RunFolder::finish(const std::string& result) {
    Json json = parse_json(read_own_file(path_ / "run.json"), "run.json");
    json["result"] = parse_json(result, "the result");
    write_atomically(path_ / "run.json", dump(json, 2) + "\n");
    update_store(kLastStoreWait);
}

/// A store that somebody reads just now is left for the next time; the last time it is waited for.
void RunFolder::update_store(double wait_s) {
    std::vector<StoredEvaluation> rows;
    for (size_t i = stored_; i < recorded_.size(); ++i)
        rows.push_back(stored(run_, recorded_[i], read_own_file(path_ / recorded_[i].file)));
    const std::vector<StoredRun> run{{.run = run_,
                                      .task = facts_.task,
                                      .preset = facts_.preset,
                                      .device = facts_.device,
                                      .out_dir = shown(fs::absolute(path_)),
                                      .started = started_,
                                      .asked = facts_.asked,
                                      .environment = facts_.environment}};
    try {
        Store(store(), Access::write, {.seconds = wait_s}, store_known_ ? Trust::known : Trust::none).add(run, rows);
    } catch (const StoreLocked&) {
        if (wait_s >= kLastStoreWait) throw;
        return;
    }
    store_known_ = true;
    stored_ = recorded_.size();
    stored_at_ = Clock::now();
}

std::vector<Evaluation> recorded_in(const fs::path& folder) {
    const fs::path file = folder / "evaluations.jsonl";
    std::error_code ignored;
    if (!fs::exists(file, ignored)) throw Error("{} holds no run: there is no evaluations.jsonl", shown(folder));
    return evaluations_of(read_own_file(file), file);
}

Candidate candidate_in(const fs::path& folder, const Evaluation& evaluation) {
    const fs::path file = folder / place_of(evaluation);
    auto kernel = std::make_shared<const KernelFile>(read_kernel_file(file));
    Candidate candidate = make_candidate(std::move(kernel), evaluation.tunables, evaluation.origin, evaluation.parent);
    candidate.step = evaluation.step;
    if (candidate.digest != evaluation.digest)
        throw Error("{} was changed: its digest is {}", shown(file), candidate.digest);
    return candidate;
}

fs::path default_run_folder(const std::string& task) {
    const std::string base = task.substr(task.rfind('#') + 1);
    return fs::path("artifacts/runs") / base / new_run_id();
}

}  // namespace recuda

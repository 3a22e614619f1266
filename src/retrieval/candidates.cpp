// Candidates of earlier runs as documents: what each was, how it fared, what was said of it, and its source.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "evaluation/evaluation.h"
#include "retrieval/sources.h"
#include "store/store.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLongestKernel = uint64_t{1} << 20;
constexpr size_t kLongestLine = size_t{64} << 20;
constexpr size_t kShownDigest = 16;
constexpr uint64_t kLongestLog = 4000;
constexpr size_t kMostReports = 12, kMostFailures = 4;

bool is_digest(std::string_view text) {
    return text.size() == 64 && std::all_of(text.begin(), text.end(),
                                            [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string speed_of(const Evaluation& evaluation) {
    std::string text;
    if (evaluation.median_ns) text += fmt::format(", median {:.0f} ns", *evaluation.median_ns);
    if (evaluation.estimate) text += fmt::format(", estimate {:.0f}", *evaluation.estimate);
    for (const Comparison& comparison : evaluation.comparisons)
        if (comparison.axes.empty())
            text += fmt::format(", {:.2f}x {} ({})", comparison.ratio, comparison.baseline, name(comparison.outcome));
    return text;
}

/// What was said against it, most useful first.
std::string diagnostics_of(const Verdict& verdict) {
    std::string text;
    for (size_t i = 0; i < std::min(verdict.reports.size(), kMostReports); ++i) {
        const Report& report = verdict.reports[i];
        text += fmt::format("{}: {} (line {}, buffer {})\n", name(report.check), report.message, report.line,
                            report.buffer);
    }
    size_t failures = 0;
    for (const WorkloadVerdict& workload : verdict.workloads)
        if (!workload.detail.empty() && failures++ < kMostFailures)
            text += fmt::format("{} input: {}\n", workload.input, workload.detail);
    if (!verdict.log.empty()) text += bounded(verdict.log, kLongestLog) + "\n";
    return text;
}

Document candidate_document(const Evaluation& evaluation, std::string_view source, const KnownTasks& known) {
    Document document{.name = fmt::format("candidate:{}/{}", one_line(evaluation.task, 120),
                                          evaluation.digest.substr(0, kShownDigest)),
                      .kind = "candidate",
                      .task = evaluation.task,
                      .language = evaluation.language,
                      .target = evaluation.target,
                      .outcome = std::string(name(evaluation.outcome)),
                      .digest = evaluation.digest,
                      .when = evaluation.when,
                      .title = one_line(evaluation.idea),
                      .median_ns = evaluation.median_ns,
                      .estimate = evaluation.estimate};
    if (const auto task = known.tasks.find(evaluation.task); task != known.tasks.end()) {
        document.op = task->second.op;
        document.family = task->second.family;
        document.words = known.summaries.at(document.op);
    }
    std::string text =
        fmt::format("task {}, op {}, {} for {}, {}\noutcome {}{}\n", evaluation.task, document.op, evaluation.language,
                    evaluation.target, name(evaluation.origin), document.outcome, speed_of(evaluation));
    if (!evaluation.idea.empty()) text += "idea " + document.title + "\n";
    text += diagnostics_of(evaluation.verdict) + "\n";
    text = bounded(text, kLongestText / 2);
    if (text.size() + source.size() <= kLongestText) document.kernel_at = text.size();
    document.text = text + bounded(source, kLongestText - std::min(text.size(), kLongestText / 2));
    return document;
}

/// The candidate's own file in a run's folder; nullopt where it is no plain text file of reasonable length.
std::optional<std::string> kernel_in(const fs::path& folder, const Evaluation& evaluation) {
    const fs::path candidates = folder / "candidates";
    const fs::path file = candidates / (evaluation.digest + (evaluation.language == "triton" ? ".py" : ".cu"));
    std::error_code ignored;
    if (!fs::is_directory(fs::symlink_status(candidates, ignored)) ||
        !fs::is_regular_file(fs::symlink_status(file, ignored)))
        return std::nullopt;
    try {
        return document_text(read_file(file, kLongestKernel));
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// Calls `visit` with each line that is an evaluation; the last of a digest stands for it, so order matters.
template <typename Visit>
void for_each_evaluation(const fs::path& file, Visit&& visit) {
    std::ifstream stream(file);
    if (!stream) throw Error("cannot read {}", shown(file));
    for (std::string line; std::getline(stream, line);) {
        if (line.size() > kLongestLine) continue;
        try {
            const Evaluation evaluation = evaluation_from_json(parse_json(line, shown(file)));
            if (is_digest(evaluation.digest)) visit(evaluation);
        } catch (const std::exception&) {
            // A torn or damaged line is no evaluation; what stands around it is still one each.
        }
    }
}

void read_run(const fs::path& folder, const KnownTasks& known, const TakeDocument& take) {
    std::map<std::string, Document> last;  // by name
    for_each_evaluation(folder / "evaluations.jsonl", [&](const Evaluation& evaluation) {
        if (const auto source = kernel_in(folder, evaluation)) {
            Document document = candidate_document(evaluation, *source, known);
            last[document.name] = std::move(document);
        }
    });
    for (auto& [name, document] : last) take(std::move(document));
}

// The newest evaluation of each candidate for each task.
constexpr char kNewest[] =
    "SELECT run, id FROM evaluations QUALIFY row_number() OVER (PARTITION BY task, digest ORDER BY \"when\" DESC, "
    "stage = 'whole' DESC, id DESC) = 1 ORDER BY run, id";

void read_store_documents(const fs::path& path, const KnownTasks& known, const TakeDocument& take) {
    Store store(path, Access::read, {.seconds = 2});
    const std::vector<Row> newest = store.database().run(kNewest);
    Database::Statement one(store.database(), "SELECT evaluation, source FROM evaluations WHERE run = ? AND id = ?");
    for (const Row& key : newest)
        for (const Row& row : one.run(key)) {
            const std::string evaluation_text = text(row[0]), source = text(row[1]);
            if (evaluation_text.size() > kLongestLine || source.size() > kLongestKernel) continue;
            const auto kernel = document_text(source);
            if (!kernel) continue;
            try {
                const Evaluation evaluation = evaluation_from_json(parse_json(evaluation_text, "an evaluation"));
                if (is_digest(evaluation.digest)) take(candidate_document(evaluation, *kernel, known));
            } catch (const nlohmann::json::exception&) {
                // A row that is no evaluation has nothing to say.
            }
        }
}

}  // namespace

std::vector<Source> run_sources(const fs::path& artifacts, const std::shared_ptr<const KnownTasks>& known) {
    std::vector<Source> all;
    std::error_code problem;
    for (fs::recursive_directory_iterator at(artifacts, fs::directory_options::skip_permission_denied, problem), end;
         !problem && at != end; at.increment(problem)) {
        if (at->path().filename() != "evaluations.jsonl" || !fs::is_regular_file(at->symlink_status())) continue;
        const fs::path folder = at->path().parent_path();
        all.push_back({.key = "run:" + folder.generic_string(),
                       .file = at->path(),
                       .about = "",
                       .read = [folder, known](const TakeDocument& take) { read_run(folder, *known, take); }});
    }
    return all;
}

Source store_source(const fs::path& store, const std::shared_ptr<const KnownTasks>& known) {
    return {.key = "store:" + fs::absolute(store).lexically_normal().generic_string(),
            .file = store,
            .about = "",
            .read = [store, known](const TakeDocument& take) { read_store_documents(store, *known, take); }};
}

}  // namespace recuda

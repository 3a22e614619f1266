#include "search/steps/explore_step.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "judge/evaluator.h"
#include "lm/explore.h"
#include "search/space.h"
#include "search/steps/answer.h"
#include "search/steps/brief.h"
#include "search/steps/diagnostics.h"
#include "task/op.h"
#include "task/task.h"

namespace recuda {
namespace {

constexpr size_t kMostFound = 20, kMostDocumentBytes = 64 << 10, kMostSourceBytes = 32 << 10;
constexpr uint64_t kMostChecks = 12;

constexpr char kQuestion[] =
    "Write a kernel file for the task below that is right and as fast as the GPU allows; submit it as `kernel`, whole, "
    "in a fenced block (several that differ in their idea may be given, each in a block). How a kernel file is written "
    "stands in `kernel_format`: read it first. `evaluations` says what was tried and how it fared; `check(kernel)` "
    "tries a draft.\n\n";

Json number_or_null(const std::optional<double>& value) { return value ? json_number(*value) : Json(); }

/// All of one evaluation that a model may want to look into.
Json shown(const Evaluation& one, const std::string& source) {
    return {{"digest", one.digest},
            {"origin", name(one.origin)},
            {"step", one.step},
            {"parent", json_text(one.parent)},
            {"idea", json_text(one.idea)},
            {"tunables", one.tunables},
            {"outcome", name(one.outcome)},
            {"median_ns", number_or_null(one.median_ns)},
            {"estimate", number_or_null(one.estimate)},
            {"diagnostics", one.outcome == Outcome::correct ? Json("") : json_text(diagnostics(one, source))},
            {"log", json_text(one.verdict.log)},
            {"counters", json_text(one.profile)},
            {"source", json_text(bounded(source, kMostSourceBytes))}};
}

/// The functions of the step and what they showed.
class Functions {
 public:
    Functions(const ExploreParts& parts, const std::stop_token& stop) : parts_(parts), stop_(stop) {}

    std::vector<SessionFunction> all() {
        std::vector<SessionFunction> functions{
            {.name = "check",
             .usage = "check(kernel): a kernel file as text, built and run on small workloads; a table with outcome, "
                      "diagnostics, counters",
             .call = [this](const Json& arguments) { return check(text_of(arguments)); },
             .most_calls = kMostChecks}};
        if (parts_.documents == nullptr) return functions;
        functions.push_back({.name = "search",
                             .usage = "search(query, k): up to k documents of the kernel index, each a table with "
                                      "document, kind, excerpt",
                             .call = [this](const Json& arguments) { return search(arguments); }});
        functions.push_back({.name = "read",
                             .usage = "read(document): the whole text of a document",
                             .call = [this](const Json& arguments) { return read(text_of(arguments)); }});
        return functions;
    }

    std::vector<std::string> documents() const { return {shown_.begin(), shown_.end()}; }

 private:
    static std::string text_of(const Json& arguments) {
        if (arguments.empty() || !arguments[0].is_string()) throw Error("it takes a text");
        return arguments[0].get<std::string>();
    }

    Json search(const Json& arguments) {
        const bool has_count = arguments.size() > 1 && arguments[1].is_number_integer();
        const int64_t count = has_count ? arguments[1].get<int64_t>() : 5;
        Json list = Json::array();
        const IndexQuery query{.text = text_of(arguments),
                               .op = parts_.task.op->name,
                               .at_most = static_cast<size_t>(std::clamp<int64_t>(count, 1, kMostFound))};
        for (const ShownDocument& one : parts_.documents->find(query, false)) {
            shown_.insert(one.found.document);
            list.push_back({{"document", json_text(one.found.document)},
                            {"kind", one.found.kind},
                            {"excerpt", json_text(one.found.excerpt)}});
        }
        return list;
    }

    Json read(const std::string& document) {
        const std::string& text = parts_.documents->text(document);
        shown_.insert(document);
        return json_text(bounded(text, kMostDocumentBytes));
    }

    Json check(const std::string& text) {
        const std::vector<Draft> drafts = drafts_in(text);
        const ReadDraft read = read_draft(drafts.front(), parts_.task);
        if (!read.file) return {{"outcome", "malformed"}, {"diagnostics", json_text(read.problem)}};
        const auto point = first_legal_point(*read.file, parts_.space.workloads(), parts_.space.limits());
        if (!point) return {{"outcome", "launch_refused"}, {"diagnostics", "no point of the tunables is legal"}};
        const Candidate candidate = make_candidate(read.file, *point);
        Json told = Json::object();
        parts_.evaluator.evaluate({&candidate, 1}, Depth::screen, stop_, [&](const Evaluation& one) {
            told = {{"outcome", name(one.outcome)},
                    {"diagnostics",
                     one.outcome == Outcome::correct ? Json("") : json_text(diagnostics(one, read.file->text))},
                    {"counters", json_text(one.profile)}};
        });
        return told;
    }

    const ExploreParts& parts_;
    std::stop_token stop_;
    std::set<std::string> shown_;
};

std::vector<ExploreVariable> variables_of(const ExploreParts& parts, const Prompt& prompt,
                                          std::span<const Evaluation> screened) {
    Json evaluations = Json::array();
    std::string logs;
    for (const Evaluation& one : screened) {
        evaluations.push_back(shown(one, parts.source(one)));
        if (!one.verdict.log.empty())
            logs += fmt::format("== {} {}\n{}\n", one.digest, name(one.outcome), one.verdict.log);
    }
    const auto input = [&](const char* name) { return prompt.inputs.at(name); };
    return {{"task", input("task"), "what is computed"},
            {"reference", input("reference"), "the exact mathematics, as a slow kernel"},
            {"device", input("device"), "the GPU"},
            {"kernel_format", input("kernel_format"), "how a kernel file is written"},
            {"notes", input("notes"), "documents found for the task"},
            {"tried", input("tried"), "what was tried, a line each"},
            {"evaluations", std::move(evaluations),
             "each with digest, origin, idea, tunables, outcome, estimate or median_ns, diagnostics, log, counters, "
             "source"},
            {"logs", json_text(logs), "all their logs, each below its digest"}};
}

}  // namespace

FieldValues explore_proposal(const ExploreParts& parts, const Prompt& prompt, std::span<const Evaluation> screened,
                             const Asking& asking, const std::stop_token& stop) {
    Functions functions(parts, stop);
    ExploreJob job{.question = kQuestion + prompt.inputs.at("task").get<std::string>(),
                   .variables = variables_of(parts, prompt, screened),
                   .functions = functions.all(),
                   .bounds = {},
                   .seed = parts.seed,
                   .worker_command = parts.worker,
                   .asking = asking,
                   .documents = [&] {
                       std::vector<std::string> all = prompt.documents;
                       for (std::string& one : functions.documents()) all.push_back(std::move(one));
                       return all;
                   }};
    return explore(job, parts.program, parts.model, stop).values;
}

}  // namespace recuda

// `cuda-rlm replay`: a recorded evaluation, judged again.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/paths.h"
#include "build/builder.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/device_choice.h"
#include "device/device.h"
#include "judge/judge.h"
#include "judge/replay.h"
#include "report/table.h"
#include "store/results.h"
#include "store/run_folder.h"
#include "store/store.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

struct ReplayWords {
    std::string id, out_dir, db, task;
    DeviceChoice device;

    bool parse(CommandLine& line) {
        line.word("ID", id, "The `id` of a line of evaluations.jsonl, or a digest or its beginning", true);
        line.option("--out-dir", "D", out_dir, "The run's folder; default: where the main store says that it is");
        line.option("--db", "FILE", db, "Main store; default: RECUDA_DB, else results.duckdb in the current folder");
        line.option("--task", "NAME", task, "The task, where its file has moved since; default: as recorded");
        device.declare(line);
        line.example("cuda-rlm replay 3fa9c1 --out-dir artifacts/rmsnorm");
        return line.parse();
    }
};

/// The line with this id, else the last one of the candidate with this digest or unique beginning of one.
Evaluation stored_evaluation(const std::vector<Evaluation>& recorded, const std::string& id, const std::string& where) {
    const Evaluation* found = nullptr;
    for (const Evaluation& one : recorded) {
        if (one.id == id) return one;
        if (!one.digest.starts_with(id)) continue;
        if (found != nullptr && found->digest != one.digest)
            throw Error("more than one candidate of {} has a digest that begins with {}; give more of it", where, id);
        found = &one;
    }
    if (found == nullptr || id.empty())
        throw Error("{} has no evaluation {}: give the id of a line of its evaluations.jsonl, or a digest", where, id);
    return *found;
}

/// What is held against each other, of a stored evaluation or of a new one.
Json facts_of(const Evaluation& evaluation) {
    Json comparisons = Json::array();
    for (const Comparison& comparison : evaluation.comparisons) comparisons.push_back(to_json(comparison));
    return {{"outcome", name(evaluation.outcome)},
            {"stage", evaluation.stage},
            {"device", json_text(evaluation.device)},
            {"when", evaluation.when},
            {"log", json_text(evaluation.verdict.log)},
            {"median_ns", evaluation.median_ns ? json_number(*evaluation.median_ns) : Json()},
            {"comparisons", std::move(comparisons)}};
}

/// The same judgement: as far as it went, with the filter that it had, and its proof where it has one and this device
/// has a clock.
Evaluation judged_again(const Evaluation& stored, const Candidate& candidate, const Task& task,
                        const ReplayWords& words, const std::stop_token& stop) {
    JudgeOptions options{.target = words.device.target, .seed = words.device.seed, .baselines = {}};
    for (const Proof& proof : stored.proofs) options.baselines.push_back(proof.baseline);
    std::unique_ptr<Device> device = make_device(words.device);
    if (stored.filter) options.filter_device = filter_for(device->info());
    if (options.target.empty() && device->info().kind == DeviceKind::vgpu) options.target = stored.target;
    const std::unique_ptr<Builder> builder = make_builder();
    const std::unique_ptr<Evaluator> judge = make_judge(task, std::move(device), *builder, options);
    const Depth depth = stored.stage == "screen" ? Depth::screen : Depth::whole;
    std::optional<Evaluation> again;
    judge->evaluate(std::span(&candidate, 1), depth, stop, [&](Evaluation one) { again = std::move(one); });
    if (again && again->outcome == Outcome::correct && !stored.proofs.empty() && judge->measures_time()) {
        std::optional<Evaluation> proven = judge->prove(candidate, *again, {stored.proofs.front().promotion, stop, {}});
        if (!proven && stop.stop_requested()) again.reset();
        if (proven) again = std::move(proven);
    }
    if (!again) throw Error("interrupted before {} was judged again", stored.id);
    return *again;
}

std::string story(const Json& document, const Evaluation& stored, const Evaluation& again) {
    std::string text = fmt::format("{} of {}, recorded as {}\n", short_digest(stored.digest), stored.task, stored.id);
    const auto row = [&](const char* which, const Evaluation& one) {
        text += fmt::format("  {:<7} {:<12} {:<7} on {}{}\n", which, name(one.outcome), one.stage, one.device,
                            one.median_ns ? ", median " + shown_time(*one.median_ns) : "");
        for (const Comparison& comparison : one.comparisons)
            if (comparison.axes.empty()) text += fmt::format("          {}\n", shown(comparison));
    };
    row("stored", stored);
    row("again", again);
    if (!stored.proofs.empty()) text += "  its verdicts were computed again from its samples\n";
    for (const Json& why : document.at("why")) text += fmt::format("  {}\n", why.get<std::string>());
    return text + (document.at("agrees").get<bool>() ? "agrees\n" : "does not agree\n");
}

}  // namespace

int replay_command(CommandLine& line) {
    ReplayWords words;
    if (!words.parse(line)) return 0;
    const std::stop_token stop = stop_on_interrupt();
    std::string wanted = words.id;
    std::filesystem::path folder = words.out_dir;
    if (words.out_dir.empty()) {
        const Recorded place = recorded(main_store(words.db), words.id);
        folder = place.out_dir;
        wanted = place.id;
    }
    const Evaluation stored = stored_evaluation(recorded_in(folder), wanted, shown(folder));
    const Candidate candidate = candidate_in(folder, stored);
    const Task task = Catalogue(home_folder()).task(words.task.empty() ? stored.task : words.task);

    std::vector<std::string> why = miscalculated(stored);
    Evaluation again;
    try {
        again = judged_again(stored, candidate, task, words, stop);
    } catch (const Error&) {
        if (stop.stop_requested()) return 130;
        throw;
    }
    for (std::string& one : contradictions(stored, again)) why.push_back(std::move(one));
    Json computed = Json::array();
    for (const Comparison& comparison : recomputed(stored)) computed.push_back(to_json(comparison));
    Json document{{"id", json_text(words.id)},         {"evaluation", json_text(stored.id)},
                  {"digest", stored.digest},           {"task", json_text(stored.task)},
                  {"stored", facts_of(stored)},        {"again", facts_of(again)},
                  {"recomputed", std::move(computed)}, {"agrees", why.empty()}};
    document["why"] = Json::array();
    for (const std::string& one : why) document["why"].push_back(json_text(one));
    if (line.json())
        print_json(document);
    else
        print_text(story(document, stored, again));
    return why.empty() ? 0 : 3;
}

}  // namespace recuda

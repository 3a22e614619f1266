#include "report/model_section.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "report/table.h"
#include "store/run_folder.h"

namespace recuda {
namespace {

constexpr uint64_t kMostFactsBytes = 16 << 20;

std::string value_of(const std::optional<double>& value, bool is_time) {
    if (!value) return "-";
    return is_time ? shown_time(*value) : fmt::format("{:.4g}", *value);
}

std::string steps(const ModelUse& use, bool is_time) {
    Table table{.titles = {"step", "answers", "candidates", "right", "best", "digest", "gain"},
                .right = {false, true, true, true, true, false, true}};
    for (const StepGain& step : use.steps)
        table.rows.push_back({step.step, step.asked == 0 ? "-" : fmt::format("{}", step.asked),
                              fmt::format("{}", step.candidates), fmt::format("{}", step.right),
                              value_of(step.best, is_time), short_digest(step.best_digest),
                              fmt::format("{:.3f}x", step.gain)});
    return markdown(table) +
           "\nA step's gain is the product over its records: the best of the search before, over the "
           "record. Screenings, no proof.\n\n";
}

std::string prompt_table(const std::vector<AskedPrompt>& prompts) {
    Table table{.titles = {"prompt", "step", "state", "tokens", "documents shown"},
                .right = {false, false, false, true, false}};
    for (const AskedPrompt& prompt : prompts)
        table.rows.push_back({fmt::format("[{}](prompts/{}.prompt.md)", prompt.number, prompt.number), prompt.step,
                              prompt.state, fmt::format("{}", prompt.tokens), joined(prompt.documents, ", ")});
    return table.rows.empty() ? "" : markdown(table) + "\n";
}

AskedPrompt prompt_from(const Json& facts, const std::string& number) {
    AskedPrompt prompt{.number = number, .step = one_line(facts.at("step").get<std::string>(), 80)};
    prompt.state = one_line(facts.at("state").get<std::string>(), 80);
    for (const Json& document : facts.at("documents"))
        prompt.documents.push_back(one_line(document.get<std::string>(), 200));
    if (facts.contains("usage"))
        prompt.tokens = facts.at("usage").value("input_tokens", uint64_t{0}) +
                        facts.at("usage").value("output_tokens", uint64_t{0});
    return prompt;
}

}  // namespace

std::vector<AskedPrompt> asked_prompts(const RunFolder& folder) {
    std::vector<AskedPrompt> prompts;
    std::error_code problem;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "prompts", problem)) {
        if (entry.path().extension() != ".json") continue;
        try {
            const Json facts = parse_json(read_own_file(entry.path(), kMostFactsBytes), "a prompt's facts");
            prompts.push_back(prompt_from(facts, entry.path().stem()));
        } catch (const std::exception&) {
            continue;  // a record is for people: what cannot be read of it is no reason to lose a report
        }
    }
    std::sort(prompts.begin(), prompts.end(),
              [](const AskedPrompt& a, const AskedPrompt& b) { return a.number < b.number; });
    return prompts;
}

std::string shown(const ModelAgainstSeed& pair) {
    std::string text = fmt::format("{} is {:.2f}x as fast as {}", short_digest(pair.model_digest), pair.ratio,
                                   short_digest(pair.seed_digest));
    if (pair.low && pair.high) text += fmt::format(" ({:.2f} to {:.2f})", *pair.low, *pair.high);
    return text + ", by " + pair.evidence;
}

std::string model_section(const RunResult& result, const std::vector<AskedPrompt>& prompts) {
    if (!result.model) return "";
    const ModelUse& use = *result.model;
    std::string text = fmt::format(
        "## The language model\n\n- model: {} (preset {})\n- {} calls, {} answers from "
        "caches and records, {} tokens in, {} out",
        use.model.empty() ? "not named" : one_line(use.model, 120), result.preset, use.calls, use.cached,
        use.input_tokens, use.output_tokens);
    text += use.cost_usd > 0 ? fmt::format(", {:.4f} USD\n", use.cost_usd) : ", cost not known\n";
    if (!use.off.empty()) text += fmt::format("- left out before the end: {}\n", use.off);
    for (const std::string& problem : use.problems) text += fmt::format("- {}\n", problem);
    text += use.against_seed ? fmt::format("- its best against the best seed: {}\n\n", shown(*use.against_seed))
                             : "- none of its kernels and a seed are both right, so there is nothing to compare\n\n";
    return text + steps(use, result.measures_time) + prompt_table(prompts);
}

}  // namespace recuda

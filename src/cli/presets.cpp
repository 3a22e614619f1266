// `cuda-rlm presets`: which language models a search could ask, and whether they work here.
#include "lm/preset.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/lm_words.h"
#include "lm/open.h"

namespace recuda {
namespace {

void print_table(const std::vector<Preset>& presets) {
    print_text(fmt::format("{:<18} {:<8} {:<9} {}\n", "PRESET", "KIND", "STATE", ""));
    bool has_default = false;
    for (const Preset& preset : presets) {
        const std::string why = preset.why_unusable();
        const bool is_default = why.empty() && !has_default;
        has_default |= is_default;
        print_text(fmt::format("{:<18} {:<8} {:<9} {}{}\n", preset.name, name(preset.kind),
                               why.empty() ? "usable" : "unusable", is_default ? "the default; " : "",
                               why.empty() ? preset.summary : why));
    }
}

LmResponse ask_once(const Preset& preset, LmOptions options) {
    const std::stop_token stop = stop_on_interrupt();
    options.attempts = 1;
    LmRequest request{.step = "check"};
    request.messages = {{"user", "Answer with the one word: ready"}};
    return open_model(preset, options)->complete(request, stop);
}

/// `--check`: exactly one real call. Without a model there is nothing to call.
int check(const Preset& preset, const LmOptions& options, bool json) {
    Json told{{"name", preset.name}, {"kind", name(preset.kind)}, {"usable", true}};
    std::string words = "works: it asks no model";
    if (preset.kind != PresetKind::offline) {
        const LmResponse answer = ask_once(preset, options);
        words = fmt::format("works: {}answered \"{}\"", answer.model.empty() ? "" : answer.model + " ",
                            one_line(answer.text, 60));
        told.update({{"model", json_text(answer.model)},
                     {"answer", json_text(answer.text)},
                     {"tokens", answer.usage.tokens()},
                     {"tokens_are_estimated", !answer.usage.reported},
                     {"usd", answer.usage.cost_usd}});
    }
    told["why"] = words;
    if (json)
        print_json(told);
    else
        print_text(fmt::format("{} {}\n", preset.name, words));
    return 0;
}

int check_or_stop(const Preset& preset, const LmOptions& options, bool json) {
    constexpr int kInterrupted = 130;
    try {
        return check(preset, options, json);
    } catch (const LmError& error) {
        if (error.fault == LmFault::stopped) return kInterrupted;
        throw Error("the preset {} did not answer: {}", preset.name, error.what());
    }
}

}  // namespace

int presets_command(CommandLine& line) {
    std::string chosen;
    bool checked = false;
    LmWords words;
    line.option("--preset", "NAME", chosen, "The preset to check");
    line.flag("--check", checked, "Make exactly one call with it");
    words.declare(line);
    line.example("cuda-rlm presets --preset local --base-url http://127.0.0.1:8080/v1 --check");
    if (!line.parse()) return 0;
    if (checked != !chosen.empty()) throw UsageError("--preset NAME and --check go together");
    const std::vector<Preset> presets = read_presets(preset_folders());
    if (checked) return check_or_stop(usable_preset(presets, chosen), words.options(), line.json());
    if (line.json())
        print_json(to_json(presets));
    else
        print_table(presets);
    return 0;
}

}  // namespace recuda

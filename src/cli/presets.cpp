// `cuda-rlm presets`: which language models a search could ask, and whether they work here.
#include "lm/preset.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "cli/command_line.h"
#include "cli/commands.h"

namespace recuda {
namespace {

std::string line_of(const Preset& preset, const Preset* first_usable) {
    const std::string why = preset.why_unusable();
    return fmt::format("{:<18} {:<8} {:<9} {}{}\n", preset.name, name(preset.kind), why.empty() ? "usable" : "unusable",
                       &preset == first_usable ? "the default; " : "", why.empty() ? preset.summary : why);
}

/// `--check`: one real call. Without a model there is nothing to call.
int check(const Preset& preset, bool json) {
    if (preset.kind != PresetKind::offline) throw Error("preset {}: {}", preset.name, preset.why_unusable());
    const std::string words = "works: it asks no model";
    if (json)
        print_json({{"name", preset.name}, {"usable", true}, {"why", words}});
    else
        print_text(fmt::format("{} {}\n", preset.name, words));
    return 0;
}

}  // namespace

int presets_command(CommandLine& line) {
    std::string chosen;
    bool checked = false;
    line.option("--preset", "NAME", chosen, "The preset to check");
    line.flag("--check", checked, "Make exactly one call with it");
    line.example("cuda-rlm presets");
    if (!line.parse()) return 0;
    if (checked != !chosen.empty()) throw UsageError("--preset NAME and --check go together");
    const std::vector<Preset> presets = read_presets(preset_folders());
    if (checked) return check(usable_preset(presets, chosen), line.json());
    if (line.json()) {
        print_json(to_json(presets));
        return 0;
    }
    const Preset* first_usable = nullptr;
    for (const Preset& preset : presets)
        if (first_usable == nullptr && preset.why_unusable().empty()) first_usable = &preset;
    print_text(fmt::format("{:<18} {:<8} {:<9} {}\n", "PRESET", "KIND", "STATE", ""));
    for (const Preset& preset : presets) print_text(line_of(preset, first_usable));
    return 0;
}

}  // namespace recuda

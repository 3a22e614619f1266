#include "lm/preset.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "lm/endpoint.h"
#include "lm/http.h"
#include "lm/programs.h"
#include "lm/secrets.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

std::string what_a_server_lacks(const Preset& preset) {
    if (!preset.api_key_env.empty() && environment_value(preset.api_key_env.c_str()).empty())
        return fmt::format("set {} to your key", preset.api_key_env);
    return why_no_http();
}

}  // namespace

std::string Preset::what_is_missing() const {
    switch (kind) {
        case PresetKind::http:
            return what_a_server_lacks(*this);
        case PresetKind::cli:
            return what_a_program_lacks(*this);
        case PresetKind::mailbox:
        case PresetKind::replay:
        case PresetKind::offline:
            return "";
    }
    return "";
}

std::string Preset::why_unusable() const {
    std::string missing = what_is_missing();
    if (!missing.empty() || kind != PresetKind::http || is_listening(base_url)) return missing;
    return fmt::format("nothing listens at {}; start a server there or name another with --base-url", base_url);
}

std::vector<fs::path> preset_folders() {
    std::vector<fs::path> folders{home_folder() / "presets"};
    const char* config = std::getenv("XDG_CONFIG_HOME");
    const char* home = std::getenv("HOME");
    if (config != nullptr && fs::path(config).is_absolute())
        folders.push_back(fs::path(config) / "recuda/presets");
    else if (home != nullptr && *home != '\0')
        folders.push_back(fs::path(home) / ".config/recuda/presets");
    return folders;
}

std::vector<Preset> read_presets(const std::vector<fs::path>& folders) {
    std::map<std::string, fs::path> files;
    for (const fs::path& folder : folders) {
        std::error_code problem;
        for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem))
            if (entry->path().extension() == ".toml") files[entry->path().stem()] = entry->path();
    }
    std::vector<Preset> presets;
    for (const auto& [stem, file] : files) presets.push_back(read_preset(file));
    std::stable_sort(presets.begin(), presets.end(),
                     [](const Preset& a, const Preset& b) { return a.preference < b.preference; });
    return presets;
}

const Preset* default_preset(const std::vector<Preset>& presets) {
    const auto found =
        std::find_if(presets.begin(), presets.end(), [](const Preset& p) { return p.why_unusable().empty(); });
    return found == presets.end() ? nullptr : &*found;
}

Preset usable_preset(const std::vector<Preset>& presets, const std::string& name) {
    if (name.empty()) {
        if (const Preset* first = default_preset(presets)) return *first;
        throw Error("no preset can be used here; `cuda-rlm presets` says why");
    }
    std::vector<std::string> names;
    for (const Preset& preset : presets) {
        names.push_back(preset.name);
        if (preset.name != name) continue;
        if (const std::string why = preset.what_is_missing(); !why.empty())
            throw Error("the preset {} cannot be used here: {}", name, why);
        return preset;
    }
    throw UsageError("there is no preset {}{}; `cuda-rlm presets` lists them", name, did_you_mean(name, names));
}

Json to_json(const std::vector<Preset>& presets) {
    Json list = Json::array();
    bool has_default = false;
    for (const Preset& preset : presets) {
        const std::string why = preset.why_unusable();
        list.push_back({{"name", preset.name},
                        {"kind", name(preset.kind)},
                        {"summary", json_text(preset.summary)},
                        {"default", why.empty() && !has_default},
                        {"usable", why.empty()},
                        {"why", json_text(why)},
                        {"file", shown(preset.file)}});
        has_default |= why.empty();
    }
    return list;
}

}  // namespace recuda

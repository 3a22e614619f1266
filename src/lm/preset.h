// Presets: which language model a search talks to, or none. TOML files in presets/ of the home folder, and in
// ~/.config/recuda/presets/ (XDG_CONFIG_HOME obeyed), where a file of the same name stands for the one of the program:
//
//   kind        = "http"                           offline, http, cli, mailbox, replay
//   summary     = "one line for people"
//   base_url    = "http://127.0.0.1:8000/v1"       http
//   model       = "glm-5"                          http; "": what the server offers
//   api_key_env = "ZAI_API_KEY"                    http; none: no key is sent
//   program     = "codex"                          cli
//   preference  = 10                               a run without a preset takes the usable one with the smallest
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

enum class PresetKind { cli, http, mailbox, replay, offline };
std::string_view name(PresetKind kind);

struct Preset {
    std::string name;  // the file's
    PresetKind kind = PresetKind::offline;
    std::string summary, base_url, model, api_key_env, program;
    int64_t preference = 1000;
    std::filesystem::path file;

    /// "" when it can be used here and now, else why not and what to do.
    std::string why_unusable() const;
};

/// The folders that presets are read from, the program's own first.
std::vector<std::filesystem::path> preset_folders();

/// Every preset, by preference, then by name. Throws Error "FILE:LINE:COLUMN: …" for a malformed file.
std::vector<Preset> read_presets(const std::vector<std::filesystem::path>& folders);

/// The preset of that name; "" is the first one that works here. Throws UsageError with the nearest name for an unknown
/// one, Error that names it and says why for one that cannot be used here.
Preset usable_preset(const std::vector<Preset>& presets, const std::string& name);

/// The contract's list for `presets`; the one that a run without a preset takes is the default.
nlohmann::json to_json(const std::vector<Preset>& presets);

}  // namespace recuda

// Presets: which language model a search talks to, or none. TOML files in presets/ of the home folder, and in
// ~/.config/recuda/presets/ (XDG_CONFIG_HOME obeyed), where a file of the same name stands for the one of the program.
// docs/formats.md lists the keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

enum class PresetKind { cli, http, mailbox, replay, offline };
std::string_view name(PresetKind kind);

struct Preset {
    std::string name;  // the file's
    PresetKind kind = PresetKind::offline;
    std::string summary;
    std::string model;  // "": what the other side offers
    int64_t preference = 1000;
    std::filesystem::path file;

    // http
    std::string base_url, api_key_env;  // api_key_env "": no key is sent
    std::string body = "{}";            // a JSON object whose members go into each request
    int64_t max_answer_tokens = 0;      // 0: not said
    std::string max_tokens_field = "max_tokens";
    bool sends_temperature = true;
    double max_temperature = 2;  // a higher one is lowered to it

    // cli
    std::string program;
    std::string dialect;  // "codex", "qwen", "claude": whose command line the program has; "": as its name says
    std::string effort;   // how hard to think, where the program has a word for it

    double max_seconds = 600;                                             // of one call
    std::optional<double> input_usd_per_million, output_usd_per_million;  // prices of `model`'s tokens

    /// "" when all is here that it needs, else what is missing and what to do: a program, a login, a key, a library.
    std::string what_is_missing() const;

    /// "" when it can be used here and now: nothing is missing, and where it asks a server of this machine, there is
    /// one. Quick, and asks no model.
    std::string why_unusable() const;
};

/// The folders that presets are read from, the program's own first.
std::vector<std::filesystem::path> preset_folders();

/// Every preset, by preference, then by name. Throws Error "FILE:LINE:COLUMN: …" for a malformed file.
std::vector<Preset> read_presets(const std::vector<std::filesystem::path>& folders);

/// One file. Throws as read_presets.
Preset read_preset(const std::filesystem::path& file);

/// The preset that a run without one takes, or null: the first that can be used here.
const Preset* default_preset(const std::vector<Preset>& presets);

/// The preset of that name; "" is the default one. Throws UsageError with the nearest name for an unknown one, Error
/// that names it and says what is missing. A server that does not answer is no reason here: a run outlives it.
Preset usable_preset(const std::vector<Preset>& presets, const std::string& name);

/// The contract's list for `presets`.
nlohmann::json to_json(const std::vector<Preset>& presets);

}  // namespace recuda

#include "lm/preset.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kKinds{"cli", "http", "mailbox", "replay", "offline"};

// A text key and where it goes.
struct TextKey {
    const char* name;
    std::string Preset::*member;
};
constexpr TextKey kTextKeys[] = {{"summary", &Preset::summary},
                                 {"base_url", &Preset::base_url},
                                 {"model", &Preset::model},
                                 {"api_key_env", &Preset::api_key_env},
                                 {"program", &Preset::program}};

/// A preset's file as it is read: every complaint names file, line and column.
class Reader {
 public:
    explicit Reader(const fs::path& file) : file_(file) {}

    Preset read() const {
        const toml::table table = parse();
        Preset preset{.name = shown(file_.stem()), .file = file_};
        allow_keys(table);
        preset.kind = kind(table);
        for (const TextKey& key : kTextKeys) {
            const toml::node* node = table.get(key.name);
            if (node == nullptr) continue;
            if (!node->is_string()) fail(node->source().begin, fmt::format("`{}` must be a text in quotes", key.name));
            preset.*key.member = node->ref<std::string>();
        }
        if (const toml::node* node = table.get("preference")) {
            if (!node->is_integer()) fail(node->source().begin, "`preference` must be a whole number");
            preset.preference = node->ref<int64_t>();
        }
        require(preset.kind == PresetKind::http, preset.base_url, "an http preset needs `base_url`");
        require(preset.kind == PresetKind::cli, preset.program, "a cli preset needs `program`");
        return preset;
    }

 private:
    [[noreturn]] void fail(const toml::source_position& at, std::string_view what) const {
        throw Error("{}:{}:{}: {}", shown(file_), at.line, at.column, what);
    }

    toml::table parse() const {
        const std::string text = read_file(file_);
        try {
            return toml::parse(text);
        } catch (const toml::parse_error& error) {
            fail(error.source().begin, error.description());
        }
    }

    void allow_keys(const toml::table& table) const {
        std::vector<std::string> known{"kind", "preference"};
        for (const TextKey& key : kTextKeys) known.emplace_back(key.name);
        for (const auto& [key, node] : table)
            if (std::find(known.begin(), known.end(), key.str()) == known.end())
                fail(key.source().begin,
                     fmt::format("there is no key {}{}", key.str(), did_you_mean(key.str(), known)));
    }

    PresetKind kind(const toml::table& table) const {
        const std::vector<std::string> kinds(kKinds.begin(), kKinds.end());
        const toml::node* node = table.get("kind");
        if (node == nullptr || !node->is_string())
            fail(node == nullptr ? toml::source_position{1, 1} : node->source().begin,
                 fmt::format("`kind` must be one of {}", joined(kinds, ", ")));
        const std::string& word = node->ref<std::string>();
        const auto found = std::find(kinds.begin(), kinds.end(), word);
        if (found == kinds.end())
            fail(node->source().begin, fmt::format("there is no kind {}{}; it is one of {}", word,
                                                   did_you_mean(word, kinds), joined(kinds, ", ")));
        return static_cast<PresetKind>(found - kinds.begin());
    }

    void require(bool needed, const std::string& value, std::string_view what) const {
        if (needed && value.empty()) fail({1, 1}, what);
    }

    fs::path file_;
};

const Preset* first_usable(const std::vector<Preset>& presets) {
    const auto found =
        std::find_if(presets.begin(), presets.end(), [](const Preset& p) { return p.why_unusable().empty(); });
    return found == presets.end() ? nullptr : &*found;
}

}  // namespace

std::string_view name(PresetKind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::string Preset::why_unusable() const {
    return kind == PresetKind::offline
               ? ""
               : "language-model back ends are not part of this version yet; --preset offline searches without one";
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
    for (const auto& [stem, file] : files) presets.push_back(Reader(file).read());
    std::stable_sort(presets.begin(), presets.end(),
                     [](const Preset& a, const Preset& b) { return a.preference < b.preference; });
    return presets;
}

Preset usable_preset(const std::vector<Preset>& presets, const std::string& name) {
    if (name.empty()) {
        if (const Preset* first = first_usable(presets)) return *first;
        throw Error("no preset can be used here; `cuda-rlm presets` says why");
    }
    std::vector<std::string> names;
    for (const Preset& preset : presets) {
        names.push_back(preset.name);
        if (preset.name != name) continue;
        if (const std::string why = preset.why_unusable(); !why.empty())
            throw Error("the preset {} cannot be used here: {}", name, why);
        return preset;
    }
    throw UsageError("there is no preset {}{}; `cuda-rlm presets` lists them", name, did_you_mean(name, names));
}

Json to_json(const std::vector<Preset>& presets) {
    const Preset* standard = first_usable(presets);
    Json list = Json::array();
    for (const Preset& preset : presets) {
        const std::string why = preset.why_unusable();
        list.push_back({{"name", preset.name},
                        {"kind", name(preset.kind)},
                        {"summary", json_text(preset.summary)},
                        {"default", &preset == standard},
                        {"usable", why.empty()},
                        {"why", why},
                        {"file", shown(preset.file)}});
    }
    return list;
}

}  // namespace recuda

// A preset's file as it is read: every complaint names file, line and column.
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <variant>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "lm/endpoint.h"
#include "lm/preset.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kKinds{"cli", "http", "mailbox", "replay", "offline"};

/// A key, where its value goes, and the kind that has it; offline: every kind.
struct Key {
    const char* name;
    std::variant<std::string Preset::*, int64_t Preset::*, double Preset::*, std::optional<double> Preset::*,
                 bool Preset::*>
        member;
    PresetKind of = PresetKind::offline;
};
const Key kKeys[] = {{"summary", &Preset::summary},
                     {"model", &Preset::model},
                     {"preference", &Preset::preference},
                     {"max_seconds", &Preset::max_seconds},
                     {"input_usd_per_million", &Preset::input_usd_per_million},
                     {"output_usd_per_million", &Preset::output_usd_per_million},
                     {"base_url", &Preset::base_url, PresetKind::http},
                     {"api_key_env", &Preset::api_key_env, PresetKind::http},
                     {"max_answer_tokens", &Preset::max_answer_tokens, PresetKind::http},
                     {"max_tokens_field", &Preset::max_tokens_field, PresetKind::http},
                     {"sends_temperature", &Preset::sends_temperature, PresetKind::http},
                     {"max_temperature", &Preset::max_temperature, PresetKind::http},
                     {"program", &Preset::program, PresetKind::cli},
                     {"dialect", &Preset::dialect, PresetKind::cli},
                     {"effort", &Preset::effort, PresetKind::cli}};

class Reader {
 public:
    explicit Reader(const fs::path& file) : file_(file) {}

    Preset read() const {
        const toml::table table = parse();
        Preset preset{.name = shown(file_.stem()), .file = file_};
        preset.kind = kind(table);
        allow_keys(table, preset.kind);
        for (const Key& key : kKeys)
            if (const toml::node* node = table.get(key.name))
                std::visit([&](auto member) { take(*node, key.name, preset.*member); }, key.member);
        if (const toml::node* node = table.get("body")) preset.body = body(*node);
        require(preset.kind == PresetKind::http, preset.base_url, "an http preset needs `base_url`");
        require(preset.kind == PresetKind::cli, preset.program, "a cli preset needs `program`");
        check(table, preset);
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

    void allow_keys(const toml::table& table, PresetKind kind) const {
        std::vector<std::string> known{"kind"};
        for (const Key& key : kKeys)
            if (key.of == PresetKind::offline || key.of == kind) known.emplace_back(key.name);
        if (kind == PresetKind::http) known.emplace_back("body");
        for (const auto& [key, node] : table)
            if (std::find(known.begin(), known.end(), key.str()) == known.end())
                fail(key.source().begin, fmt::format("a preset of the kind {} has no key {}{}", name(kind), key.str(),
                                                     did_you_mean(key.str(), known)));
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

    void take(const toml::node& node, const char* key, std::string& to) const {
        if (!node.is_string()) fail(node.source().begin, fmt::format("`{}` must be a text in quotes", key));
        to = node.ref<std::string>();
    }
    void take(const toml::node& node, const char* key, int64_t& to) const {
        if (!node.is_integer()) fail(node.source().begin, fmt::format("`{}` must be a whole number", key));
        to = node.ref<int64_t>();
    }
    void take(const toml::node& node, const char* key, double& to) const {
        const std::optional<double> value = node.value<double>();
        if (!node.is_number() || !value || !(*value >= 0) || std::isinf(*value))
            fail(node.source().begin, fmt::format("`{}` must be a number, 0 or more", key));
        to = *value;
    }
    void take(const toml::node& node, const char* key, std::optional<double>& to) const {
        take(node, key, to.emplace());
    }
    void take(const toml::node& node, const char* key, bool& to) const {
        if (!node.is_boolean()) fail(node.source().begin, fmt::format("`{}` must be true or false", key));
        to = node.ref<bool>();
    }

    std::string body(const toml::node& node) const {
        if (!node.is_table()) fail(node.source().begin, "`body` must be a table of a request's further members");
        for (const char* own : {"model", "messages", "stream"})
            if (const toml::node* member = node.as_table()->get(own))
                fail(member->source().begin,
                     fmt::format("`body` cannot hold {}, which each request has its own of", own));
        std::ostringstream text;
        text << toml::json_formatter{*node.as_table()};
        return dump(parse_json(text.str(), shown(file_)));
    }

    void check(const toml::table& table, const Preset& preset) const {
        const auto at = [&](const char* key) { return table.get(key)->source().begin; };
        if (const std::string why = preset.base_url.empty() ? "" : why_no_endpoint(preset.base_url); !why.empty())
            fail(at("base_url"), why);
        if (table.contains("max_answer_tokens") && preset.max_answer_tokens < 1)
            fail(at("max_answer_tokens"), "`max_answer_tokens` must be 1 or more");
        if (!(preset.max_seconds > 0)) fail(at("max_seconds"), "`max_seconds` must be more than 0");
    }

    void require(bool needed, const std::string& value, std::string_view what) const {
        if (needed && value.empty()) fail({1, 1}, what);
    }

    fs::path file_;
};

}  // namespace

std::string_view name(PresetKind kind) { return kKinds[static_cast<size_t>(kind)]; }

Preset read_preset(const fs::path& file) { return Reader(file).read(); }

}  // namespace recuda

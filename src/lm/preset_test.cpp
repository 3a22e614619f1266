#include "lm/preset.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

TEST(Preset, the_programs_own_are_whole) {
    const std::vector<Preset> presets = read_presets({fs::path(RECUDA_SOURCE_DIR) / "presets"});
    std::set<std::string> names;
    int defaults = 0;
    for (const auto& preset : to_json(presets)) {
        names.insert(preset.at("name"));
        defaults += preset.at("default").get<bool>();
        EXPECT_EQ(preset.at("usable"), preset.at("kind") == "offline");
        EXPECT_EQ(preset.at("usable").get<bool>(), preset.at("why").get<std::string>().empty());
    }
    EXPECT_EQ(defaults, 1);
    EXPECT_EQ(names, (std::set<std::string>{"offline", "zai-glm5-dspy", "openai", "local", "codex-dspy",
                                            "qwen-cli-dspy", "claude-cli-dspy", "mailbox", "replay"}));
    EXPECT_EQ(usable_preset(presets, "").name, "offline");
    EXPECT_EQ(usable_preset(presets, "offline").kind, PresetKind::offline);
}

std::string refusal(const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(Preset, an_unknown_one_is_wrong_usage_and_an_unusable_one_says_why) {
    const std::vector<Preset> presets = read_presets({fs::path(RECUDA_SOURCE_DIR) / "presets"});
    EXPECT_THROW(usable_preset(presets, "offlin"), UsageError);
    EXPECT_NE(refusal([&] { usable_preset(presets, "offlin"); }).find("did you mean offline?"), std::string::npos);
    const std::string why = refusal([&] { usable_preset(presets, "openai"); });
    EXPECT_NE(why.find("the preset openai cannot be used here: language-model back ends are not part"),
              std::string::npos);
}

TEST(Preset, a_users_own_stands_before_the_programs) {
    const TemporaryFolder folder;
    fs::create_directories(folder.path() / "a");
    fs::create_directories(folder.path() / "b");
    write_atomically(folder.path() / "a/x.toml", "kind = \"http\"\nbase_url = \"http://a\"\n");
    write_atomically(folder.path() / "b/x.toml", "kind = \"http\"\nbase_url = \"http://b\"\nmodel = \"m\"\n");
    const std::vector<Preset> presets =
        read_presets({folder.path() / "a", folder.path() / "b", folder.path() / "none"});
    ASSERT_EQ(presets.size(), 1u);
    EXPECT_EQ(presets[0].base_url, "http://b");
    EXPECT_EQ(presets[0].model, "m");
}

TEST(Preset, a_malformed_file_is_named_with_line_and_column) {
    const TemporaryFolder folder;
    const std::pair<std::string, std::string> cases[] = {
        {"kind = ", "x.toml:1:"},
        {"kind = \"htp\"\n", "x.toml:1:8: there is no kind htp; did you mean http?"},
        {"kind = \"cli\"\nprogam = \"x\"\n", "x.toml:2:1: there is no key progam; did you mean program?"},
        {"kind = \"cli\"\n", "a cli preset needs `program`"},
        {"kind = \"offline\"\nsummary = 3\n", "x.toml:2:11: `summary` must be a text"},
        {"\n", "`kind` must be one of"}};
    for (const auto& [text, wanted] : cases) {
        write_atomically(folder.path() / "x.toml", text);
        const std::string seen = refusal([&] { read_presets({folder.path()}); });
        EXPECT_NE(seen.find(wanted), std::string::npos) << seen;
    }
}

}  // namespace
}  // namespace recuda

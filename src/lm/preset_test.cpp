#include "lm/preset.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "lm/secrets.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

/// A machine on which nobody has a key, a login or a program.
class BareMachine : public ::testing::Test {
 protected:
    void SetUp() override {
        for (const std::string& name : key_variables()) ::unsetenv(name.c_str());
        ::setenv("PATH", "/nothing", 1);
        ::setenv("HOME", folder_.path().c_str(), 1);
        ::setenv("CODEX_HOME", folder_.path().c_str(), 1);
    }
    void TearDown() override { ::setenv("PATH", path_.c_str(), 1); }

    static std::vector<Preset> own() { return read_presets({fs::path(RECUDA_SOURCE_DIR) / "presets"}); }

    TemporaryFolder folder_;
    const std::string path_ = environment_value("PATH");
};

TEST_F(BareMachine, presets_are_whole_and_say_what_is_missing) {
    const std::map<std::string, bool> wanted{{"offline", true},        {"mailbox", true},         {"replay", true},
                                             {"zai-glm5-dspy", false}, {"openai", false},         {"codex-dspy", false},
                                             {"qwen-cli-dspy", false}, {"claude-cli-dspy", false}};
    std::map<std::string, bool> seen;
    int defaults = 0;
    for (const auto& preset : to_json(own())) {
        seen[preset.at("name")] = preset.at("usable");
        defaults += preset.at("default").get<bool>();
        EXPECT_EQ(preset.at("usable").get<bool>(), preset.at("why").get<std::string>().empty());
    }
    EXPECT_EQ(seen.erase("local"), 1u);  // which works where a server listens
    EXPECT_EQ(seen, wanted);
    EXPECT_EQ(defaults, 1);
    EXPECT_EQ(usable_preset(own(), "offline").kind, PresetKind::offline);
    EXPECT_EQ(usable_preset(own(), "local").kind, PresetKind::http) << "a server may start later";
}

TEST_F(BareMachine, a_codex_that_is_logged_in_is_the_default_whatever_keys_there_are) {
    ::setenv("ZAI_API_KEY", "key-of-nobody", 1);
    EXPECT_EQ(usable_preset(own(), "").name, "zai-glm5-dspy");
    write_atomically(folder_.path() / "codex", "#!/bin/sh\n");
    fs::permissions(folder_.path() / "codex", fs::perms::owner_all);
    ::setenv("PATH", folder_.path().c_str(), 1);
    EXPECT_EQ(usable_preset(own(), "").name, "zai-glm5-dspy") << "nobody is logged in";
    write_atomically(folder_.path() / "auth.json", "{}");
    EXPECT_EQ(usable_preset(own(), "").name, "codex-dspy");
    ::unsetenv("ZAI_API_KEY");
}

std::string refusal(const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST_F(BareMachine, an_unknown_preset_is_wrong_usage_and_an_unusable_one_says_why) {
    const std::vector<Preset> presets = own();
    EXPECT_THROW(usable_preset(presets, "offlin"), UsageError);
    EXPECT_NE(refusal([&] { usable_preset(presets, "offlin"); }).find("did you mean offline?"), std::string::npos);
    EXPECT_EQ(refusal([&] { usable_preset(presets, "openai"); }),
              "the preset openai cannot be used here: set OPENAI_API_KEY to your key");
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
        {"kind = \"cli\"\nprogam = \"x\"\n",
         "x.toml:2:1: a preset of the kind cli has no key progam; did you mean program?"},
        {"kind = \"cli\"\n", "a cli preset needs `program`"},
        {"kind = \"offline\"\nsummary = 3\n", "x.toml:2:11: `summary` must be a text"},
        {"\n", "`kind` must be one of"},
        {"kind = \"cli\"\nprogram = \"codex\"\nbase_url = \"http://a\"\n", "x.toml:3:1: a preset of the kind cli"},
        {"kind = \"http\"\nbase_url = \"a\"\n", "x.toml:2:12: the address of a server begins with"},
        {"kind = \"http\"\nbase_url = \"http://me:pw@a\"\n", "no user name or password"},
        {"kind = \"http\"\nbase_url = \"http://a\"\nbody = 3\n", "x.toml:3:8: `body` must be a table"},
        {"kind = \"http\"\nbase_url = \"http://a\"\nbody = { model = \"x\" }\n", "`body` cannot hold model"},
        {"kind = \"http\"\nbase_url = \"http://a\"\nmax_temperature = -1\n", "must be a number, 0 or more"},
        {"kind = \"offline\"\nmax_seconds = 0\n", "`max_seconds` must be more than 0"}};
    for (const auto& [text, wanted] : cases) {
        write_atomically(folder.path() / "x.toml", text);
        const std::string seen = refusal([&] { read_presets({folder.path()}); });
        EXPECT_NE(seen.find(wanted), std::string::npos) << seen;
    }
}

}  // namespace
}  // namespace recuda

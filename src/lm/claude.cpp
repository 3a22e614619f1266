// claude 2.1: one JSON object on stdout, in which an error has the subtype "success". It refuses to run inside another
// session of itself, and tries ten times unless told otherwise.
#include "lm/programs.h"
#include "lm/result_json.h"
#include "lm/secrets.h"

namespace recuda {
namespace {

class Claude final : public Dialect {
 public:
    std::string what_is_missing() const override {
        return environment_value("ANTHROPIC_API_KEY").empty() ? "set ANTHROPIC_API_KEY to your key" : "";
    }

    ProgramCall call(const Preset& preset, const FlatPrompt& prompt, const CallFolders& folders,
                     const std::stop_token&) override {
        ProgramCall call{.command = {preset.program, "-p", "--output-format", "json", "--bare"},
                         .input = without_commands(prompt.text),
                         .environment = {{"CLAUDE_CONFIG_DIR", folders.private_.string()},
                                         {"CLAUDE_CODE_MAX_RETRIES", "2"},
                                         {"DISABLE_AUTOUPDATER", "1"},
                                         {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"}},
                         .keys = {"ANTHROPIC_API_KEY"}};
        const auto append = [&](std::initializer_list<std::string> more) {
            call.command.insert(call.command.end(), more.begin(), more.end());
        };
        append({"--tools", "", "--no-session-persistence"});
        if (!preset.model.empty()) append({"--model", preset.model});
        if (prompt.system.size() > kLongestArgument)
            call.input = without_commands(prompt.system + "\n\n" + prompt.text);
        else if (!prompt.system.empty())
            append({"--system-prompt", argument(prompt.system)});
        if (!preset.effort.empty()) append({"--effort", preset.effort});
        return call;
    }

    LmResponse read(const ProcessResult& result, const CallFolders&) const override {
        return read_result("claude", result);
    }

    bool tells_cost() const override { return true; }
};

}  // namespace

std::unique_ptr<Dialect> make_claude() { return std::make_unique<Claude>(); }

}  // namespace recuda

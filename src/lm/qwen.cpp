// qwen 0.15 to 0.24: one JSON document on stdout. 0.15 tells an error of the API as success with exit status 0, and it
// tries a busy server again for minutes, which the call's deadline bounds.
#include <filesystem>

#include "lm/programs.h"
#include "lm/result_json.h"
#include "lm/secrets.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

class Qwen final : public Dialect {
 public:
    std::string what_is_missing() const override {
        if (has_key() || has_login()) return "";
        return "nobody is logged in: run `qwen` once, or set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL)";
    }

    ProgramCall call(const Preset& preset, const FlatPrompt& prompt, const CallFolders&,
                     const std::stop_token&) override {
        ProgramCall call{
            .command = {preset.program, "--bare"}, .input = without_commands(prompt.text), .keys = {"OPENAI_API_KEY"}};
        const auto append = [&](std::initializer_list<std::string> more) {
            call.command.insert(call.command.end(), more.begin(), more.end());
        };
        if (prompt.system.size() > kLongestArgument)
            call.input = without_commands(prompt.system + "\n\n" + prompt.text);
        else if (!prompt.system.empty())
            append({"--system-prompt", argument(prompt.system)});
        append({"--output-format", "json", "--auth-type", has_key() ? "openai" : "qwen-oauth"});
        if (!preset.model.empty()) append({"-m", preset.model});
        append({"--max-session-turns", "1", "--exclude-tools", "run_shell_command", "edit", "read_file",
                "notebook_edit", "get_goal", "update_goal"});
        return call;
    }

    LmResponse read(const ProcessResult& result, const CallFolders&) const override {
        return read_result("qwen", result);
    }

 private:
    static bool has_key() { return !environment_value("OPENAI_API_KEY").empty(); }
    static bool has_login() {
        std::error_code ignored;
        return fs::exists(fs::path(environment_value("HOME")) / ".qwen" / "oauth_creds.json", ignored);
    }
};

}  // namespace

std::unique_ptr<Dialect> make_qwen() { return std::make_unique<Qwen>(); }

}  // namespace recuda

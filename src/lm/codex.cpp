// codex exec 0.171: JSON lines on stdout. It has no option for temperature, and waits for a network without end.
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "lm/faults.h"
#include "lm/programs.h"
#include "lm/secrets.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

/// What stood in the events of a call.
struct Told {
    std::string answer, reasoning, failure;
    Usage usage;
    bool completed = false, failed = false;
};

std::string text_at(const Json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

uint64_t count_at(const Json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    const double count = object.is_object() && found != object.end() && found->is_number() ? found->get<double>() : 0;
    return count > 0 && count < 1e15 ? static_cast<uint64_t>(count) : 0;
}

/// An item of type error is a warning, and a top-level error may be a notice of another attempt: only turn.failed, or
/// no turn.completed, is failure.
void take(const Json& event, Told& told) {
    const std::string type = text_at(event, "type");
    const Json item = event.is_object() ? event.value("item", Json()) : Json();
    if (type == "item.completed" && text_at(item, "type") == "agent_message") told.answer = text_at(item, "text");
    if (type == "item.completed" && text_at(item, "type") == "reasoning")
        told.reasoning += (told.reasoning.empty() ? "" : "\n") + text_at(item, "text");
    if (type == "error") told.failure = text_at(event, "message");
    if (type == "turn.failed") {
        told.failed = true;
        if (std::string why = text_at(event.value("error", Json()), "message"); !why.empty()) told.failure = why;
    }
    if (type != "turn.completed") return;
    told.completed = true;
    const Json usage = event.value("usage", Json());
    told.usage = {.input_tokens = count_at(usage, "input_tokens"),
                  .output_tokens = count_at(usage, "output_tokens"),
                  .reasoning_tokens = count_at(usage, "reasoning_output_tokens")};
    told.usage.reported = told.usage.tokens() > 0;
}

class Codex final : public Dialect {
 public:
    std::string what_is_missing() const override {
        if (!environment_value("CODEX_API_KEY").empty()) return "";
        const std::string home = environment_value("CODEX_HOME");
        const fs::path folder = home.empty() ? fs::path(environment_value("HOME")) / ".codex" : fs::path(home);
        std::error_code problem;
        const bool logged_in = fs::file_size(folder / "auth.json", problem) > 0 && !problem;
        return logged_in ? "" : "nobody is logged in: run `codex login`, or set CODEX_API_KEY";
    }

    ProgramCall call(const Preset& preset, const FlatPrompt& prompt, const CallFolders& folders,
                     const std::stop_token& stop) override {
        learn(preset.program, stop);
        ProgramCall call{
            .command = {preset.program, "exec", "--json"}, .input = prompt.text, .keys = {"CODEX_API_KEY"}};
        std::vector<std::string>& words = call.command;
        const auto append = [&](std::initializer_list<std::string> more) {
            words.insert(words.end(), more.begin(), more.end());
        };
        append({"--color", "never"});
        for (const char* flag : {"--ephemeral", "--ignore-user-config", "--ignore-rules", "--skip-git-repo-check"})
            if (knows(flag)) words.emplace_back(flag);
        append({"-s", "read-only", "-C", folders.work.string(), "-o", (folders.private_ / "last.txt").string()});
        if (!preset.model.empty()) append({"-m", preset.model});
        if (!preset.effort.empty()) append({"-c", "model_reasoning_effort=" + dump(Json(preset.effort))});
        if (!prompt.system.empty()) {
            const fs::path system = folders.private_ / "system.md";
            write_atomically(system, prompt.system);
            append({"-c", "model_instructions_file=" + dump(Json(system.string()))});
        }
        append({"-c", "web_search=\"disabled\"", "-c", "skills.include_instructions=false", "-c",
                "include_environment_context=false"});
        for (const char* feature : {"shell_tool", "multi_agent", "goals"})
            if (features_.contains(feature)) append({"--disable", feature});
        words.emplace_back("-");
        return call;
    }

    LmResponse read(const ProcessResult& result, const CallFolders& folders) const override {
        Told told;
        for (const std::string_view line : split_lines(result.out))
            if (const Json event = Json::parse(valid_utf8(line), nullptr, false); event.is_object()) take(event, told);
        if (told.failed || !told.completed || result.status != 0) {
            if (told.failure.empty()) told.failure = last_words(result);
            LmError error = told_failure(fmt::format("codex ({})", ending_of(result)), told.failure);
            error.usage = told.usage;
            throw LmError(error);
        }
        if (told.answer.empty()) told.answer = last_message(folders);
        return {.text = told.answer, .reasoning = told.reasoning, .finish = "stop", .usage = told.usage};
    }

 private:
    /// Which flags and features this version has: one that it does not know ends it. Asked once; no model is.
    void learn(const std::string& program, const std::stop_token& stop) {
        const std::lock_guard lock(mutex_);
        if (learnt_) return;
        const ProcessOptions options{.deadline_s = 20, .without = key_variables(), .stop = stop};
        try {
            help_ = run_process({program, "exec", "--help"}, options).out;
            const std::string features = run_process({program, "features", "list"}, options).out;
            for (const std::string_view line : split_lines(features))
                features_.emplace(line.substr(0, line.find_first_of(" \t")));
        } catch (const Error& error) {
            throw LmError(LmFault::not_usable, "{}", error.what());
        }
        learnt_ = !stop.stop_requested();
    }

    bool knows(std::string_view flag) const {
        return help_.find("--") == std::string::npos || help_.find(flag) != std::string::npos;
    }

    /// The file that -o left.
    static std::string last_message(const CallFolders& folders) {
        std::error_code ignored;
        const fs::path file = folders.private_ / "last.txt";
        return fs::is_regular_file(file, ignored) ? valid_utf8(read_file(file, 16 << 20)) : "";
    }

    std::mutex mutex_;
    bool learnt_ = false;
    std::string help_;
    std::set<std::string, std::less<>> features_;
};

}  // namespace

std::unique_ptr<Dialect> make_codex() { return std::make_unique<Codex>(); }

}  // namespace recuda

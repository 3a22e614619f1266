#include "lm/programs.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "lm/back_ends.h"
#include "lm/secrets.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kOutputLimitBytes = 16 << 20;

class ProgramModel final : public BackEnd {
 public:
    explicit ProgramModel(const Preset& preset)
        : preset_(preset), dialect_(make_dialect(preset)), secrets_(key_variables()) {}

    LmResponse complete(const LmRequest& request, const std::stop_token& stop) override {
        const TemporaryFolder folder("recuda-model");
        const CallFolders folders{folder.path() / "work", folder.path() / "private"};
        fs::create_directory(folders.work);
        fs::create_directory(folders.private_);
        try {
            LmResponse response = ask(request, folders, stop);
            for (std::string* text : {&response.text, &response.reasoning, &response.model})
                *text = secrets_.without(std::move(*text));
            return response;
        } catch (const LmError& error) {
            LmError clean(error.fault, "{}", secrets_.without(error.what()));
            clean.status = error.status;
            clean.usage = error.usage;
            throw LmError(clean);
        }
    }

    std::string model() const override { return preset_.model.empty() ? preset_.program : preset_.model; }
    bool tells_cost() const override { return dialect_->tells_cost(); }

 private:
    LmResponse ask(const LmRequest& request, const CallFolders& folders, const std::stop_token& stop) {
        ProgramCall call = dialect_->call(preset_, flattened(request.messages), folders, stop);
        ProcessOptions options{.input = std::move(call.input),
                               .deadline_s = preset_.max_seconds,
                               .output_limit_bytes = kOutputLimitBytes,
                               .environment = std::move(call.environment),
                               .without = withheld(call.keys),
                               .folder = folders.work.string(),
                               .grace_s = 2,
                               .stop = stop};
        ProcessResult result = start(call.command, options);
        // Before anything is cut: half a key is one too.
        for (std::string* text : {&result.out, &result.err}) *text = secrets_.without(std::move(*text));
        if (result.stopped) throw LmError(LmFault::stopped, "{} was ended", preset_.program);
        if (result.timed_out)
            throw LmError(LmFault::timed_out, "{} gave no answer within {:.3g} s{}", preset_.program,
                          preset_.max_seconds, after_colon(last_words(result)));
        if (result.out.size() >= kOutputLimitBytes)
            throw LmError(LmFault::unreadable, "{} wrote more than {} MiB", preset_.program, kOutputLimitBytes >> 20);
        LmResponse response = dialect_->read(result, folders);
        if (trimmed(response.text).empty()) {
            LmError error(LmFault::unreadable, "{} ended without an answer", preset_.program);
            error.usage = response.usage;
            throw LmError(error);
        }
        return response;
    }

    static ProcessResult start(const std::vector<std::string>& command, const ProcessOptions& options) {
        try {
            return run_process(command, options);
        } catch (const Error& error) {
            throw LmError(LmFault::not_usable, "{}", error.what());
        }
    }

    static std::string after_colon(const std::string& words) { return words.empty() ? "" : ": " + words; }

    /// Variables that a program does not see: others' keys, marks of sessions that we may run in, and what makes qwen
    /// try for ever.
    static std::vector<std::string> withheld(const std::vector<std::string>& keys) {
        std::vector<std::string> names{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "QWEN_CODE_UNATTENDED_RETRY"};
        for (const std::string& name : key_variables())
            if (std::find(keys.begin(), keys.end(), name) == keys.end()) names.push_back(name);
        return names;
    }

    const Preset preset_;
    std::unique_ptr<Dialect> dialect_;
    const Secrets secrets_;
};

struct Row {
    const char* name;
    std::unique_ptr<Dialect> (*make)();
};
constexpr Row kDialects[] = {{"codex", make_codex}, {"qwen", make_qwen}, {"claude", make_claude}};

}  // namespace

std::unique_ptr<Dialect> make_dialect(const Preset& preset) {
    const std::string wanted = preset.dialect.empty() ? fs::path(preset.program).filename().string() : preset.dialect;
    std::vector<std::string> names;
    for (const Row& row : kDialects) {
        if (wanted == row.name) return row.make();
        names.emplace_back(row.name);
    }
    throw Error("nothing is known of the program {}; the preset's `dialect` says whose command line it has: {}",
                one_line(wanted), joined(names, ", "));
}

std::unique_ptr<BackEnd> make_program_model(const Preset& preset) { return std::make_unique<ProgramModel>(preset); }

std::string program_path(const std::string& program) {
    if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0 ? program : "";
    const char* path = std::getenv("PATH");
    for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) {
        const fs::path file = fs::path(folder) / program;
        std::error_code ignored;
        if (!folder.empty() && fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0) return file;
    }
    return "";
}

std::string what_a_program_lacks(const Preset& preset) {
    try {
        const std::unique_ptr<Dialect> dialect = make_dialect(preset);
        if (program_path(preset.program).empty())
            return fmt::format("the program {} is not on the PATH", preset.program);
        return dialect->what_is_missing();
    } catch (const Error& error) {
        return error.what();
    }
}

std::string argument(std::string text) {
    std::erase(text, '\0');
    return text;
}

std::string last_words(const ProcessResult& result) {
    constexpr size_t kBytes = 300;
    const std::string& words = trimmed(result.err).empty() ? result.out : result.err;
    const std::string_view end = trimmed(words);
    return one_line(end.substr(end.size() > kBytes ? end.size() - kBytes : 0), kBytes);
}

std::string ending_of(const ProcessResult& result) {
    return result.status > 128 ? fmt::format("killed by signal {}", result.status - 128)
                               : fmt::format("exit status {}", result.status);
}

}  // namespace recuda

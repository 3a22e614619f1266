// Command-line programs of models: what each wants to be started with, and how to read what it says.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/process.h"
#include "lm/conversation.h"
#include "lm/model.h"
#include "lm/preset.h"

namespace recuda {

/// How a program is started for one answer. It gets stdin always: one that waits for a terminal waits for ever.
struct ProgramCall {
    std::vector<std::string> command;
    std::string input;
    std::map<std::string, std::string> environment;
    std::vector<std::string> keys;  // the variables with keys that it may see
};

/// Where a call may leave files; both are empty at its start and go away with it.
struct CallFolders {
    std::filesystem::path work;      // where the program is started
    std::filesystem::path private_;  // for what it is given and leaves behind
};

/// The command line of one program.
class Dialect {
 public:
    virtual ~Dialect() = default;

    /// "" when the user is logged in or has a key in the environment, else what to do.
    virtual std::string what_is_missing() const = 0;

    virtual ProgramCall call(const Preset& preset, const FlatPrompt& prompt, const CallFolders& folders,
                             const std::stop_token& stop) = 0;

    /// The answer of a call that ended by itself with its output whole. Throws LmError; an exit status of 0 proves
    /// nothing.
    virtual LmResponse read(const ProcessResult& result, const CallFolders& folders) const = 0;

    /// Whether answers say what they cost in money.
    virtual bool tells_cost() const { return false; }
};

std::unique_ptr<Dialect> make_codex();
std::unique_ptr<Dialect> make_qwen();
std::unique_ptr<Dialect> make_claude();

/// The dialect that a preset names, or that the name of its program says. Throws Error for a program that nobody here
/// knows.
std::unique_ptr<Dialect> make_dialect(const Preset& preset);

/// Why a preset's program cannot be asked here, "" when it can.
std::string what_a_program_lacks(const Preset& preset);

/// The program's file on the PATH, "" where there is none.
std::string program_path(const std::string& program);

/// An argument of a program is a C string of less than 128 KiB (MAX_ARG_STRLEN in linux/binfmts.h).
constexpr size_t kLongestArgument = 100'000;
/// The text without the zero bytes that would end it.
std::string argument(std::string text);

/// What a program that failed said last: the end of its output for people.
std::string last_words(const ProcessResult& result);

/// "exit status 1", "killed by signal 9".
std::string ending_of(const ProcessResult& result);

}  // namespace recuda

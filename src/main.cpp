// cuda-rlm: a CUDA kernel search and runtime workbench.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "recuda_version.h"

namespace recuda {
namespace {

std::string overview() {
    std::string text =
        "cuda-rlm searches, proves, measures and ships CUDA kernels for the ops of real models.\n\n"
        "Usage: cuda-rlm COMMAND [OPTIONS]\n\nCommands:\n";
    for (const CommandRow& command : kCommands)
        if (!command.hidden) text += fmt::format("  {:<14} {}\n", command.name, command.summary);
    return text +
           "\n`cuda-rlm COMMAND --help` explains a command; every command takes --json.\n\n"
           "Example:\n  cuda-rlm run --task nano30b_rmsnorm --preset offline --out-dir artifacts/rmsnorm\n";
}

int dispatch(const std::vector<std::string>& words) {
    if (words.empty()) throw UsageError("no command; see cuda-rlm --help");
    if (words[0] == "--version") {
        print_text(fmt::format("cuda-rlm {}\n", kVersion));
        return 0;
    }
    if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
        print_text(overview());
        return 0;
    }
    std::vector<std::string> known;
    for (const CommandRow& command : kCommands) {
        if (command.name == words[0]) {
            CommandLine line(words[0], std::string(command.summary), {words.begin() + 1, words.end()});
            return command.run(line);
        }
        if (!command.hidden) known.emplace_back(command.name);
    }
    throw UsageError("there is no command {}{}; see cuda-rlm --help", valid_utf8(words[0]),
                     did_you_mean(words[0], known));
}

/// The one line of the contract. What comes from other libraries may have several lines: they are joined.
int report_error(std::string_view message, int status) {
    std::string line;
    for (const std::string_view part : split_lines(message)) {
        if (!line.empty()) line += " ";
        line += trimmed(part);
    }
    tell("error: " + line);
    return status;
}

}  // namespace
}  // namespace recuda

int main(int count, char** words) {
    using namespace recuda;
    try {
        return dispatch({words + 1, words + count});
    } catch (const UsageError& error) {
        return report_error(error.what(), 2);
    } catch (const std::bad_alloc&) {
        return report_error("out of memory", 1);
    } catch (const std::exception& error) {
        return report_error(error.what(), 1);
    }
}

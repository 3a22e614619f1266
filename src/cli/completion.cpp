// `cuda-rlm completion bash`: commands, their options and tasks.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/command_line.h"
#include "cli/commands.h"

namespace recuda {
namespace {

/// Options are read from each command's own --help and tasks from `tasks`, so that the script never falls behind the
/// program.
constexpr std::string_view kBash = R"bash(_cuda_rlm() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local command=${COMP_WORDS[1]} program=${COMP_WORDS[0]} words
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="@COMMANDS@ --help --version"
    elif [ "$before" = --task ] || { [ "$command $COMP_CWORD" = "tasks 2" ] && [ "${word#-}" = "$word" ]; }; then
        words=$("$program" tasks 2>/dev/null | awk 'NR > 1 {print $1}')
    elif [ "$before" = --device ]; then
        words="auto vgpu cuda"
    elif [ "$before" = --preset ]; then
        words=$("$program" presets 2>/dev/null | awk 'NR > 1 {print $1}')
    elif [ "${word#-}" != "$word" ]; then
        words=$("$program" "$command" --help 2>/dev/null | grep -o -- '--[a-z-]*' | sort -u)
    else
        COMPREPLY=($(compgen -f -- "$word"))
        return
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o filenames -F _cuda_rlm cuda-rlm
)bash";

}  // namespace

int completion_command(CommandLine& line) {
    std::string shell = "bash";
    line.word("SHELL", shell, "bash", false);
    line.example("source <(cuda-rlm completion bash)");
    if (!line.parse()) return 0;
    if (shell != "bash") throw UsageError("there is a completion script for bash alone, not for {}", shell);
    std::string commands;
    for (const CommandRow& command : kCommands)
        if (!command.hidden) commands += fmt::format("{}{}", commands.empty() ? "" : " ", command.name);
    std::string script(kBash);
    constexpr std::string_view kPlace = "@COMMANDS@";
    script.replace(script.find(kPlace), kPlace.size(), commands);
    if (line.json())
        print_json({{"shell", shell}, {"script", script}});
    else
        print_text(script);
    return 0;
}

}  // namespace recuda

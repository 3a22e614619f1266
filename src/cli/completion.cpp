// `cuda-rlm completion bash`: commands, their options and tasks.
#include <fmt/format.h>

#include "base/error.h"
#include "cli/command_line.h"
#include "cli/commands.h"

namespace recuda {
namespace {

/// Options are read from each command's own --help and tasks from `tasks`, so that the script never falls behind the
/// program.
constexpr std::string_view kBash = R"(_cuda_rlm() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} program=${{COMP_WORDS[0]}}
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{} --help --version" -- "$word"))
    elif [ "$before" = --task ] || {{ [ "$command" = tasks ] && [ "$COMP_CWORD" -eq 2 ] && [ "${{word#-}}" = "$word" ]; }}; then
        COMPREPLY=($(compgen -W "$("$program" tasks 2>/dev/null | awk 'NR > 1 {{print $1}}')" -- "$word"))
    elif [ "$before" = --device ];
then COMPREPLY = ($(compgen - W "auto vgpu cuda" --"$word")) elif["$before" = --preset];
then COMPREPLY = ($(compgen - W "$(" $program " presets 2>/dev/null | awk 'NR > 1 {{print $1}}')" --"$word"))
    elif["${{word#-}}" != "$word"];
then COMPREPLY = ($(compgen - W "$(" $program " " $command
                                " --help 2>/dev/null | grep -o -- '--[a-z-]*' | sort -u)" --"$word")) else COMPREPLY =
    ($(compgen - f-- "$word")) fi
}
}
complete -o filenames -F _cuda_rlm cuda-rlm
)";

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
    print_text(fmt::format(kBash, commands));
    return 0;
}

}  // namespace recuda

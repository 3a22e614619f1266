// The commands, one a file. Each takes its words and gives the exit status of the contract.
#pragma once

#include <string_view>

namespace recuda {

class CommandLine;

int run_command(CommandLine& line);
int tasks_command(CommandLine& line);
int check_command(CommandLine& line);
int exec_command(CommandLine& line);
int results_command(CommandLine& line);
int show_command(CommandLine& line);
int replay_command(CommandLine& line);
int merge_results_command(CommandLine& line);
int index_command(CommandLine& line);
int inspect_env_command(CommandLine& line);
int presets_command(CommandLine& line);
int selftest_command(CommandLine& line);
int completion_command(CommandLine& line);

// Workers: started by the program itself, not by people.
int compile_worker_command(CommandLine& line);
int explore_worker_command(CommandLine& line);
int worker_command(CommandLine& line);
int store_probe_command(CommandLine& line);

struct CommandRow {
    std::string_view name, summary;
    int (*run)(CommandLine& line);
    bool hidden = false;
};

/// One row a command, in the order of --help.
inline constexpr CommandRow kCommands[] = {
    {"run", "Search a kernel for a task: propose, build, prove, measure, keep, name the best", run_command},
    {"tasks", "List the tasks, or show one with its bytes and flops", tasks_command},
    {"check", "Build and verify one kernel file", check_command},
    {"exec", "Run any kernel of a .cu or .ptx with buffers given here, on either device", exec_command},
    {"results", "List what runs have found", results_command},
    {"show", "Show one candidate, all of it", show_command},
    {"replay", "Judge a recorded candidate again, and its verdicts from their raw samples", replay_command},
    {"merge-results", "Merge result stores into one", merge_results_command},
    {"index", "Make and ask the index of kernels, earlier candidates and notes", index_command},
    {"inspect-env", "Show compilers, driver, GPUs and libraries, and what to do for what is missing",
     inspect_env_command},
    {"presets", "List the language-model presets and whether they work here", presets_command},
    {"selftest", "Run known cheats and seeded faults against the judge; each must be caught", selftest_command},
    {"completion", "Print the completion script of a shell", completion_command},
    {"compile-worker", "", compile_worker_command, true},
    {"explore-worker", "", explore_worker_command, true},
    {"worker", "", worker_command, true},
    {"store-probe", "", store_probe_command, true},
};

}  // namespace recuda

// Workers that the program starts of itself: compilers, GPUs, the programs of the explore step and the
// reading of doubtful stores live and die there.
#include "base/error.h"
#include "build/builder.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "device/cuda/cuda.h"
#include "lm/explore/session.h"
#include "store/probe.h"

namespace recuda {

int compile_worker_command(CommandLine& line) {
    if (!line.parse()) return 0;
    return serve_compile_worker();
}

int explore_worker_command(CommandLine& line) {
    if (!line.parse()) return 0;
    return serve_explore_worker();
}

int worker_command(CommandLine& line) {
    int64_t ordinal = 0;
    bool survey = false;
    line.option("--device", "N", ordinal, "Number of the GPU");
    line.flag("--survey", survey, "Print the GPUs as JSON instead");
    if (!line.parse()) return 0;
    return survey ? print_cuda_survey() : serve_cuda_worker(static_cast<int>(ordinal));
}

int store_probe_command(CommandLine& line) {
    std::string file;
    line.word("FILE", file, "A store to be read", true);
    if (!line.parse()) return 0;
    return serve_probe(file);
}

}  // namespace recuda

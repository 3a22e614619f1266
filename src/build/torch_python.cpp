#include "build/torch_python.h"

#include "base/error.h"
#include "base/process.h"
#include "base/text.h"
#include "build/toolkit_places.h"

namespace recuda {
namespace {

constexpr const char* kAskPython =
    "import sys, torch; print(torch.__version__); print(sys.executable); print(torch.cuda.is_available())";

/// Fills in version and path; false, with the reason as advice, where this interpreter has no PyTorch.
bool ask(const std::string& interpreter, Tool& tool) {
    try {
        const ProcessResult told = run_process({interpreter, "-c", kAskPython},
                                               {.input = {}, .deadline_s = 120, .environment = {}, .folder = "/"});
        const std::vector<std::string_view> lines = split_lines(told.out);
        if (told.status == 0 && lines.size() >= 3) {
            tool.state = Tool::State::ok;
            tool.version = fmt::format("{}{}", lines[0], lines[2] == "True" ? "" : " (sees no GPU)");
            tool.path = lines[1];
            return true;
        }
        const std::vector<std::string_view> errors = split_lines(told.err);
        tool.advice = fmt::format("{} cannot import torch{}{}", interpreter, errors.empty() ? "" : ": ",
                                  errors.empty() ? "" : errors.back());
    } catch (const Error& error) {
        tool.advice = error.what();
    }
    return false;
}

Tool look() {
    Tool tool{.name = "PyTorch (torch)"};
    if (const std::string chosen = environment("RECUDA_PYTHON"); !chosen.empty()) {
        if (ask(chosen, tool)) return tool;
        tool.state = Tool::State::unusable;
        tool.advice = "RECUDA_PYTHON: " + tool.advice;
        return tool;
    }
    if (const TritonPython* python = triton_python(); python != nullptr && ask(python->interpreter, tool)) return tool;
    if (ask("python3", tool)) return tool;
    tool.advice = "only the torch baselines need it: pip install torch, or set RECUDA_PYTHON to a Python that has it";
    return tool;
}

}  // namespace

const Tool& torch_python() {
    static const Tool tool = look();
    return tool;
}

}  // namespace recuda

#include "search/steps/brief.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "kernel/macros.h"
#include "task/op.h"
#include "task/task.h"

namespace recuda {
namespace {

constexpr size_t kMostReferenceBytes = 12'000;
constexpr size_t kMostWorkloads = 12;

std::string tensor_line(const TensorSpec& tensor, std::string_view role) {
    std::vector<std::string> extents;
    for (const Expression& extent : tensor.shape) extents.push_back(extent.text());
    std::string line = fmt::format("- `{}`: {} {}[{}], {}", tensor.name, name(tensor.dtype), cuda_type(tensor.dtype),
                                   joined(extents, ", "), tensor.inout ? "read and written in place" : role);
    if (tensor.row_stride) line += fmt::format(", rows {} elements apart", tensor.row_stride->text());
    if (!tensor.choice.empty())
        line += fmt::format(", ranked by {}, falling, of equals the lowest index first", tensor.choice);
    if (!tensor.given.empty()) line += fmt::format(", for what the kernel wrote to `{}`", tensor.given);
    return line + "\n";
}

std::string workloads_line(std::string_view what, const std::vector<Axes>& workloads) {
    std::vector<std::string> words;
    for (const Axes& axes : workloads)
        if (words.size() < kMostWorkloads) words.push_back("(" + shown(axes) + ")");
    return words.empty() ? "" : fmt::format("- {}: {}\n", what, joined(words, ", "));
}

std::string costs(const Task& task) {
    std::string text;
    for (const Axes& axes : task.bench)
        text += fmt::format("- {}: at least {} bytes moved, {} operations\n", shown(axes), bytes_of(task, axes),
                            flops_of(task, axes));
    return text;
}

}  // namespace

std::string task_brief(const Task& task) {
    const Op& op = *task.op;
    std::string text = fmt::format("Task `{}` (op {}): {}\n", task.name, op.name, op.summary);
    if (!task.model.empty()) text += fmt::format("It is an op of {}.\n", task.model);
    text += "\nTensors (row-major unless said otherwise):\n";
    for (const TensorSpec& tensor : op.inputs) text += tensor_line(tensor, "input");
    for (const TensorSpec& tensor : op.outputs) text += tensor_line(tensor, "output");
    for (const ScalarSpec& scalar : op.scalars)
        if (const auto value = task.scalars.find(scalar.name); value != task.scalars.end())
            text += fmt::format("- `{}`: {} scalar, here {}\n", scalar.name, name(scalar.dtype), value->second);
    text += "\nAxes:\n";
    for (const Axis& axis : op.axes) {
        const auto constant = task.axes.find(axis.name);
        text += constant == task.axes.end()
                    ? fmt::format("- {}: {}; varies, a launch argument of type int\n", axis.name, axis.about)
                    : fmt::format("- {} = {}: {}; a macro\n", axis.name, constant->second, axis.about);
    }
    for (const OptionSpec& option : op.options)
        if (const auto value = task.options.find(option.name); value != task.options.end())
            text += fmt::format("- option {} = {} ({})\n", option.name, value->second, option.about);
    text += "\nWorkloads:\n" + workloads_line("must be right for", task.verify) +
            workloads_line("its speed counts for", task.bench) + costs(task);
    text += op.exact ? "\nOutputs are compared bit by bit, and a second run must give the same bits.\n"
                     : "\nOutputs are compared with the reference in double; errors may be those of a careful kernel "
                       "that sums in float.\n";
    if (op.special_inputs) text += "Inputs with NaN, infinity, zeros and large values are tried too.\n";
    return text;
}

std::string reference_text(const Task& task) {
    return fenced(shown_text(read_file(task.op->folder / "reference.cu"), kMostReferenceBytes), "cuda");
}

std::string_view kernel_format() {
    return R"(A kernel file is one source, CUDA C++ or Triton, with directives in comment lines. CUDA C++:

```cuda
//! task    NAME
//! idea    one line: what makes it fast
//! tune    BLOCK = 128, 256, 512
//! require H % 8 == 0 && BLOCK <= 1024
//! scratch partial : f32[SPLITS, T] zeroed
//! launch  my_kernel<<<(T, 4), BLOCK, 4 * BLOCK>>>(x, w, y, eps, T)
#include <cuda_bf16.h>
extern "C" __global__ void __launch_bounds__(BLOCK)
my_kernel(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, float eps, int T) { ... }
```

- `task`: the task's name. `idea`: one line for people.
- `tune NAME = v, v, ...`: a tunable, a macro with each of these integers in turn; the first values are tried first, a
  tuner tries the others. Offer the sizes that are hard to guess. `require EXPRESSION`: points where it is 0 are left out.
- `scratch NAME : TYPE[EXTENT, ...] [zeroed]`: workspace, `zeroed` before each run. Types: f32, f16, bf16, i32, u32, u8.
- `launch kernel<<<grid, block, shared>>>(arguments)`: grid and block are a number or `(x, y, z)`; after `shared`, the
  bytes of dynamic shared memory, may follow `cluster=(x, y, z)` and `cooperative`. Several `launch` lines run in order.
  Arguments are the task's tensors and scratch (pointers), its scalars (of their type), axes and integer expressions
  (`int`). Expressions know the axes, tunables, `SMS` and `MAX_SHARED`, `+ - * / %`, comparisons, `&& || !`,
  `ceil_div(a, b)`, `pow2_ceil(a)`, `log2(a)`, `min(a, b)`, `max(a, b)`.
- Constant axes and tunables are macros in the source; an axis that varies (`T`) is no macro and must be an argument.
- Macros too: the storage type of each tensor (`x_t`), and of an option `rounding` with values `one` and `two`
  `ROUNDING_ONE` and `ROUNDING_TWO`, each 0 or 1.
- Pointers are aligned to 256 bytes. The source is compiled by NVRTC as C++17, with CUDA's own headers only
  (`cuda_bf16.h`, `cuda_fp16.h`, cooperative groups, CUB's block and warp headers, libcu++).
- It holds device code alone: no host functions or variables, no `main`, no `<<<...>>>` in the source, no mutable
  globals, no printing. The outputs start out poisoned: every element must be written.

Triton, in a file of Python, carries the same directives behind `#!`:

```python
#! task   NAME
#! launch my_kernel[T](x, w, y, eps, H, B=pow2_ceil(H)) num_warps=8
import triton
import triton.language as tl

@triton.jit
def my_kernel(x, w, y, eps, H, B: tl.constexpr): ...
```
)";
}

std::string fenced(std::string_view text, std::string_view language) {
    std::string fence = "```";
    while (text.find(fence) != std::string_view::npos) fence += '`';
    return fmt::format("{}{}\n{}{}{}\n", fence, language, text, text.ends_with('\n') ? "" : "\n", fence);
}

std::string shown_text(std::string_view text, size_t limit_bytes) { return bounded(printable(text), limit_bytes); }

}  // namespace recuda

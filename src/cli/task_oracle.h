// `cuda-rlm tasks NAME --test-oracle`: whether the judgement of a task's op can be trusted.
#pragma once

namespace recuda {

class CommandLine;
struct DeviceChoice;
struct Task;

/// Prints every change and what became of it; the exit code: 3 where a corruption was accepted or an honest result
/// rejected.
int test_task_oracle(const CommandLine& line, const Task& task, const DeviceChoice& choice);

}  // namespace recuda

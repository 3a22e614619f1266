// What a model is told of the job, the same in every prompt of a run: the task, its mathematics, the kernel file.
#pragma once

#include <string>
#include <string_view>

namespace recuda {

struct Task;
struct DeviceLimits;

/// Name, what is computed, tensors with types and shapes, constants, scalars, options, workloads.
std::string task_brief(const Task& task);

/// The op's reference kernel, which is the exact mathematics; bounded. Throws Error where it cannot be read.
std::string reference_text(const Task& task);

/// The kernel-file format with an example.
std::string_view kernel_format();

/// The text in a fence that is longer than any in it.
std::string fenced(std::string_view text, std::string_view language = "");

/// Text that is not ours, for a prompt: `printable`, at most so many bytes.
std::string shown_text(std::string_view text, size_t limit_bytes);

}  // namespace recuda

// The right answers: an op's reference.cu, built so that its floating outputs are double, run on the same device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "judge/program.h"
#include "judge/run.h"

namespace recuda {

class Builder;

/// The first legal point of a kernel file of ours, as a candidate. Throws Error where it has none for these workloads.
Candidate candidate_from(const std::filesystem::path& path, std::span<const Axes> workloads,
                         const DeviceLimits& limits);

/// Buffers that the reference names beside the op's tensors: the written side of inout tensors, and auxiliaries. In an
/// exact build they hold f64, and so do floating outputs.
ExtraBuffers reference_buffers(const Op& op, OutputTypes outputs);

class Reference {
 public:
    Reference(const Task& task, Device& device, Builder& builder, std::string target);
    ~Reference();

    /// Builds for these workloads together; others are built as they are asked for.
    void prepare(const std::vector<Axes>& workloads);

    /// Every output (floating ones as f64), every inout tensor by its own name, every auxiliary tensor. `inputs` are
    /// places of the input buffers, which are only read. Throws Error where the reference does not run: that is our
    /// mistake.
    Outputs answer(const Axes& axes, const Places& inputs);

    /// The outputs that are `given` another, computed for the candidate's values of that one.
    Tensor answer_given(const Axes& axes, const Places& inputs, const TensorSpec& output, const Tensor& given);

    /// The outputs for each other value of the op's option `rounding`: what a kernel may round where the task does not,
    /// or the reverse. None for an op without that option.
    std::vector<Outputs> other_roundings(const Axes& axes, const Places& inputs);

    /// The device's process is gone.
    void forget();

 private:
    struct OtherRounding;
    struct Found {
        LoadedProgram* program;
        size_t workload;
    };
    Found find(const Axes& axes);
    Buffers output_buffers(const Axes& axes) const;
    Tensor read(const TensorSpec& spec, DType dtype, const Axes& axes, BufferId buffer);
    void run(std::span<const Launch> launches, const Axes& axes);

    const Task& task_;
    Device& device_;
    Builder& builder_;
    std::string target_;
    std::vector<std::unique_ptr<LoadedProgram>> programs_;
    std::vector<std::unique_ptr<OtherRounding>> others_;
};

}  // namespace recuda

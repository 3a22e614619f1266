// The virtual GPU as first filter of candidates for a card: what faults or is wrong there never reaches the card, and
// is told with the lines of its source.
//
// A filter is one thread's: a judge's session of its own on a virtual GPU of one host thread, with the task's small
// workloads. It has a few seconds for a candidate: what it could not try by then, what it cannot run and what takes it
// too long says nothing.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "judge/build.h"
#include "judge/judge.h"

namespace recuda {

class Session;

class Filter {
 public:
    /// `options` are those of the card's judge, its target among them. Throws Error where there can be no such device.
    Filter(const Task& task, std::unique_ptr<Device> device, Builder& builder, const JudgeOptions& options);
    ~Filter();

    /// What it says of what was built for the card; nothing where `stop` came first or the filter itself is unfit.
    /// `opening` is common to all filters of a judge: what they all build alike is built once.
    std::optional<Filtered> filter(const Candidate& candidate, const Built& built, std::mutex& opening,
                                   const std::stop_token& stop);

 private:
    Built own_build(const Candidate& candidate, const Built& built);

    std::unique_ptr<Session> session_;
    bool open_ = false, unfit_ = false;
};

}  // namespace recuda

// Child processes: run one to its end, or talk to a worker over pipes. Each has its own process group, dies with its
// parent, and is killed as a group at its deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

struct ProcessResult {
    int status = 0;          // exit status; 128 + signal where a signal ended it
    bool timed_out = false;  // killed at the deadline
    bool stopped = false;    // killed because stop was requested
    std::string out, err;    // bounded
};

struct ProcessOptions {
    std::string input;  // to stdin
    double deadline_s = 60;
    uint64_t output_limit_bytes = 1 << 20;           // of each stream; the rest is read and dropped
    std::map<std::string, std::string> environment;  // added to ours
    std::vector<std::string> without;                // variables of ours that it does not get
    std::string folder;                              // working folder; "": ours
    double grace_s = 0;    // between SIGTERM and SIGKILL when it has to be ended; 0: SIGKILL at once
    std::stop_token stop;  // ends it
};

/// Runs a program to its end. Throws Error when it cannot be started.
ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options = {});

/// A child that serves requests: messages are length-prefixed byte strings on its stdin and stdout. Its stderr is ours.
class WorkerProcess {
 public:
    /// Starts the program; throws Error when that fails.
    explicit WorkerProcess(const std::vector<std::string>& command);
    WorkerProcess(WorkerProcess&& other) noexcept;
    WorkerProcess& operator=(WorkerProcess&& other) noexcept;
    ~WorkerProcess();  // kills the group

    /// Sends a message; false when the child is gone, or does not read it all before the deadline.
    bool send(std::string_view message);
    bool send(std::string_view message, double deadline_s);
    enum class Received { message, timed_out, gone };
    /// Awaits the next message. A child that announces a longer one than `limit_bytes` is killed: `gone`.
    Received receive(std::string& message, double deadline_s, uint32_t limit_bytes = 0xffffffffu);
    /// Whether the child begins a message, or ends, before the deadline.
    bool stirs(double deadline_s) const;
    void kill();
    bool running() const { return pid_ > 0; }
    /// How the child ended, for messages: "killed by signal 11", "exit status 3"; after `gone` or `kill`.
    std::string ending() const { return ending_; }

 private:
    pid_t pid_ = -1;
    int to_ = -1, from_ = -1;
    std::string ending_;
};

/// The child's side: reads one message from stdin (nullopt at its end), writes one to stdout.
std::optional<std::string> read_message(int descriptor);
void write_message(int descriptor, std::string_view message);
/// A message as it goes over the pipe, for a child that gets one alone (ProcessOptions::input).
std::string framed_message(std::string_view message);

/// Path of the running program, to start it again as a worker.
std::string this_program();

}  // namespace recuda

// A child process that is talked to over pipes. It has its own process group, dies with its parent, and is killed as a
// group.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

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

}  // namespace recuda

// Starts child processes: what process.h and worker_process.h stand on.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace recuda {

struct ProcessOptions;

/// Closes it where it is open, and marks it as closed.
void close_descriptor(int& descriptor);

/// Both ends are closed on exec, and with the object where they still are its own.
struct Pipe {
    int read = -1, write = -1;
    Pipe();
    Pipe(const Pipe&) = delete;
    ~Pipe();
};

/// Starts `command` in a process group of its own with the three descriptors (-1: inherited) as its standard streams.
/// The child dies with us. Throws Error when it cannot be started.
pid_t start(const std::vector<std::string>& command, std::array<int, 3> streams, const ProcessOptions& options);

/// Waits for its end: the status of waitpid(2).
int await(pid_t child);

/// For poll(2): from now on, rounded up.
int milliseconds_until(std::chrono::steady_clock::time_point deadline);
/// A length of time, bounded so that adding it to the clock does not overflow.
std::chrono::milliseconds seconds(double count);

}  // namespace recuda

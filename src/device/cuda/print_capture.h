// What kernels print: the driver writes it to this process's standard output, which in a worker is the message pipe. So
// the pipe moves to a descriptor of its own and standard output becomes a file in memory that is read back after each
// run.
#pragma once

#include <string>

namespace recuda::cuda {

class PrintCapture {
 public:
    /// Moves standard output away; throws Error when the system refuses.
    PrintCapture();
    PrintCapture(const PrintCapture&) = delete;
    /// Puts standard output back.
    ~PrintCapture();

    /// What was standard output.
    int original() const { return original_; }

    /// What was printed since the last call, at most 64 KiB of it (its beginning and end).
    std::string take();

 private:
    int original_ = -1, file_ = -1;
};

}  // namespace recuda::cuda

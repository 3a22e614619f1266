// A line of progress on a terminal, redrawn in place; nothing anywhere else. Colours obey NO_COLOR.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace recuda {

/// Whether stderr is a terminal.
bool on_terminal();

/// Whether colours may be used on that stream (1: stdout, 2: stderr): a terminal, and NO_COLOR unset.
bool colours(int descriptor);

class Progress {
 public:
    /// Draws nothing unless stderr is a terminal.
    explicit Progress(std::string title);
    ~Progress();
    Progress(const Progress&) = delete;

    /// `done` of `total` (0: unknown) with a few words; at most ten redraws a second. The time left is from the pace so
    /// far.
    void update(double done, double total, std::string_view words = "");
    /// Takes the line away, so that other text can be written.
    void clear();

 private:
    std::string title_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point started_, drawn_;
};

}  // namespace recuda

#include "base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"

namespace recuda {
namespace {

constexpr int kBarCells = 24;
constexpr std::chrono::milliseconds kRedraw{100};

size_t terminal_columns() {
    winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string duration(double seconds) {
    const auto whole = static_cast<int64_t>(seconds + 0.5);
    return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                         : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

bool on_terminal() {
    static const bool terminal = ::isatty(STDERR_FILENO) == 1;
    return terminal;
}

bool colours(int descriptor) {
    const char* off = std::getenv("NO_COLOR");
    return (off == nullptr || *off == '\0') && ::isatty(descriptor) == 1;
}

Progress::Progress(std::string title) : title_(std::move(title)), started_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { clear(); }

void Progress::update(double done, double total, std::string_view words) {
    if (!on_terminal()) return;
    const auto now = std::chrono::steady_clock::now();
    if (shown_ && now - drawn_ < kRedraw) return;
    drawn_ = now;
    shown_ = true;
    std::string line = title_;
    if (total > 0) {
        const double share = std::clamp(done / total, 0.0, 1.0);
        const int cells = static_cast<int>(share * kBarCells);
        line += fmt::format(" [{:#<{}}{:.<{}}] {:3.0f} %", "", cells, "", kBarCells - cells, 100 * share);
        const double elapsed = std::chrono::duration<double>(now - started_).count();
        if (share > 0.02 && elapsed > 1) line += fmt::format("  {} left", duration(elapsed * (1 - share) / share));
    }
    if (!words.empty()) line += "  " + printable(words);
    fmt::print(stderr, "\r\x1b[K{}", std::string_view(line).substr(0, terminal_columns() - 1));
    std::fflush(stderr);
}

void Progress::clear() {
    if (!shown_) return;
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
    shown_ = false;
}

}  // namespace recuda

#include <cstdio>
#include <cstdlib>

#include "targets.h"

namespace recuda::fuzz {

void expect_line(std::string_view message) {
    constexpr size_t kMaxMessage = 2000;
    const bool one_line = message.find_first_of(std::string_view("\0\n\r", 3)) == std::string_view::npos;
    if (one_line && !message.empty() && message.size() <= kMaxMessage) return;
    std::fprintf(stderr, "not one short line: %.*s\n", static_cast<int>(message.size()), message.data());
    std::abort();
}

}  // namespace recuda::fuzz

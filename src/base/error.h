// The one exception type of the program: the world failed us, and the message says what to do next.
//
// A candidate that fails is never an exception (see kernel/outcome.h); our own mistakes are asserts.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace recuda {

class Error : public std::runtime_error {
 public:
    template <typename... Args>
    explicit Error(fmt::format_string<Args...> format, Args&&... args)
        : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// Wrong usage of the command line (exit status 2): an unknown task, option or command.
class UsageError : public Error {
 public:
    using Error::Error;
};

}  // namespace recuda

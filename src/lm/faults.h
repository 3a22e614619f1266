// What the words and numbers of a failure say: one place for servers and programs.
#pragma once

#include <string>
#include <string_view>

#include "lm/model.h"

namespace recuda {

/// The fault behind an HTTP status with the server's words for it: its error code ("1113", "model_not_found") and its
/// message, either of which may be "".
LmFault fault_of(int status, std::string_view code, std::string_view message);

/// The failure that a program told in words: its fault and status come from the text. `who` begins the message.
LmError told_failure(std::string_view who, std::string_view text);

}  // namespace recuda

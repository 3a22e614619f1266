// Ctrl-C and SIGTERM as a stop token: the first asks for a clean end, the second ends the program at once.
#pragma once

#include <stop_token>

namespace recuda {

/// Call once, before any other thread is started: from then on a signal requests stop on the token that it gives.
std::stop_token stop_on_interrupt();

}  // namespace recuda

// Reads of the timer that no result hangs on: those by which libcu++ waits with pauses.
//
// cuda::barrier::wait and cuda::atomic::wait poll in a loop that reads the timer to choose its next pause, and end when
// what they wait for has come. The same loop ends at a deadline when try_wait_for, try_acquire_until and their like
// call it, and then a result may hang on what time it is. PTX tells them apart by the names of the functions that were
// inlined.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "build/ptx_text.h"

namespace recuda {

/// The strings of the PTX's debugging data by their labels.
std::map<std::string_view, std::string> debug_strings(std::span<const PtxToken> tokens);

/// Whether a read of the timer in such functions, mangled, innermost first, only chooses the length of a pause.
bool is_back_off(std::span<const std::string> functions);

}  // namespace recuda

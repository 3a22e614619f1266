// Trying again what may fare better: exponential back-off with full jitter (M. Brooker, "Exponential Backoff And
// Jitter", AWS Architecture Blog, 2015), or what Retry-After asks for. Attempts and waits are bounded; what will not
// fare better is not tried again.
#pragma once

#include <functional>
#include <memory>

#include "lm/model.h"

namespace recuda {

struct Patience {
    unsigned attempts = 4;         // of a request
    unsigned lone_attempts = 3;    // where nobody is there
    unsigned slow_attempts = 2;    // where an attempt takes as long as it may, or gives what cannot be read
    double first_s = 1;            // the wait before the second attempt is up to this, then up to twice as much …
    double longest_s = 20;         // … but not more than this
    double longest_asked_s = 120;  // a Retry-After above it is not waited for: the request fails
    /// Waits; false when stop was requested meanwhile. Empty: really.
    std::function<bool(double seconds, const std::stop_token&)> wait;
};

/// Makes attempts with `inner` until one answers. While a Retry-After runs nobody asks: other requests wait for its end
/// too, or fail at once where it is too long. After a request that failed to the last attempt the next ones have a
/// single attempt each until one answers: a server that is down costs little.
std::unique_ptr<LanguageModel> make_patient(std::unique_ptr<LanguageModel> inner, Patience patience = {});

}  // namespace recuda

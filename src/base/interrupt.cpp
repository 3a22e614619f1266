#include "base/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

namespace recuda {

std::stop_token stop_on_interrupt() {
    // Requesting stop is not async-signal-safe, so the signals are blocked everywhere and awaited by a thread of their
    // own.
    static std::stop_source source;
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGINT);
    ::sigaddset(&signals, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::thread([signals] {
        for (int signal = 0;; ::sigwait(&signals, &signal)) {
            if (signal == 0) continue;
            if (source.stop_requested()) ::_exit(130);
            source.request_stop();
        }
    }).detach();
    return source.get_token();
}

}  // namespace recuda

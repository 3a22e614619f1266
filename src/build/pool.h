// Worker processes that outlive their requests: started when first needed, at most so many at once, replaced when one
// dies.
//
// They persist because that is what is fast. Measured on one core (rmsnorm with cuda_bf16.h for sm_90, PTX alone / PTX
// and cubin): a persistent process 39 / 59 ms, a child forked from a warm parent for each compile 52 / 72 ms (it pays
// for copying the pages that NVRTC writes to), a fresh process about 110 ms more. NVRTC does not grow with use (88 MB
// after 1 as after 200 compiles), and runs nothing of a candidate. Triton does: its process, warm too, forks one child
// a request (python/triton_adapter.py).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

class WorkerPool {
 public:
    struct Options {
        std::vector<std::string> command;    // starts a worker
        std::function<std::string()> setup;  // makes its first message, anew for each
        std::string name;                    // for messages: "the CUDA compiler"
        unsigned size = 1;
        double start_deadline_s = 120;
    };
    explicit WorkerPool(Options options);
    ~WorkerPool();

    struct Reply {
        enum class End { answered, stopped, died } end = End::died;
        std::string answer;
        std::string ending;  // how a worker died: "killed by signal 11 (Segmentation fault)"
    };

    /// Sends one request to a free worker, waiting for one, and awaits the answer; a worker that is late is killed, and
    /// one that answers something else is replaced and asked again. May be called from many threads. Throws Error when
    /// no worker can be started.
    Reply ask(std::string_view request, double deadline_s);

    unsigned size() const;

 private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace recuda

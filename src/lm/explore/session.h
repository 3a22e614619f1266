// A session in which a model's programs run one after another: a Lua state in a jailed process of its own, whose global
// variables stay from program to program.
//
// On the pipe, each message one JSON document (base/worker_process.h frames them):
//
//   here    {"variables":{…},"functions":[…],"memory_bytes":N,"instructions":N,"output_bytes":N,"seconds":X,"seed":N}
//   there   {"ready":true} or {"failed":"why"}
//   here    {"run":"code"}
//   there   {"call":"function","arguments":[…]}     any number of times, each answered before the program goes on:
//   here    {"value":…} or {"error":"…"} or {"end":true}
//   there   {"output":"…","error":"…"}, or {"died":"why"} when the program had to be killed
//
// Before each program the process forks: the child runs it and, when it comes to an end, stands in the place of its
// parent; a child that is killed leaves the parent with everything as it was before the program. Nothing that comes
// back is trusted, since a program may have found a hole in the interpreter.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "lm/explore/sandbox.h"

namespace recuda {

/// A function that programs can call by its name. What it throws as Error comes back to the program as that function's
/// error; an LmError that no further call would mend (is_passing) ends the session instead.
struct SessionFunction {
    std::string name;
    std::string usage;  // one line for the prompt: "search(query, k): the k documents …"
    std::function<nlohmann::json(const nlohmann::json& arguments)> call;  // arguments: an array
    uint64_t most_calls = 1000;                                           // in a session
    bool ends = false;                                                    // a call without an error ends the program
};

struct SessionOptions {
    std::vector<std::string> command;  // starts the worker
    SandboxLimits limits;
    double seconds = 10;  // of computing, of one program
    uint64_t seed = 0;    // of math.random
};

class LuaSession {
 public:
    /// `variables`: an object. Throws Error when no process can be started, or not with these variables.
    LuaSession(SessionOptions options, nlohmann::json variables, std::vector<SessionFunction> functions);
    LuaSession(const LuaSession&) = delete;
    ~LuaSession();

    struct Turn {
        std::string output, error;  // UTF-8, bounded; error "": none
        bool ended = false;         // by a function that ends
    };
    /// Runs one program; whatever it does is in what comes back. Throws what a function throws as LmError, LmError
    /// `stopped` when the token is requested, and Error when a process that was lost cannot be started again.
    Turn run(const std::string& code, const std::stop_token& stop);

 private:
    class State;
    std::unique_ptr<State> state_;
};

/// The child's side: serves on stdin and stdout. Gives the exit status.
int serve_explore_worker();

}  // namespace recuda

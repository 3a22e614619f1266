// The Lua state that a model's programs run in: Lua 5.4 without io, os, package, debug, load and what else reaches out
// of it or differs from one process to the next (library.h), with bounds on memory, instructions and output.
//
// Instructions are counted by a hook, which Lua does not call inside its own C functions, nor while a coroutine that it
// ended is closed: a pattern that backtracks for ever is ended by the timer of the process (worker.cpp). A program that
// catches the error of a limit gets it again at its next instruction. Coroutines have hooks of their own: making one
// costs a whole interval of instructions.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lm/explore/cut_text.h"

struct lua_State;
struct lua_Debug;

namespace recuda {

struct SandboxLimits {
    uint64_t memory_bytes = uint64_t{256} << 20;  // of Lua values, beyond the given ones
    uint64_t instructions = 200'000'000;          // of one program
    uint64_t output_bytes = 10'000;               // of one program, head and tail
};

struct SandboxSetup {
    nlohmann::json variables;            // an object: global variables
    std::vector<std::string> functions;  // of the host, global too
    SandboxLimits limits;
    uint64_t seed = 0;  // of math.random
};

/// What a function of the host gives back.
struct HostReply {
    nlohmann::json value;
    std::string error;  // "": none
    bool ends = false;  // the program ends here
};

class Sandbox {
 public:
    using Host = std::function<HostReply(const std::string& function, const nlohmann::json& arguments)>;

    /// Throws Error when the variables do not fit into memory.
    Sandbox(const SandboxSetup& setup, Host host);
    Sandbox(const Sandbox&) = delete;
    ~Sandbox();

    struct End {
        std::string output, error;  // UTF-8, both bounded; error "": none, or ended by a function of the host
    };
    /// Runs one program. Global variables stay for the next.
    End run(const std::string& code);

    // For the functions that programs call.
    static Sandbox& of(lua_State* lua);
    /// Takes from the instructions that are left; raises a Lua error when there are none.
    void charge(lua_State* lua, uint64_t instructions);
    void print(std::string_view text) { output_.append(text); }
    HostReply call(const std::string& function, const nlohmann::json& arguments) { return host_(function, arguments); }
    /// Ends the program; raises a Lua error.
    void end(lua_State* lua);

 private:
    enum class Stop { none, instructions, ended };

    static void* allocate(void* self, void* block, size_t old_size, size_t new_size);
    static void count(lua_State* lua, lua_Debug* event);
    static int prepare(lua_State* lua);
    static int run_code(lua_State* lua);
    [[noreturn]] void stop(lua_State* lua, Stop why);
    std::string error_text();

    SandboxSetup setup_;
    Host host_;
    size_t used_bytes_ = 0, limit_bytes_ = SIZE_MAX;
    uint64_t instructions_left_ = UINT64_MAX;
    Stop stop_ = Stop::none;
    CutText output_;
    const std::string* code_ = nullptr;
    lua_State* lua_ = nullptr;
};

}  // namespace recuda

// What a program in a session can call: Lua's own functions as far as they reach nothing outside and give the same in
// every process, and the functions of the host.
//
// Other than in plain Lua: tostring and print number tables and functions ("table: 1") instead of naming addresses,
// pairs and next go through numbers, then texts, in order, table.sort is stable, string.format has no %p, math.random
// begins at the seed of the session. Finalizers (__gc) and the handlers of xpcall run without the hook that counts, so
// there are none. Nor is there load, require, dofile, collectgarbage, warn, string.dump, io, os, package or debug.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct lua_State;

namespace recuda {

/// Makes the global variables of a new state, inside a protected call.
void open_library(lua_State* lua, const std::vector<std::string>& host_functions, uint64_t seed);

/// Pushes the text of a value: tostring. May raise Lua errors.
void push_shown(lua_State* lua, int index);

/// Prints the values on the stack.
int print_values(lua_State* lua);

// order.cpp
int ordered_pairs(lua_State* lua);
int ordered_next(lua_State* lua);
int stable_sort(lua_State* lua);

/// A function for Lua of one that may throw: what it throws becomes the error of the program.
template <int (*function)(lua_State*)>
int guarded(lua_State* lua);

/// Raises a Lua error with its place in the program.
[[noreturn]] void raise_error(lua_State* lua, const std::string& message);

template <int (*function)(lua_State*)>
int guarded(lua_State* lua) {
    std::string message;
    try {
        return function(lua);
    } catch (const std::exception& error) {  // not Lua's own errors, which are no std::exception
        message = error.what();
    }
    raise_error(lua, message);
}

}  // namespace recuda

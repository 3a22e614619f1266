// Values of a session as JSON and back.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

struct lua_State;

namespace recuda {

constexpr int kValueDepth = 32;                      // of tables within tables
constexpr uint64_t kValueBytes = uint64_t{4} << 20;  // of what a program hands over in one call, all texts and numbers

/// Pushes the value: objects and arrays become tables, null becomes nil.
void push_value(lua_State* lua, const nlohmann::json& value);

/// The value at an index: a table with the keys 1 to n is an array, an empty one too, any other an object whose keys
/// are texts. Text that is no UTF-8 is replaced. Throws Error for functions and coroutines, and for what is too deep or
/// large.
nlohmann::json value_at(lua_State* lua, int index);

/// All values on the stack as an array, bounded together.
nlohmann::json values_on_stack(lua_State* lua);

}  // namespace recuda

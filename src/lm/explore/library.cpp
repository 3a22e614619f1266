#include "lm/explore/library.h"

#include <cstdlib>
#include <cstring>
#include <lua.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "lm/explore/sandbox.h"
#include "lm/explore/values.h"

namespace recuda {
namespace {

constexpr uint64_t kCostOfCall = 1000, kCostOfCoroutine = 1000;  // in instructions
constexpr const char* kNumbers = "numbers";                      // in the registry: object to its number, by weak keys

/// Pushes the number of a table, function or coroutine: the same whenever it is asked for.
void push_number(lua_State* lua, int index) {
    lua_getfield(lua, LUA_REGISTRYINDEX, kNumbers);
    lua_pushvalue(lua, index);
    if (lua_rawget(lua, -2) == LUA_TNIL) {
        lua_pop(lua, 1);
        lua_getfield(lua, -1, "count");
        const lua_Integer number = lua_tointeger(lua, -1) + 1;
        lua_pop(lua, 1);
        lua_pushinteger(lua, number);
        lua_setfield(lua, -2, "count");
        lua_pushvalue(lua, index);
        lua_pushinteger(lua, number);
        lua_rawset(lua, -3);
        lua_pushinteger(lua, number);
    }
    lua_remove(lua, -2);
}

int shown(lua_State* lua) {
    luaL_checkany(lua, 1);
    push_shown(lua, 1);
    return 1;
}

int set_metatable(lua_State* lua) {
    const int type = lua_type(lua, 2);
    luaL_checktype(lua, 1, LUA_TTABLE);
    luaL_argexpected(lua, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table");
    if (luaL_getmetafield(lua, 1, "__metatable") != LUA_TNIL)
        return luaL_error(lua, "cannot change a protected metatable");
    if (type == LUA_TTABLE) {
        lua_pushliteral(lua, "__gc");
        if (lua_rawget(lua, 2) != LUA_TNIL) return luaL_error(lua, "there are no finalizers (__gc) here");
    }
    lua_settop(lua, 2);
    lua_setmetatable(lua, 1);
    return 1;
}

/// Whether a format has a %p, which shows an address.
bool shows_address(std::string_view format) {
    for (size_t i = 0; (i = format.find('%', i)) != std::string_view::npos; ++i) {
        i = format.find_first_not_of("-+ #0123456789.", i + 1);
        if (i == std::string_view::npos) return false;
        if (format[i] == 'p') return true;
    }
    return false;
}

/// string.format, its upvalue, with the texts of tables and functions in their places.
int format_text(lua_State* lua) {
    size_t size = 0;
    const char* format = luaL_checklstring(lua, 1, &size);
    if (shows_address({format, size})) return luaL_error(lua, "there is no %%p here");
    const int count = lua_gettop(lua);
    for (int i = 2; i <= count; ++i) {
        const int type = lua_type(lua, i);
        if (type == LUA_TSTRING || type == LUA_TNUMBER || type == LUA_TBOOLEAN || type == LUA_TNIL) continue;
        push_shown(lua, i);
        lua_replace(lua, i);
    }
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, count, 1);
    return 1;
}

/// coroutine.create or wrap, its upvalue. A new coroutine counts its instructions from the beginning of an interval.
int make_coroutine(lua_State* lua) {
    Sandbox::of(lua).charge(lua, kCostOfCoroutine);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, 1);
    return 1;
}

/// math.randomseed, its upvalue, which without an argument takes the time.
int seed_random(lua_State* lua) {
    luaL_checknumber(lua, 1);
    lua_settop(lua, 1);
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, 1, 0);
    return 0;
}

/// A function of the host; its name is the upvalue.
int call_host(lua_State* lua) {
    Sandbox& sandbox = Sandbox::of(lua);
    sandbox.charge(lua, kCostOfCall);
    const HostReply reply = sandbox.call(lua_tostring(lua, lua_upvalueindex(1)), values_on_stack(lua));
    if (reply.ends) sandbox.end(lua);
    if (!reply.error.empty()) throw Error("{}", reply.error);
    push_value(lua, reply.value);
    return 1;
}

struct LibraryRow {
    const char* name;
    lua_CFunction open;
};
constexpr LibraryRow kLibraries[] = {{LUA_GNAME, luaopen_base},        {LUA_TABLIBNAME, luaopen_table},
                                     {LUA_STRLIBNAME, luaopen_string}, {LUA_MATHLIBNAME, luaopen_math},
                                     {LUA_UTF8LIBNAME, luaopen_utf8},  {LUA_COLIBNAME, luaopen_coroutine}};

constexpr const char* kNotHere[] = {"collectgarbage", "dofile", "load", "loadfile", "warn", "xpcall"};

/// Replaces library.name by a function that has the old one as its upvalue.
void replace(lua_State* lua, const char* library, const char* name, lua_CFunction function) {
    lua_getglobal(lua, library);
    lua_getfield(lua, -1, name);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, name);
    lua_pop(lua, 1);
}

void replace_functions(lua_State* lua) {
    for (const char* name : kNotHere) {
        lua_pushnil(lua);
        lua_setglobal(lua, name);
    }
    lua_register(lua, "tostring", &guarded<shown>);
    lua_register(lua, "print", &guarded<print_values>);
    lua_register(lua, "setmetatable", &guarded<set_metatable>);
    lua_register(lua, "pairs", &guarded<ordered_pairs>);
    lua_register(lua, "next", &guarded<ordered_next>);
    replace(lua, LUA_TABLIBNAME, "sort", &guarded<stable_sort>);
    replace(lua, LUA_STRLIBNAME, "format", &guarded<format_text>);
    replace(lua, LUA_COLIBNAME, "create", &guarded<make_coroutine>);
    replace(lua, LUA_COLIBNAME, "wrap", &guarded<make_coroutine>);
    replace(lua, LUA_MATHLIBNAME, "randomseed", &guarded<seed_random>);
    lua_getglobal(lua, LUA_STRLIBNAME);
    lua_pushnil(lua);
    lua_setfield(lua, -2, "dump");
    lua_pop(lua, 1);
}

/// All texts share one metatable: programs do not get hold of it.
void hide_text_metatable(lua_State* lua) {
    lua_pushliteral(lua, "");
    lua_getmetatable(lua, -1);
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_pop(lua, 2);
}

void make_numbers(lua_State* lua) {
    lua_newtable(lua);
    lua_newtable(lua);
    lua_pushliteral(lua, "k");
    lua_setfield(lua, -2, "__mode");
    lua_setmetatable(lua, -2);
    lua_setfield(lua, LUA_REGISTRYINDEX, kNumbers);
}

void seed(lua_State* lua, uint64_t seed) {
    lua_getglobal(lua, LUA_MATHLIBNAME);
    lua_getfield(lua, -1, "randomseed");
    lua_pushinteger(lua, static_cast<lua_Integer>(seed));
    lua_call(lua, 1, 0);
    lua_pop(lua, 1);
}

}  // namespace

void raise_error(lua_State* lua, const std::string& message) {
    luaL_error(lua, "%s", message.c_str());
    std::abort();  // luaL_error does not return, but is not declared so
}

void push_shown(lua_State* lua, int index) {
    index = lua_absindex(lua, index);
    luaL_checkstack(lua, 6, nullptr);
    if (luaL_callmeta(lua, index, "__tostring") != 0) {
        if (lua_type(lua, -1) != LUA_TSTRING) luaL_error(lua, "'__tostring' must return a string");
        return;
    }
    switch (lua_type(lua, index)) {
        case LUA_TNIL:
        case LUA_TBOOLEAN:
        case LUA_TNUMBER:
        case LUA_TSTRING:
            luaL_tolstring(lua, index, nullptr);
            return;
        default:
            break;
    }
    push_number(lua, index);
    lua_pushfstring(lua, "%s: %I", luaL_typename(lua, index), lua_tointeger(lua, -1));
    lua_remove(lua, -2);
}

int print_values(lua_State* lua) {
    Sandbox& sandbox = Sandbox::of(lua);
    const int count = lua_gettop(lua);
    for (int i = 1; i <= count; ++i) {
        push_shown(lua, i);
        size_t size = 0;
        const char* text = lua_tolstring(lua, -1, &size);
        if (i > 1) sandbox.print("\t");
        sandbox.print({text, size});
        lua_pop(lua, 1);
    }
    sandbox.print("\n");
    return 0;
}

void open_library(lua_State* lua, const std::vector<std::string>& host_functions, uint64_t seed_of_random) {
    for (const LibraryRow& library : kLibraries) {
        luaL_requiref(lua, library.name, library.open, 1);
        lua_pop(lua, 1);
    }
    make_numbers(lua);
    replace_functions(lua);
    hide_text_metatable(lua);
    seed(lua, seed_of_random);
    for (const std::string& name : host_functions) {
        lua_pushstring(lua, name.c_str());
        lua_pushcclosure(lua, &guarded<call_host>, 1);
        lua_setglobal(lua, name.c_str());
    }
}

}  // namespace recuda

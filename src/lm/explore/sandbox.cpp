#include "lm/explore/sandbox.h"

#include <cstdlib>
#include <cstring>
#include <lua.hpp>

#include "base/error.h"
#include "base/text.h"
#include "lm/explore/library.h"
#include "lm/explore/values.h"

namespace recuda {
namespace {

constexpr int kInterval = 1000;  // instructions between two calls of the hook
constexpr uint64_t kErrorBytes = 2000;
constexpr const char* kGiven = "given";  // in the registry: what each program finds, whatever an earlier one did to it

static_assert(LUA_EXTRASPACE >= sizeof(void*));

}  // namespace

Sandbox& Sandbox::of(lua_State* lua) {
    void* sandbox = nullptr;
    std::memcpy(&sandbox, lua_getextraspace(lua), sizeof sandbox);
    return *static_cast<Sandbox*>(sandbox);
}

Sandbox::Sandbox(const SandboxSetup& setup, Host host)
    : setup_(setup), host_(std::move(host)), output_(setup.limits.output_bytes) {
    lua_ = lua_newstate(&allocate, this);
    if (lua_ == nullptr) throw Error("there is no memory for a Lua state");
    void* self = this;
    std::memcpy(lua_getextraspace(lua_), &self, sizeof self);  // coroutines copy it from the main thread
    lua_pushcfunction(lua_, &prepare);
    if (lua_pcall(lua_, 0, 0, 0) != LUA_OK) {
        const std::string why = error_text();
        lua_close(lua_);
        throw Error("the variables cannot be loaded: {}", why);
    }
    setup_.variables = nullptr;
    limit_bytes_ = used_bytes_ + setup_.limits.memory_bytes;
}

Sandbox::~Sandbox() { lua_close(lua_); }

void* Sandbox::allocate(void* self, void* block, size_t old_size, size_t new_size) {
    auto& sandbox = *static_cast<Sandbox*>(self);
    if (block == nullptr) old_size = 0;  // it names a type there
    if (new_size == 0) {
        std::free(block);
        sandbox.used_bytes_ -= old_size;
        return nullptr;
    }
    if (new_size > old_size &&
        new_size - old_size > sandbox.limit_bytes_ - std::min(sandbox.limit_bytes_, sandbox.used_bytes_))
        return nullptr;
    void* moved = std::realloc(block, new_size);
    if (moved != nullptr) sandbox.used_bytes_ += new_size - old_size;
    return moved;
}

void Sandbox::count(lua_State* lua, lua_Debug*) { of(lua).charge(lua, kInterval); }

void Sandbox::charge(lua_State* lua, uint64_t instructions) {
    if (stop_ != Stop::none) stop(lua, stop_);
    if (instructions > instructions_left_) stop(lua, Stop::instructions);
    instructions_left_ -= instructions;
}

void Sandbox::end(lua_State* lua) { stop(lua, Stop::ended); }

void Sandbox::stop(lua_State* lua, Stop why) {
    stop_ = why;
    // From here on each instruction is an error, in whatever catches this one.
    for (lua_State* thread : {lua, lua_}) lua_sethook(thread, &count, LUA_MASKCOUNT, 1);
    luaL_error(lua, why == Stop::ended ? "ended" : "too many instructions");
    std::abort();  // luaL_error does not return, but is not declared so
}

int Sandbox::prepare(lua_State* lua) {
    Sandbox& sandbox = of(lua);
    open_library(lua, sandbox.setup_.functions, sandbox.setup_.seed);
    lua_newtable(lua);
    lua_pushglobaltable(lua);
    lua_pushnil(lua);
    while (lua_next(lua, -2) != 0) {
        lua_pushvalue(lua, -2);
        lua_insert(lua, -2);
        lua_rawset(lua, -5);
    }
    lua_pop(lua, 1);
    for (const auto& [name, value] : sandbox.setup_.variables.items()) {
        lua_pushlstring(lua, name.data(), name.size());
        push_value(lua, value);
        lua_rawset(lua, -3);
    }
    lua_setfield(lua, LUA_REGISTRYINDEX, kGiven);
    return 0;
}

/// Puts what is given back in its place, compiles the code, as an expression where it is one, and prints what it gives.
int Sandbox::run_code(lua_State* lua) {
    const std::string& code = *of(lua).code_;
    lua_pushglobaltable(lua);
    lua_getfield(lua, LUA_REGISTRYINDEX, kGiven);
    lua_pushnil(lua);
    while (lua_next(lua, -2) != 0) {
        lua_pushvalue(lua, -2);
        lua_insert(lua, -2);
        lua_rawset(lua, -5);
    }
    lua_settop(lua, 0);
    lua_pushliteral(lua, "return ");
    lua_pushlstring(lua, code.data(), code.size());
    lua_concat(lua, 2);
    size_t size = 0;
    const char* expression = lua_tolstring(lua, 1, &size);
    if (luaL_loadbufferx(lua, expression, size, "=program", "t") != LUA_OK) {
        lua_settop(lua, 0);
        if (luaL_loadbufferx(lua, code.data(), code.size(), "=program", "t") != LUA_OK) return lua_error(lua);
    } else {
        lua_remove(lua, 1);
    }
    lua_call(lua, 0, LUA_MULTRET);
    if (lua_gettop(lua) > 0) print_values(lua);
    return 0;
}

/// The error on top of the stack as text. A table may have a function that makes its text and never ends: it runs on
/// what is left of the instructions.
std::string Sandbox::error_text() {
    lua_pushcfunction(lua_, [](lua_State* lua) {
        push_shown(lua, 1);
        return 1;
    });
    lua_insert(lua_, -2);
    const bool shown = lua_pcall(lua_, 1, 1, 0) == LUA_OK && lua_type(lua_, -1) == LUA_TSTRING;
    size_t size = 0;
    const char* text = shown ? lua_tolstring(lua_, -1, &size) : nullptr;
    const std::string told = shown ? bounded({text, size}, kErrorBytes) : "an error that cannot be shown";
    lua_settop(lua_, 0);
    return told;
}

Sandbox::End Sandbox::run(const std::string& code) {
    instructions_left_ = setup_.limits.instructions;
    stop_ = Stop::none;
    output_ = CutText(setup_.limits.output_bytes);
    code_ = &code;
    lua_settop(lua_, 0);
    lua_sethook(lua_, &count, LUA_MASKCOUNT, kInterval);
    lua_pushcfunction(lua_, &run_code);
    const int status = lua_pcall(lua_, 0, 0, 0);
    End end;
    if (status != LUA_OK && stop_ == Stop::none) end.error = error_text();
    if (stop_ == Stop::instructions)
        end.error = fmt::format("stopped: the program ran more than {} instructions", setup_.limits.instructions);
    end.output = output_.text();
    lua_settop(lua_, 0);
    if (status != LUA_OK) lua_gc(lua_, LUA_GCCOLLECT, 0);  // a stack that overflowed stays large until then
    return end;
}

}  // namespace recuda

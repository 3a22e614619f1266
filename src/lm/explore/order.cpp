// Orders that are the same in every process. Lua hashes texts with a seed of its own for each state, so that its own
// order of a table's keys differs from run to run; and its sort takes the clock for a random number.
#include <algorithm>
#include <cstring>
#include <functional>
#include <lua.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "lm/explore/library.h"
#include "lm/explore/sandbox.h"

namespace recuda {
namespace {

constexpr lua_Integer kSortable = 1 << 24;  // elements

/// A key by its place: numbers, texts, false and true, then objects in the order of their addresses, which come from
/// one allocator that is asked for the same in the same order.
struct Key {
    int kind = 0;
    long double number = 0;  // holds any integer and any float of Lua exactly
    std::string_view text;
    const void* object = nullptr;
    lua_Integer at = 0;  // where it was met

    bool operator<(const Key& other) const {
        if (kind != other.kind) return kind < other.kind;
        if (kind == 1) return text < other.text;
        if (kind == 3) return std::less<>()(object, other.object);
        return number < other.number;
    }
};

/// Valid as long as the value stays where it is.
Key key_at(lua_State* lua, int index) {
    Key key;
    switch (lua_type(lua, index)) {
        case LUA_TNUMBER:
            key.number = lua_isinteger(lua, index) ? static_cast<long double>(lua_tointeger(lua, index))
                                                   : static_cast<long double>(lua_tonumber(lua, index));
            break;
        case LUA_TSTRING: {
            size_t size = 0;
            const char* text = lua_tolstring(lua, index, &size);
            key.kind = 1;
            key.text = {text, size};
            break;
        }
        case LUA_TBOOLEAN:
            key.kind = 2;
            key.number = lua_toboolean(lua, index);
            break;
        default:
            key.kind = 3;
            key.object = lua_topointer(lua, index);
    }
    return key;
}

/// Pushes an array of the keys of the table at an index, in order.
void push_keys(lua_State* lua, int table) {
    std::vector<Key> keys;
    lua_newtable(lua);
    const int met = lua_gettop(lua);
    lua_pushnil(lua);
    while (lua_next(lua, table) != 0) {
        lua_pop(lua, 1);
        keys.push_back(key_at(lua, -1));
        keys.back().at = static_cast<lua_Integer>(keys.size());
        lua_pushvalue(lua, -1);
        lua_rawseti(lua, met, keys.back().at);
    }
    Sandbox::of(lua).charge(lua, keys.size());
    std::sort(keys.begin(), keys.end());
    lua_createtable(lua, static_cast<int>(std::min<size_t>(keys.size(), 1 << 24)), 0);
    lua_Integer i = 0;
    for (const Key& key : keys) {
        lua_rawgeti(lua, met, key.at);
        lua_rawseti(lua, -2, ++i);
    }
    lua_remove(lua, met);
}

/// The iterator of pairs; upvalues: the table, its keys, how far it is. A key that was removed meanwhile is passed
/// over.
int step(lua_State* lua) {
    lua_Integer at = lua_tointeger(lua, lua_upvalueindex(3));
    while (lua_rawgeti(lua, lua_upvalueindex(2), ++at) != LUA_TNIL) {
        lua_pushvalue(lua, -1);
        if (lua_rawget(lua, lua_upvalueindex(1)) != LUA_TNIL) {
            lua_pushinteger(lua, at);
            lua_replace(lua, lua_upvalueindex(3));
            return 2;
        }
        lua_pop(lua, 2);
    }
    return 1;
}

/// Elements of a sort: an array at index 3 of the stack, an optional function at 2.
class Elements {
 public:
    explicit Elements(lua_State* lua) : lua_(lua), compared_by_function_(!lua_isnoneornil(lua, 2)) {}

    bool before(lua_Integer a, lua_Integer b) {
        Sandbox::of(lua_).charge(lua_, 1);
        if (compared_by_function_) lua_pushvalue(lua_, 2);
        lua_rawgeti(lua_, 3, a);
        lua_rawgeti(lua_, 3, b);
        bool is_before = false;
        if (compared_by_function_) {
            lua_call(lua_, 2, 1);
            is_before = lua_toboolean(lua_, -1) != 0;
            lua_pop(lua_, 1);
        } else {
            is_before = lua_compare(lua_, -2, -1, LUA_OPLT) != 0;
            lua_pop(lua_, 2);
        }
        return is_before;
    }

 private:
    lua_State* lua_;
    bool compared_by_function_;
};

/// Merge sort from the bottom: whatever the comparison says, no step leaves the arrays.
std::vector<lua_Integer> sorted(Elements& elements, lua_Integer count) {
    const auto size = static_cast<size_t>(count);
    std::vector<lua_Integer> order(size), merged(size);
    for (size_t i = 0; i < size; ++i) order[i] = static_cast<lua_Integer>(i) + 1;
    for (size_t width = 1; width < size; width *= 2) {
        for (size_t begin = 0; begin < size; begin += 2 * width) {
            const size_t middle = std::min(begin + width, size), end = std::min(begin + 2 * width, size);
            size_t left = begin, right = middle;
            for (size_t to = begin; to < end; ++to) {
                const bool from_right = left == middle || (right < end && elements.before(order[right], order[left]));
                merged[to] = order[from_right ? right++ : left++];
            }
        }
        std::swap(order, merged);
    }
    return order;
}

}  // namespace

int ordered_pairs(lua_State* lua) {
    luaL_checkany(lua, 1);
    if (luaL_getmetafield(lua, 1, "__pairs") != LUA_TNIL) {
        lua_pushvalue(lua, 1);
        lua_call(lua, 1, 3);
        return 3;
    }
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_settop(lua, 1);
    lua_pushvalue(lua, 1);
    push_keys(lua, 1);
    lua_pushinteger(lua, 0);
    lua_pushcclosure(lua, &step, 3);
    return 1;
}

int ordered_next(lua_State* lua) {
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_settop(lua, 2);
    const bool from_start = lua_isnil(lua, 2);
    lua_pushnil(lua);  // 3: the best key so far
    lua_pushnil(lua);
    uint64_t seen = 0;
    while (lua_next(lua, 1) != 0) {
        lua_pop(lua, 1);
        ++seen;
        const Key key = key_at(lua, -1);
        if ((from_start || key_at(lua, 2) < key) && (lua_isnil(lua, 3) || key < key_at(lua, 3))) {
            lua_pushvalue(lua, -1);
            lua_replace(lua, 3);
        }
    }
    Sandbox::of(lua).charge(lua, seen);
    if (lua_isnil(lua, 3)) return 1;
    lua_pushvalue(lua, 3);
    lua_rawget(lua, 1);
    return 2;
}

int stable_sort(lua_State* lua) {
    luaL_checktype(lua, 1, LUA_TTABLE);
    if (!lua_isnoneornil(lua, 2)) luaL_checktype(lua, 2, LUA_TFUNCTION);
    lua_settop(lua, 2);
    const lua_Integer count = luaL_len(lua, 1);
    luaL_argcheck(lua, count < kSortable, 1, "array too big");
    lua_newtable(lua);
    for (lua_Integer i = 1; i <= count; ++i) {
        lua_geti(lua, 1, i);
        lua_rawseti(lua, 3, i);
    }
    if (count < 2) return 0;
    Elements elements(lua);
    lua_Integer to = 0;
    for (const lua_Integer from : sorted(elements, count)) {
        lua_rawgeti(lua, 3, from);
        lua_seti(lua, 1, ++to);
    }
    return 0;
}

}  // namespace recuda

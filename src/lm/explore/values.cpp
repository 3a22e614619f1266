#include "lm/explore/values.h"

#include <fmt/format.h>

#include <lua.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace recuda {
namespace {

/// Reads values and counts what they hold.
class Reader {
 public:
    explicit Reader(lua_State* lua) : lua_(lua) {}

    Json read(int index, int depth) {
        count(8);
        switch (lua_type(lua_, index)) {
            case LUA_TNIL:
                return nullptr;
            case LUA_TBOOLEAN:
                return lua_toboolean(lua_, index) != 0;
            case LUA_TNUMBER:
                return number(index);
            case LUA_TSTRING:
                return text(index);
            case LUA_TTABLE:
                return table(lua_absindex(lua_, index), depth);
            default:
                throw Error("a {} cannot be passed on", luaL_typename(lua_, index));
        }
    }

 private:
    void count(size_t bytes) {
        bytes_ += bytes;
        if (bytes_ > kValueBytes) throw Error("a value of more than {} MiB cannot be passed on", kValueBytes >> 20);
    }

    Json number(int index) const {
        if (lua_isinteger(lua_, index)) return static_cast<int64_t>(lua_tointeger(lua_, index));
        return json_number(lua_tonumber(lua_, index));
    }

    Json text(int index) {
        size_t size = 0;
        const char* bytes = lua_tolstring(lua_, index, &size);
        count(size);
        return json_text({bytes, size});
    }

    /// How many keys there are, -1 where they are not 1 to n.
    int64_t length(int index) const {
        int64_t keys = 0, largest = 0;
        lua_pushnil(lua_);
        while (lua_next(lua_, index) != 0) {
            lua_pop(lua_, 1);
            if (!lua_isinteger(lua_, -1) || lua_tointeger(lua_, -1) < 1) {
                lua_pop(lua_, 1);
                return -1;
            }
            largest = std::max<int64_t>(largest, lua_tointeger(lua_, -1));
            ++keys;
        }
        return keys == largest ? keys : -1;
    }

    std::string key() {
        if (lua_type(lua_, -2) == LUA_TSTRING) return text(-2);
        if (lua_isinteger(lua_, -2)) return std::to_string(lua_tointeger(lua_, -2));
        throw Error("a table with a {} as a key cannot be passed on", luaL_typename(lua_, -2));
    }

    Json table(int index, int depth) {
        if (depth >= kValueDepth) throw Error("tables more than {} deep cannot be passed on", kValueDepth);
        luaL_checkstack(lua_, 4, nullptr);
        if (const int64_t elements = length(index); elements >= 0) {
            Json array = Json::array();
            for (int64_t i = 1; i <= elements; ++i) {
                lua_rawgeti(lua_, index, i);
                array.push_back(read(-1, depth + 1));
                lua_pop(lua_, 1);
            }
            return array;
        }
        Json object = Json::object();
        lua_pushnil(lua_);
        while (lua_next(lua_, index) != 0) {
            object[key()] = read(-1, depth + 1);
            lua_pop(lua_, 1);
        }
        return object;
    }

    lua_State* lua_;
    size_t bytes_ = 0;
};

void push_text(lua_State* lua, const Json& value) {
    const auto& text = value.get_ref<const std::string&>();
    lua_pushlstring(lua, text.data(), text.size());
}

void push_array(lua_State* lua, const Json& value) {
    lua_createtable(lua, static_cast<int>(std::min<size_t>(value.size(), 1 << 20)), 0);
    lua_Integer i = 0;
    for (const Json& element : value) {
        push_value(lua, element);
        lua_rawseti(lua, -2, ++i);
    }
}

void push_object(lua_State* lua, const Json& value) {
    lua_createtable(lua, 0, static_cast<int>(std::min<size_t>(value.size(), 1 << 20)));
    for (const auto& [key, element] : value.items()) {
        lua_pushlstring(lua, key.data(), key.size());
        push_value(lua, element);
        lua_rawset(lua, -3);
    }
}

}  // namespace

void push_value(lua_State* lua, const Json& value) {
    luaL_checkstack(lua, 4, "a value is too deep");
    switch (value.type()) {
        case Json::value_t::boolean:
            return lua_pushboolean(lua, value.get<bool>() ? 1 : 0);
        case Json::value_t::number_integer:
        case Json::value_t::number_unsigned:
            return lua_pushinteger(lua, value.get<int64_t>());
        case Json::value_t::number_float:
            return lua_pushnumber(lua, value.get<double>());
        case Json::value_t::string:
            return push_text(lua, value);
        case Json::value_t::array:
            return push_array(lua, value);
        case Json::value_t::object:
            return push_object(lua, value);
        default:
            return lua_pushnil(lua);
    }
}

Json value_at(lua_State* lua, int index) { return Reader(lua).read(index, 0); }

Json values_on_stack(lua_State* lua) {
    Reader reader(lua);
    Json all = Json::array();
    const int count = lua_gettop(lua);
    for (int i = 1; i <= count; ++i) all.push_back(reader.read(i, 0));
    return all;
}

}  // namespace recuda

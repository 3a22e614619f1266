#include "task/toml.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"

namespace recuda {

toml::table read_toml(const std::filesystem::path& path) {
    try {
        return toml::parse(read_file(path, uint64_t{16} << 20), shown(path));
    } catch (const toml::parse_error& error) {
        const toml::source_position& at = error.source().begin;
        throw Error("{}:{}:{}: {}", shown(path), at.line, at.column, error.description());
    }
}

const toml::node& TomlTable::node(std::string_view key) const {
    const toml::node* found = table_.get(key);
    if (found == nullptr) throw Error("{}:{}: `{}` is missing", file_, table_.source().begin.line, key);
    return *found;
}

void TomlTable::fail(std::string_view key, const std::string& what) const {
    const toml::node* found = table_.get(key);
    const toml::source_position at = (found == nullptr ? table_.source() : found->source()).begin;
    throw Error("{}:{}:{}: {}", file_, at.line, at.column, what);
}

void TomlTable::allow(const std::vector<std::string>& known) const {
    for (const std::string& key : keys())
        if (std::find(known.begin(), known.end(), key) == known.end())
            fail(key, fmt::format("unknown key `{}`{}", key, did_you_mean(key, known)));
}

std::string TomlTable::text(std::string_view key) const {
    if (const auto value = node(key).value<std::string>()) return *value;
    fail(key, fmt::format("`{}` must be a text", key));
}

std::string TomlTable::text(std::string_view key, std::string_view otherwise) const {
    return has(key) ? text(key) : std::string(otherwise);
}

bool TomlTable::flag(std::string_view key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (const auto value = node(key).value<bool>()) return *value;
    fail(key, fmt::format("`{}` must be true or false", key));
}

std::vector<std::string> TomlTable::texts(std::string_view key) const {
    const toml::array* array = node(key).as_array();
    if (array == nullptr) fail(key, fmt::format("`{}` must be a list of texts", key));
    std::vector<std::string> all;
    for (const toml::node& element : *array) {
        // An extent may be written as a plain number.
        if (const auto text = element.value<std::string>())
            all.push_back(*text);
        else if (const auto number = element.value<int64_t>())
            all.push_back(fmt::format("{}", *number));
        else
            fail(key, fmt::format("`{}` must be a list of texts", key));
    }
    return all;
}

TomlTable TomlTable::table(std::string_view key) const {
    static const toml::table kEmpty;
    if (!has(key)) return {kEmpty, file_};
    if (const toml::table* found = node(key).as_table()) return {*found, file_};
    fail(key, fmt::format("`{}` must be a table", key));
}

std::vector<std::string> TomlTable::keys() const {
    std::vector<const toml::key*> found;
    for (const auto& [key, value] : table_) found.push_back(&key);
    // toml++ sorts keys by name; the file's order is the one people meant.
    std::sort(found.begin(), found.end(), [](const toml::key* a, const toml::key* b) {
        const auto place = [](const toml::key* key) {
            return std::pair(key->source().begin.line, key->source().begin.column);
        };
        return place(a) < place(b);
    });
    std::vector<std::string> names;
    for (const toml::key* key : found) names.emplace_back(key->str());
    return names;
}

}  // namespace recuda

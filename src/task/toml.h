// Reading TOML with errors that name file and line, and with nearest words for misspelt keys. Only .cpp files of this
// layer and of presets include it: toml++ is heavy.
#pragma once

#include <toml++/toml.h>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace recuda {

/// Parses a file; throws Error "file:line:column: …".
toml::table read_toml(const std::filesystem::path& path);

/// A table with the name of its file, for messages.
class TomlTable {
 public:
    TomlTable(const toml::table& table, std::string file) : table_(table), file_(std::move(file)) {}

    /// Throws Error when a key is none of `known`.
    void allow(const std::vector<std::string>& known) const;
    bool has(std::string_view key) const { return table_.contains(key); }

    std::string text(std::string_view key) const;
    std::string text(std::string_view key, std::string_view otherwise) const;
    bool flag(std::string_view key, bool otherwise) const;
    std::vector<std::string> texts(std::string_view key) const;
    /// A sub-table; an empty one where the key is missing.
    TomlTable table(std::string_view key) const;
    const toml::table& raw() const { return table_; }
    const std::string& file() const { return file_; }

    /// Keys as written, in the order of the file.
    std::vector<std::string> keys() const;

    [[noreturn]] void fail(std::string_view key, const std::string& what) const;

 private:
    const toml::node& node(std::string_view key) const;
    const toml::table& table_;
    std::string file_;
};

}  // namespace recuda

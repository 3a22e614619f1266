// The words of one command: declared as rows (name, place, help), then parsed. `--help` and `--json` are there for
// every command.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

class CommandLine {
 public:
    CommandLine(std::string name, std::string summary, std::vector<std::string> words);
    ~CommandLine();

    /// An option that takes a value, `--name VALUE`. Vectors repeat.
    void option(const std::string& name, const std::string& value, std::string& into, const std::string& help);
    void option(const std::string& name, const std::string& value, std::optional<std::string>& into,
                const std::string& help);
    void option(const std::string& name, const std::string& value, int64_t& into, const std::string& help);
    void option(const std::string& name, const std::string& value, uint64_t& into, const std::string& help);
    void option(const std::string& name, const std::string& value, double& into, const std::string& help);
    void option(const std::string& name, const std::string& value, std::vector<std::string>& into,
                const std::string& help);
    void flag(const std::string& name, bool& into, const std::string& help);
    /// A word without a dash.
    void word(const std::string& name, std::string& into, const std::string& help, bool required);
    /// Any number of them.
    void words(const std::string& name, std::vector<std::string>& into, const std::string& help);
    /// Printed at the end of --help.
    void example(const std::string& text);

    /// Parses; false after --help was printed. Throws UsageError, with the nearest option for a misspelt one.
    bool parse();

    bool json() const { return json_; }

 private:
    struct Parser;
    std::unique_ptr<Parser> parser_;
    std::vector<std::string> words_;
    bool json_ = false;
};

/// Prints the one JSON document of a command to stdout, in ASCII. Throws Error when stdout cannot be written.
void print_json(const nlohmann::json& document);

/// Prints text for a person to stdout, whoever wrote parts of it: without what commands a terminal, but line ends and
/// tabs. Throws Error when stdout cannot be written.
void print_text(std::string_view text);

/// The same of text with colours ("\x1b[32m"), which stay.
void print_coloured(std::string_view text);

/// Says something beside a command's result: one line on stderr, like what `print_text` prints.
void tell(std::string_view words);

}  // namespace recuda

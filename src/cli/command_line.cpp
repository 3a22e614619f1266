#include "cli/command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace recuda {

struct CommandLine::Parser {
    CLI::App app;
    std::vector<std::string> options;  // names, for "did you mean"
};

CommandLine::CommandLine(std::string name, std::string summary, std::vector<std::string> words)
    : parser_(std::make_unique<Parser>()), words_(std::move(words)) {
    parser_->app.description(std::move(summary));
    parser_->app.name("cuda-rlm " + std::move(name));
    parser_->app.option_defaults()->take_last();
    flag("--json", json_, "Print one JSON document and nothing else on stdout");
}

CommandLine::~CommandLine() = default;

namespace {

template <typename T>
void declare(CLI::App& app, std::vector<std::string>& names, const std::string& name, const std::string& value, T& into,
             const std::string& help) {
    names.push_back(name);
    app.add_option(name, into, help)->type_name(value)->expected(1);
}

void write(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw Error("cannot write to standard output");
}

}  // namespace

void CommandLine::option(const std::string& name, const std::string& value, std::string& into,
                         const std::string& help) {
    declare(parser_->app, parser_->options, name, value, into, help);
}
void CommandLine::option(const std::string& name, const std::string& value, std::optional<std::string>& into,
                         const std::string& help) {
    declare(parser_->app, parser_->options, name, value, into, help);
}
void CommandLine::option(const std::string& name, const std::string& value, int64_t& into, const std::string& help) {
    declare(parser_->app, parser_->options, name, value, into, help);
}
void CommandLine::option(const std::string& name, const std::string& value, uint64_t& into, const std::string& help) {
    declare(parser_->app, parser_->options, name, value, into, help);
}
void CommandLine::option(const std::string& name, const std::string& value, double& into, const std::string& help) {
    declare(parser_->app, parser_->options, name, value, into, help);
}
void CommandLine::option(const std::string& name, const std::string& value, std::vector<std::string>& into,
                         const std::string& help) {
    parser_->options.push_back(name);
    // CLI11 would split and merge values of a vector by itself; each use of the option is one value as it stands.
    parser_->app
        .add_option_function<std::string>(
            name, [&into](const std::string& one) { into.push_back(one); }, help)
        ->type_name(value)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->trigger_on_parse();
}
void CommandLine::flag(const std::string& name, bool& into, const std::string& help) {
    parser_->options.push_back(name);
    parser_->app.add_flag(name, into, help);
}
void CommandLine::word(const std::string& name, std::string& into, const std::string& help, bool required) {
    parser_->app.add_option(name, into, help)->type_name("")->required(required);
}
void CommandLine::words(const std::string& name, std::vector<std::string>& into, const std::string& help) {
    parser_->app.add_option(name, into, help)->type_name("");
}
void CommandLine::example(const std::string& text) { parser_->app.footer("Example:\n  " + text); }

bool CommandLine::parse() {
    std::vector<std::string> reversed(words_.rbegin(), words_.rend());  // CLI11 takes them from the back
    try {
        parser_->app.parse(reversed);
        return true;
    } catch (const CLI::CallForHelp&) {
        print_text(parser_->app.help());
        return false;
    } catch (const CLI::ParseError& error) {
        for (const std::string& word : words_) {
            const std::string name = word.substr(0, word.find('='));
            const bool known = name == "--help" || std::find(parser_->options.begin(), parser_->options.end(), name) !=
                                                       parser_->options.end();
            if (name.starts_with("--") && name.size() > 2 && !known)
                throw UsageError("{} has no option {}{}", parser_->app.get_name(), name,
                                 did_you_mean(name, parser_->options));
        }
        throw UsageError("{}; see {} --help", valid_utf8(error.what()), parser_->app.get_name());
    }
}

void print_json(const Json& document) { write(document.dump(1, ' ', true, Json::error_handler_t::replace) + "\n"); }

void print_text(std::string_view text) { write(printable(text)); }

void print_coloured(std::string_view text) {
    constexpr std::string_view kBegin = "\x1b[";
    std::string plain;
    for (size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin)) {
        const size_t end = text.find_first_not_of("0123456789;", at + kBegin.size());
        const bool is_colour = end != std::string_view::npos && text[end] == 'm';
        const size_t next = is_colour ? end + 1 : at + kBegin.size();
        plain += printable(text.substr(0, is_colour ? at : next));
        if (is_colour) plain += text.substr(at, next - at);
        text.remove_prefix(next);
    }
    write(plain + printable(text));
}

void tell(std::string_view words) { fmt::print(stderr, "cuda-rlm: {}\n", printable(words)); }

}  // namespace recuda

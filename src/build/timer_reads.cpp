#include "build/timer_reads.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

namespace recuda {
namespace {

constexpr size_t kMaxName = 64 << 10;

/// A function's name without namespaces, template arguments and parameters, and its template arguments.
struct FunctionName {
    std::string scope, name, arguments;
};

/// Where the parameters begin: at the last '(' outside of '<…>' and of other parentheses.
size_t parameters(std::string_view text) {
    int angle = 0, round = 0;
    size_t at = std::string_view::npos;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '<') ++angle;
        if (text[i] == '>' && (i == 0 || text[i - 1] != '-')) --angle;
        if (text[i] == '(' && angle == 0 && round++ == 0) at = i;
        if (text[i] == ')' && angle == 0) --round;
    }
    return at;
}

std::optional<FunctionName> function_name(const std::string& mangled) {
    if (mangled.size() > kMaxName) return std::nullopt;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
    if (status != 0 || !text) return std::nullopt;
    std::string_view whole = text.get();
    whole = whole.substr(0, parameters(whole));
    // What lies outside of template arguments: "void", a blank, and names with "::" between them.
    size_t begin = 0, last = 0, open = whole.size();
    int angle = 0;
    for (size_t i = 0; i < whole.size(); ++i) {
        if (whole[i] == '<' && angle++ == 0) open = i;
        if (whole[i] == '>') --angle;
        if (angle > 0) continue;
        if (whole[i] == ' ') begin = last = i + 1, open = whole.size();
        if (whole[i] == ':') last = i + 1, open = whole.size();
    }
    return FunctionName{std::string(whole.substr(begin, last - begin)),
                        std::string(whole.substr(last, std::max(open, last) - last)),
                        std::string(whole.substr(std::max(open, last)))};
}

bool is_of_cuda(const std::optional<FunctionName>& function) {
    return function && function->scope.starts_with("cuda::");
}

/// The loop, over a test of the library's own: of another's it is not known what it does.
bool is_poll(const FunctionName& function) {
    if (function.name != "__cccl_thread_poll_with_backoff" && function.name != "__libcpp_thread_poll_with_backoff")
        return false;
    constexpr std::array<std::string_view, 3> kTests{"__barrier_poll_tester_phase<", "__barrier_poll_tester_parity<",
                                                     "__atomic_poll_tester<"};
    const std::string_view arguments = function.arguments;
    if (!arguments.starts_with("<cuda::std::")) return false;
    const size_t inner = arguments.find('<', 1);
    return std::any_of(kTests.begin(), kTests.end(), [&](std::string_view test) {
        const size_t size = test.size();
        return inner != std::string_view::npos && inner + 1 >= size && arguments.substr(inner + 1 - size, size) == test;
    });
}

/// Waits that end when what they wait for has come, and not before.
bool is_wait(const FunctionName& function) {
    return function.name == "wait" || function.name == "wait_parity" ||
           function.name == "__atomic_try_wait_slow_fallback";
}

}  // namespace

std::map<std::string_view, std::string> debug_strings(std::span<const PtxToken> tokens) {
    std::map<std::string_view, std::string> strings;
    std::string* current = nullptr;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
        if (tokens[i + 1].is(":") && tokens[i].text.starts_with("$L__info_string"))
            current = &strings[tokens[i].text];
        else if (tokens[i].is("}"))
            current = nullptr;
        else if (current != nullptr && (tokens[i].is(".b8") || tokens[i].is(","))) {
            unsigned byte = 0;
            const std::string_view number = tokens[i + 1].text;
            std::from_chars(number.data(), number.data() + number.size(), byte);
            if (byte != 0) *current += static_cast<char>(byte);
        }
    }
    return strings;
}

bool is_back_off(std::span<const std::string> functions) {
    if (functions.size() < 3) return false;
    const std::optional<FunctionName> now = function_name(functions[0]), poll = function_name(functions[1]),
                                      wait = function_name(functions[2]);
    return is_of_cuda(now) && now->name == "now" && is_of_cuda(poll) && is_poll(*poll) && is_of_cuda(wait) &&
           is_wait(*wait);
}

}  // namespace recuda

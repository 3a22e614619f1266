// This test program is its own worker of sessions: started with "explore-worker" it serves, with "bad-explore-worker"
// it serves badly.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/worker_process.h"
#include "lm/explore/session.h"

namespace recuda {
namespace {

/// Does what the code says, once it is ready.
int serve_badly() {
    if (!read_message(STDIN_FILENO)) return 0;
    write_message(STDOUT_FILENO, R"({"ready":true})");
    while (const std::optional<std::string> message = read_message(STDIN_FILENO)) {
        const std::string code = nlohmann::json::parse(*message).at("run");
        if (code == "die") return 3;
        if (code == "bytes" && ::write(STDOUT_FILENO, "\xff\xff\xff\xff\xff\xff", 6) != 6) return 1;
        if (code == "text") write_message(STDOUT_FILENO, "hello");
        if (code == "array") write_message(STDOUT_FILENO, "[1]");
        if (code == "deep") {
            const std::string open(1 << 20, '['), close(1 << 20, ']');
            write_message(STDOUT_FILENO, R"({"call":"twice","arguments":)" + open + close + "}");
        }
        if (code == "fields") write_message(STDOUT_FILENO, R"({"output":7})");
        if (code == "types") write_message(STDOUT_FILENO, R"({"call":{},"arguments":3})");
        if (code == "ended") write_message(STDOUT_FILENO, R"({"output":"","error":"","ended":true,"end":true})");
        if (code == "flood") {
            const std::string word(1 << 20, 'x');
            write_message(STDOUT_FILENO, nlohmann::json{{"output", word}, {"error", word}}.dump());
        }
        if (code == "unknown") {
            write_message(STDOUT_FILENO, R"({"call":"system","arguments":["true"]})");
            const std::string reply = *read_message(STDIN_FILENO);
            write_message(STDOUT_FILENO, nlohmann::json{{"output", reply}, {"error", ""}}.dump());
        }
        if (code == "deaf") {
            write_message(STDOUT_FILENO, R"({"call":"long","arguments":[]})");
            ::_exit(0);
        }
    }
    return 0;
}

const bool kServed = [] {
    std::ifstream arguments("/proc/self/cmdline");
    std::string program, word;
    std::getline(arguments, program, '\0');
    std::getline(arguments, word, '\0');
    if (word == "explore-worker") std::_Exit(serve_explore_worker());
    if (word == "bad-explore-worker") std::_Exit(serve_badly());
    return true;
}();

}  // namespace
}  // namespace recuda

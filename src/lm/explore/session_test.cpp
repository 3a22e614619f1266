#include "lm/explore/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/json.h"
#include "base/process.h"
#include "base/text.h"
#include "lm/model.h"

namespace recuda {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string text_of(const std::string& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// The workers among the descendants of a process.
std::vector<std::string> below(const std::string& parent) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string process = entry.path().filename();
        if (text_of("/proc/" + process + "/status").find("\nPPid:\t" + parent + "\n") == std::string::npos) continue;
        if (text_of("/proc/" + process + "/cmdline").find("explore-worker") == std::string::npos) continue;
        found.push_back(process);
        for (const std::string& child : below(process)) found.push_back(child);
    }
    return found;
}

std::string jail_of(const std::string& process) {
    std::string told;
    const std::string status = text_of("/proc/" + process + "/status");
    for (const std::string_view line : split_lines(status))
        if (line.starts_with("NoNewPrivs:") || line.starts_with("Seccomp:")) told += std::string(line) + " ";
    const bool leaks = text_of("/proc/" + process + "/environ").find("secret") != std::string::npos;
    return told + "secret: " + (leaks ? "yes" : "no");
}

/// A session whose functions do little, with small bounds.
class SessionTest : public testing::Test {
 protected:
    static SessionOptions options(double seconds = 60) {
        return {.command = {this_program(), "explore-worker"},
                .limits = {.memory_bytes = 96 << 20, .instructions = 2'000'000, .output_bytes = 300},
                .seconds = seconds,
                .seed = 7};
    }

    std::vector<SessionFunction> functions() {
        return {{.name = "twice",
                 .usage = "",
                 .call =
                     [](const Json& a) {
                         return Json::array({a.at(0), a.at(0)});
                     }},
                {.name = "fails", .usage = "", .call = [](const Json&) -> Json { throw Error("no such document"); }},
                {.name = "scarce", .usage = "", .call = [](const Json&) { return "here"; }, .most_calls = 2},
                {.name = "long", .usage = "", .call = [](const Json&) { return std::string(8 << 20, 'x'); }},
                {.name = "broke",
                 .usage = "",
                 .call = [](const Json&) -> Json { throw LmError(LmFault::budget, "no calls are left"); }},
                {.name = "busy",
                 .usage = "",
                 .call = [](const Json&) -> Json { throw LmError(LmFault::rate_limited, "429 from the server"); }},
                {.name = "submit",
                 .usage = "",
                 .call = [this](const Json& a) -> Json {
                     if (!a.at(0).contains("answer")) throw Error("the field answer is missing");
                     submitted_ = a.at(0);
                     return nullptr;
                 },
                 .ends = true}};
    }

    LuaSession::Turn run(const std::string& code) {
        if (!session_) session_ = std::make_unique<LuaSession>(options(), variables_, functions());
        return session_->run(code, {});
    }
    std::string output(const std::string& code) {
        const LuaSession::Turn turn = run(code);
        EXPECT_EQ(turn.error, "") << code;
        return turn.output;
    }

    Json variables_ = {
        {"text", "one\ntwo\n"}, {"list", {"a", "b", "c"}}, {"record", {{"speed", 1.5}, {"right", true}}}};
    Json submitted_;
    std::unique_ptr<LuaSession> session_;
};

TEST_F(SessionTest, RunsPrograms) {
    const std::pair<const char*, const char*> cases[] = {
        {"print(1 + 1, 'x', nil, true, 2.5, 1/0)", "2\tx\tnil\ttrue\t2.5\tinf\n"},
        {"#text", "8\n"},
        {"list[2], #list", "b\t3\n"},
        {"record.speed * 2", "3.0\n"},
        {"for line in text:gmatch('[^\\n]+') do print(line) end", "one\ntwo\n"},
        {"twice({k = {1, 2}})[2].k[2]", "2\n"},
        {"twice(nil)[1]", "nil\n"},
        {"select('#', pcall(error))", "2\n"},
        {"x = 5", ""},
        {"x + 1", "6\n"},
        {"string.format('%5.2f|%s|%s', 3.14159, 'a', nil)", " 3.14|a|nil\n"},
        {"print(pcall(fails, 1))", "false\tno such document\n"},
        {"local ok, why = pcall(function() fails() end) print(why)", "program:1: no such document\n"},
        {"print(pcall(busy))", "false\t429 from the server\n"},
        {"scarce() .. scarce()", "herehere\n"},
        {"print(pcall(scarce))", "false\tscarce may be called 2 times only\n"},
        {"print(pcall(twice, print))", "false\ta function cannot be passed on\n"},
        {"t = {} t[1] = t print(pcall(twice, t))", "false\ttables more than 32 deep cannot be passed on\n"},
        {"utf8.char(8364), coroutine.wrap(function() return 3 end)()", "€\t3\n"},
        {"'\\xff'", "\xef\xbf\xbd\n"},
    };
    for (const auto& [code, told] : cases) EXPECT_EQ(output(code), told) << code;
}

TEST_F(SessionTest, TellsErrorsOfPrograms) {
    const std::pair<const char*, const char*> cases[] = {
        {"x = = 1", "program:1: unexpected symbol near '='"},
        {"\n\nnothing.at_all = 1", "program:3: attempt to index a nil value (global 'nothing')"},
        {"error('mine')", "program:1: mine"},
        {"error({code = 3})", "table: 1"},
        {"error(setmetatable({}, {__tostring = function() return 'made' end}))", "made"},
        {"error(setmetatable({}, {__tostring = function() return 1 end}))", "an error that cannot be shown"},
        {"error(nil)", "nil"},
        {"\x1bLua", "attempt to load a binary chunk (mode is 't')"},
    };
    for (const auto& [code, told] : cases) EXPECT_EQ(run(code).error, told) << code;
    EXPECT_EQ(run("print('before') error('after', 0)").output, "before\n");
}

TEST_F(SessionTest, KeepsVariablesAndGivesBackItsOwn) {
    output("seen = {n = 1} function more() seen.n = seen.n + 1 return seen.n end");
    EXPECT_EQ(output("more()"), "2\n");
    EXPECT_EQ(output("more()"), "3\n");
    output("print, text, string = nil, nil, nil");
    EXPECT_EQ(output("print(#text, string.rep('a', 2))"), "8\taa\n");
}

TEST_F(SessionTest, SubmitsOnceItIsRight) {
    EXPECT_EQ(run("submit{wrong = 1}").error, "program:1: the field answer is missing");
    EXPECT_TRUE(submitted_.is_null());
    const LuaSession::Turn turn = run("print('a') pcall(submit, {answer = {1, 'x'}}) print('b') while true do end");
    EXPECT_TRUE(turn.ended);
    EXPECT_EQ(turn.output, "a\n");
    EXPECT_EQ(turn.error, "");
    EXPECT_EQ(submitted_, Json({{"answer", {1, "x"}}}));
}

TEST_F(SessionTest, SaysTheSameInEveryProcess) {
    const std::string code =
        "local t = {} for i = 1, 300 do t['k' .. i * 7919 % 1000] = i t[i * 1.5] = true end t[true] = 1 t[print] = 1\n"
        "local keys = {} for k in pairs(t) do keys[#keys + 1] = tostring(k) end\n"
        "local k = next(t) for i = 1, 20 do keys[#keys + 1] = tostring(k) k = next(t, k) end\n"
        "for i = 1, 200 do keys[#keys + 1] = math.random(1000) end\n"
        "table.sort(keys, function(a, b) return #tostring(a) < #tostring(b) end)\n"
        "print(print, {}, coroutine.create(print), string.format('%s %s', keys, print), table.concat(keys, ' '))";
    std::string first;
    for (int i = 0; i < 3; ++i) {
        SessionOptions own = options();
        own.limits.output_bytes = 100000;
        LuaSession session(own, variables_, functions());
        const LuaSession::Turn turn = session.run(code, {});
        EXPECT_EQ(turn.error, "");
        EXPECT_THAT(turn.output, StartsWith("function: 1\ttable: 3\tthread: 4\ttable: 2 function: 1\t"));
        EXPECT_THAT(turn.output, testing::Not(HasSubstr("0x")));
        if (i == 0) first = turn.output;
        EXPECT_TRUE(turn.output == first);
    }
}

TEST_F(SessionTest, OrdersKeysAndSortsStably) {
    EXPECT_EQ(output("local t = {b = 1, a = 2, [10] = 3, [2] = 4, [1.5] = 5, [-1] = 6, [false] = 7}\n"
                     "for k, v in pairs(t) do t[k] = nil io_ = (io_ or '') .. tostring(k) .. '=' .. v .. ' ' end\n"
                     "return io_, next(t)"),
              "-1=6 1.5=5 2=4 10=3 a=2 b=1 false=7 \tnil\n");
    EXPECT_EQ(output("local t = {5, 3, 9, 1} table.sort(t) local s = table.concat(t, ' ')\n"
                     "table.sort(t, function(a, b) return true end) return s, #t"),
              "1 3 5 9\t4\n");
    EXPECT_EQ(
        output("local t = {} for i = 1, 50 do t[i] = {i % 3, i} end\n"
               "table.sort(t, function(a, b) return a[1] < b[1] end)\n"
               "for i = 2, 50 do if t[i][1] == t[i - 1][1] then assert(t[i][2] > t[i - 1][2]) end end return t[1][2]"),
        "3\n");
}

TEST_F(SessionTest, CutsOutputToHeadAndTail) {
    EXPECT_EQ(output("for i = 1, 1000 do print(i) end").substr(0, 4), "1\n2\n");
    EXPECT_THAT(output("for i = 1, 100000 do print('line', i) end"), HasSubstr("bytes left out …]\n"));
    EXPECT_THAT(output("print(string.rep('x', 2000000))"), HasSubstr("x\n[… 1999701 bytes left out …]\nx"));
}

struct Hostile {
    const char* what;
    const char* code;
    const char* error;  // part of it
};

// What ends by the sandbox itself, with the session as it was.
constexpr Hostile kBounded[] = {
    {"endless loop", "while true do end", "more than 2000000 instructions"},
    {"goto", "::a:: goto a", "more than 2000000 instructions"},
    {"pcall that swallows the limit", "while true do pcall(function() while true do end end) end",
     "more than 2000000 instructions"},
    {"pcall within pcall", "local function f(n) if n > 0 then pcall(f, n - 1) end while true do end end f(100)",
     "more than 2000000 instructions"},
    {"a handler of errors, which runs without the hook", "xpcall(function() end, print)",
     "attempt to call a nil value (global 'xpcall')"},
    {"a loop in a coroutine", "coroutine.wrap(function() while true do end end)()", "more than 2000000 instructions"},
    {"a coroutine that swallows it",
     "local f = coroutine.wrap(function() while true do pcall(function() while true do end end) end end) while true do "
     "pcall(f) end",
     "more than 2000000 instructions"},
    {"fresh coroutines, each below the hook's interval",
     "while true do coroutine.wrap(function() for i = 1, 200 do end end)() end", "more than 2000000 instructions"},
    {"a nest of coroutines", "local function f() coroutine.wrap(f)() end f()", "C stack overflow"},
    {"an error that loops when it is shown", "error(setmetatable({}, {__tostring = function() while true do end end}))",
     "more than 2000000 instructions"},
    {"an error that fails when it is shown",
     "error(setmetatable({}, {__tostring = function() error(setmetatable({}, {__tostring = error})) end}))",
     "an error that cannot be shown"},
    {"a metamethod that loops",
     "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) return t[1]", "stack overflow"},
    {"endless recursion", "local function f() return 1 + f() end f()", "stack overflow"},
    {"endless tail calls", "local function f() return f() end f()", "more than 2000000 instructions"},
    {"memory bomb", "local t = {} for i = 1, 1e9 do t[i] = string.rep('x', 100000) .. i end", "not enough memory"},
    {"string bomb", "local s = 'x' while true do s = s .. s end", "not enough memory"},
    {"string.rep bomb", "return #string.rep('x', 1 << 30)", "not enough memory"},
    {"table.concat bomb",
     "local t = {} for i = 1, 1000 do t[i] = string.rep('x', 30000) end return #table.concat(t, string.rep('y', "
     "30000))",
     "not enough memory"},
    {"gsub bomb", "return #string.gsub(string.rep('x', 100000), 'x', string.rep('y', 100000))", "not enough memory"},
    {"unpack bomb", "return table.unpack({}, 1, 1e8)", "too many results to unpack"},
    {"deep pattern", "return string.find(string.rep('a', 300000), string.rep('(a', 40))", "too many captures"},
    {"finalizer", "setmetatable({}, {__gc = function() while true do end end})", "there are no finalizers"},
    {"io", "io.open('/etc/passwd')", "attempt to index a nil value (global 'io')"},
    {"os", "os.execute('true')", "attempt to index a nil value (global 'os')"},
    {"package", "package.loadlib('libc.so.6', 'system')", "attempt to index a nil value (global 'package')"},
    {"require", "require 'os'", "attempt to call a nil value (global 'require')"},
    {"debug", "debug.sethook()", "attempt to index a nil value (global 'debug')"},
    {"load of bytecode", "load('\\27Lua')", "attempt to call a nil value (global 'load')"},
    {"dofile", "dofile('/etc/passwd')", "attempt to call a nil value (global 'dofile')"},
    {"string.dump", "string.dump(print)", "attempt to call a nil value (field 'dump')"},
    {"the metatable of texts", "getmetatable('').__index = nil", "attempt to index a boolean value"},
    {"addresses", "string.format('%-20p', print)", "there is no %p here"},
    {"a host function with a huge value", "twice(string.rep('x', 5 << 20))",
     "a value of more than 4 MiB cannot be passed on"},
    {"a host function with many large values", "local s = string.rep('x', 1 << 20) twice(s, s, s, s, s)",
     "a value of more than 4 MiB cannot be passed on"},
    {"a host function without end", "while true do pcall(fails) end", "more than 2000000 instructions"},
};

TEST_F(SessionTest, BoundsHostilePrograms) {
    output("kept = 'mine'");
    for (const Hostile& hostile : kBounded) {
        const LuaSession::Turn turn = run(hostile.code);
        EXPECT_THAT(turn.error, HasSubstr(hostile.error)) << hostile.what;
        EXPECT_FALSE(turn.ended) << hostile.what;
        EXPECT_LT(turn.output.size(), 600u) << hostile.what;
        EXPECT_EQ(output("kept"), "mine\n") << hostile.what;
    }
}

TEST_F(SessionTest, KillsWhatStaysInsideTheInterpreter) {
    session_ = std::make_unique<LuaSession>(options(0.5), variables_, functions());
    output("kept = {1, 2, 3} function total() return #kept end");
    const char* cases[] = {
        "kept = nil ('').rep('', 1 << 60)",
        "kept = nil string.find(string.rep('a', 200000), '.-.-.-.-b')",
        "kept = nil table.move({}, 1, 1 << 60, 2)",
        "kept = nil coroutine.wrap(function()\n"
        "  local c <close> = setmetatable({}, {__close = function() while true do end end}) while true do end end)()",
    };
    for (const char* code : cases) {
        const LuaSession::Turn turn = run(code);
        EXPECT_EQ(
            turn.error,
            "the program was killed: it took longer than 0.5 s of computing. All variables are as they were before it.")
            << code;
        EXPECT_EQ(output("total()"), "3\n") << code;
    }
}

TEST_F(SessionTest, KeepsWhatWasSubmittedBeforeAProgramWasKilled) {
    session_ = std::make_unique<LuaSession>(options(0.5), variables_, functions());
    const LuaSession::Turn turn =
        run("coroutine.wrap(function()\n"
            "  local c <close> = setmetatable({}, {__close = function() while true do end end})\n"
            "  pcall(submit, {answer = 1}) print('not reached') end)()");
    EXPECT_EQ(turn.output, "");
    EXPECT_TRUE(turn.ended);
    EXPECT_EQ(submitted_, Json({{"answer", 1}}));
}

TEST_F(SessionTest, SurvivesAProcessThatLies) {
    const std::pair<const char*, const char*> cases[] = {
        {"die", "its process ended"},
        {"bytes", "its process ended"},
        {"text", "its process answered what it does not answer"},
        {"array", "its process answered what it does not answer"},
        {"fields", "its process answered what it does not answer"},
        {"types", "its process answered what it does not answer"},
        {"deaf", "its process was gone"},
        {"deep", "its process answered what it does not answer"},
    };
    SessionOptions own = options();
    own.command.back() = "bad-explore-worker";
    LuaSession session(own, variables_, functions());
    for (const auto& [code, why] : cases) {
        const LuaSession::Turn turn = session.run(code, {});
        EXPECT_THAT(turn.error, HasSubstr(why)) << code;
        EXPECT_THAT(turn.error, HasSubstr("A new session holds the given variables")) << code;
        EXPECT_FALSE(turn.ended);
    }
    EXPECT_FALSE(session.run("ended", {}).ended);  // nothing was submitted
    const LuaSession::Turn flood = session.run("flood", {});
    EXPECT_LT(flood.output.size() + flood.error.size(), 5000u);
    EXPECT_EQ(session.run("unknown", {}).output, R"({"error":"there is no such function"})");
}

// What a program that broke out of the interpreter would find.
TEST_F(SessionTest, IsJailedWithoutOurEnvironment) {
    ::setenv("RECUDA_TEST_KEY", "sk-secret", 1);
    std::string told;
    std::vector<SessionFunction> all = functions();
    all.push_back({.name = "look", .usage = "", .call = [&told](const Json&) {
                       for (const std::string& process : below(std::to_string(::getpid())))
                           told += jail_of(process) + "\n";
                       return nullptr;
                   }});
    LuaSession(options(), variables_, all).run("look()", {});
    // The process that waits, the one that has the state, and the one that runs the program.
    const std::string one = "NoNewPrivs:\t1 Seccomp:\t2 secret: no\n";
    EXPECT_EQ(told, one + one + one);
}

TEST_F(SessionTest, PassesOnWhatNoProgramMends) {
    EXPECT_THROW(run("pcall(broke)"), LmError);
    EXPECT_EQ(output("#list"), "3\n");  // in a new process
}

TEST_F(SessionTest, StopsWhenAsked) {
    session_ = std::make_unique<LuaSession>(options(), variables_, functions());
    std::stop_source source;
    source.request_stop();
    try {
        session_->run("('').rep('', 1 << 60)", source.get_token());
        FAIL() << "was not stopped";
    } catch (const LmError& error) {
        EXPECT_EQ(error.fault, LmFault::stopped);
    }
}

TEST_F(SessionTest, HoldsLargeVariables) {
    std::string log;
    for (int i = 0; log.size() < (4 << 20); ++i) log += "line " + std::to_string(i) + "\n";
    variables_ = {{"log", log}};
    EXPECT_EQ(output("#log == " + std::to_string(log.size()) + ", log:match('line 123456')"), "true\tline 123456\n");
    variables_ = nullptr;
    EXPECT_THROW(LuaSession({.command = {"false"}}, Json::object(), {}), Error);
}

}  // namespace
}  // namespace recuda

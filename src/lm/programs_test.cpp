// Command-line programs, played by shell scripts.
#include "lm/programs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "lm/back_ends.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

/// A program of that name which keeps its arguments, stdin and environment, then does what `act` says.
class FakeProgram {
 public:
    FakeProgram(const std::string& name, const std::string& act) : name_(name) {
        const std::string text = R"(#!/bin/sh
case "$1 $2" in
"exec --help") echo "--json --ephemeral --skip-git-repo-check"; exit 0;;
"features list") echo "shell_tool stable true"; exit 0;;
esac
printf '%s\n' "$@" > ')" + (folder_.path() / "arguments").string() +
                                 "'\npwd > '" + (folder_.path() / "pwd").string() + "'\nenv > '" +
                                 (folder_.path() / "env").string() + "'\ncat > '" +
                                 (folder_.path() / "stdin").string() + "'\n" + act + "\n";
        write_atomically(path(), text);
        fs::permissions(path(), fs::perms::owner_all);
    }

    fs::path path() const { return folder_.path() / name_; }
    std::string kept(const char* what) const { return read_file(folder_.path() / what); }

    std::unique_ptr<BackEnd> model(double max_seconds = 30) const {
        Preset preset{.name = name_, .kind = PresetKind::cli};
        preset.program = path();
        preset.max_seconds = max_seconds;
        return make_program_model(preset);
    }

 private:
    TemporaryFolder folder_;
    std::string name_;
};

LmRequest question() {
    LmRequest request;
    request.messages = {{"system", "Be short."}, {"user", "What?"}};
    return request;
}

std::string said(const std::string& line) { return "cat <<'EOF'\n" + line + "\nEOF"; }

const char* const kCodexAnswer = R"({"type":"thread.started","thread_id":"t"}
{"type":"item.completed","item":{"type":"error","message":"model metadata not found"}}
{"type":"error","message":"Reconnecting... 1/5"}
{"type":"item.completed","item":{"type":"agent_message","text":"let me look"}}
not json at all
{"type":"item.completed","item":{"type":"reasoning","text":"hm"}}
{"type":"item.completed","item":{"type":"agent_message","text":"the answer"}}
{"type":"turn.completed","usage":{"input_tokens":9,"output_tokens":3,"reasoning_output_tokens":1}})";

TEST(Codex, gets_its_prompt_on_stdin_in_an_empty_folder_and_is_read_past_its_notices) {
    ::setenv("ZAI_API_KEY", "of-somebody-else", 1);
    const FakeProgram codex("codex", "head -c 300000 /dev/zero >&2\n" + said(kCodexAnswer));
    const LmResponse response = codex.model()->complete(question(), {});
    EXPECT_EQ(response.text, "the answer");
    EXPECT_EQ(response.reasoning, "hm");
    EXPECT_EQ(response.usage.input_tokens, 9u);
    EXPECT_EQ(response.usage.reasoning_tokens, 1u);
    EXPECT_EQ(codex.kept("stdin"), "What?");
    const std::string arguments = codex.kept("arguments");
    EXPECT_TRUE(arguments.starts_with("exec\n--json\n")) << arguments;
    for (const char* word : {"--ephemeral\n", "read-only\n", "--disable\nshell_tool\n", "model_instructions_file="})
        EXPECT_NE(arguments.find(word), std::string::npos) << word << arguments;
    for (const char* word : {"--ignore-rules", "multi_agent"})  // which this version does not know
        EXPECT_EQ(arguments.find(word), std::string::npos) << word << arguments;
    EXPECT_TRUE(arguments.ends_with("\n-\n"));
    EXPECT_NE(codex.kept("pwd").find("recuda-model"), std::string::npos);
    EXPECT_EQ(codex.kept("env").find("of-somebody-else"), std::string::npos);
    ::unsetenv("ZAI_API_KEY");
}

struct Failure {
    std::string program, act, fault, words;
};

TEST(Programs, failures_are_told_apart_whatever_the_exit_status_says) {
    const std::string refused = "unexpected status 401 Unauthorized: token expired";
    const Failure cases[] = {
        {"codex", said(R"({"type":"turn.failed","error":{"message":")" + refused + "\"}}") + "\nexit 1", "unauthorised",
         "401"},
        {"codex", said(R"({"type":"error","message":")" + refused + "\"}"), "unauthorised", "401"},
        {"codex", said(R"({"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429"}})"),
         "rate_limited", "429"},
        {"codex", said(R"({"type":"turn.completed","usage":{"input_tokens":9,"output_tokens":0}})"), "unreadable",
         "without an answer"},
        {"codex", "echo 'Error: Unknown feature flag: goals' >&2; exit 1", "not_usable", "Unknown feature"},
        {"codex", "printf '{\"type\":\"item.comp'; kill -9 $$", "server", "killed by signal 9"},
        {"codex", "yes 'and so on' | head -c 20000000", "unreadable", "MiB"},
        {"qwen", said(R"([{"type":"result","subtype":"success","is_error":false,"result":"[API Error: 401 no]"}])"),
         "unauthorised", "401"},
        {"qwen", said(R"([{"type":"result","is_error":true,"error":{"message":"500 Internal"}}])") + "\nexit 1",
         "server", "500"},
        {"qwen", "echo nothing", "unreadable", "no result"},
        {"qwen", said(R"({"type":"result","subtype":"success","is_error":false,"result":""})"), "unreadable",
         "without an answer"},
        {"claude",
         said(R"({"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"busy"})"),
         "rate_limited", "429"},
        {"claude", said(R"({"type":"result","subtype":"error_max_budget_usd"})"), "server", "error_max_budget_usd"},
    };
    for (const Failure& failure : cases) {
        const FakeProgram program(failure.program, failure.act);
        try {
            const LmResponse response = program.model()->complete(question(), {});
            ADD_FAILURE() << failure.act << " was answered with " << response.text;
        } catch (const LmError& error) {
            EXPECT_EQ(name(error.fault), failure.fault) << failure.act << ": " << error.what();
            EXPECT_NE(std::string(error.what()).find(failure.words), std::string::npos) << error.what();
        }
    }
}

TEST(Programs, results_of_qwen_and_claude_are_read) {
    const FakeProgram qwen("qwen",
                           said(R"([{"type":"system"},{"type":"result","is_error":false,"result":"yes",)"
                                R"("usage":{"input_tokens":7,"output_tokens":2,"cache_read_input_tokens":5}}])"));
    const LmResponse answer = qwen.model()->complete(question(), {});
    EXPECT_EQ(answer.text, "yes");
    EXPECT_EQ(answer.usage.tokens(), 9u);
    EXPECT_EQ(qwen.kept("stdin"), "What?");
    EXPECT_NE(qwen.kept("arguments").find("--system-prompt\nBe short.\n"), std::string::npos);

    ::setenv("CLAUDECODE", "1", 1);
    const FakeProgram claude("claude", said(R"({"type":"result","subtype":"success","is_error":false,"result":"yes",)"
                                            R"("total_cost_usd":0.25,"usage":{"input_tokens":7,"output_tokens":2,)"
                                            R"("cache_read_input_tokens":5}})"));
    const LmResponse other = claude.model()->complete(question(), {});
    EXPECT_EQ(other.text, "yes");
    EXPECT_EQ(other.usage.tokens(), 14u);
    EXPECT_DOUBLE_EQ(other.usage.cost_usd, 0.25);
    EXPECT_EQ(claude.kept("env").find("CLAUDECODE="), std::string::npos);
    EXPECT_NE(claude.kept("env").find("CLAUDE_CODE_MAX_RETRIES=2"), std::string::npos);
    ::unsetenv("CLAUDECODE");
}

TEST(Programs, text_that_is_no_utf8_is_replaced) {
    const FakeProgram qwen("qwen", R"(printf '{"type":"result","is_error":false,"result":"a\377b"}')");
    EXPECT_EQ(qwen.model()->complete(question(), {}).text,
              "a\xEF\xBF\xBD"
              "b");
}

TEST(Programs, a_long_system_message_goes_to_stdin) {
    const FakeProgram qwen("qwen", said(R"({"type":"result","is_error":false,"result":"yes"})"));
    LmRequest request = question();
    request.messages[0].content.assign(200'000, 's');
    EXPECT_EQ(qwen.model()->complete(request, {}).text, "yes");
    EXPECT_EQ(qwen.kept("stdin").size(), 200'000u + 2 + 5);
}

TEST(Programs, one_that_hangs_is_ended_with_its_children) {
    const FakeProgram codex("codex", "sleep 900 & echo $! > \"${0%/*}/child\"; trap '' TERM; wait; sleep 900");
    try {
        codex.model(0.3)->complete(question(), {});
        ADD_FAILURE();
    } catch (const LmError& error) {
        EXPECT_EQ(name(error.fault), "timed_out");
    }
    const pid_t child = std::stoi(codex.kept("child"));
    const fs::path stat = fs::path("/proc") / std::to_string(child) / "stat";
    for (int i = 0; i < 200 && fs::exists(stat) && read_file(stat).find(") Z") == std::string::npos; ++i)
        ::usleep(10000);
    EXPECT_TRUE(!fs::exists(stat) || read_file(stat).find(") Z") != std::string::npos);

    std::stop_source source;
    source.request_stop();
    try {
        codex.model(600)->complete(question(), source.get_token());
        ADD_FAILURE();
    } catch (const LmError& error) {
        EXPECT_EQ(name(error.fault), "stopped");
    }
}

TEST(Programs, a_key_that_is_quoted_is_made_unreadable) {
    ::setenv("OPENAI_API_KEY", "sk-0123456789abcdef", 1);
    const FakeProgram qwen("qwen", said(R"({"type":"result","is_error":true,"result":"401 sk-0123456789abcdef"})"));
    try {
        qwen.model()->complete(question(), {});
        ADD_FAILURE();
    } catch (const LmError& error) {
        EXPECT_EQ(std::string(error.what()).find("sk-0123"), std::string::npos) << error.what();
    }
    ::unsetenv("OPENAI_API_KEY");
}

TEST(Programs, half_a_key_is_one_too) {
    ::setenv("ANTHROPIC_API_KEY", "sk-0123456789abcdefghijklmnopqrstuvwxyz", 1);
    for (const int behind : {250, 270, 280, 290, 295, 360, 380, 399}) {
        const FakeProgram claude("claude", fmt::format("printf '%s%{0}s' \"$ANTHROPIC_API_KEY\" | tr ' ' x >&2\n"
                                                       "printf '%{0}s%s' '' \"$ANTHROPIC_API_KEY\" | tr ' ' x; exit 1",
                                                       behind));
        try {
            claude.model()->complete(question(), {});
            ADD_FAILURE();
        } catch (const LmError& error) {
            for (const char* part : {"sk-01", "89ab", "xyz"})
                EXPECT_EQ(std::string(error.what()).find(part), std::string::npos) << behind << error.what();
        }
    }
    ::unsetenv("ANTHROPIC_API_KEY");
}

TEST(Programs, a_prompt_names_no_file_and_is_no_command) {
    const auto given = [](const std::string& name, const std::string& text, const std::string& system = "s") {
        const FakeProgram program(name, said(R"({"type":"result","is_error":false,"result":"yes"})"));
        LmRequest request;
        request.messages = {{"system", system}, {"user", text}};
        program.model()->complete(request, {});
        return program.kept("stdin");
    };
    for (const char* name : {"qwen", "claude"}) {
        EXPECT_EQ(given(name, "see @/etc/passwd,@a @\"b c\" me@x @ @\n@"),
                  "see @ /etc/passwd,@ a @ \"b c\" me@ x @ @\n@");
        EXPECT_EQ(given(name, " /init now"), "User:\n /init now");
        EXPECT_EQ(given(name, "@a", std::string(200'000, '/')).substr(0, 7), "User:\n/");
        EXPECT_TRUE(given(name, "@a", std::string(200'000, 's')).ends_with("\n\n@ a"));
    }
}

TEST(Programs, what_is_missing_is_said) {
    Preset preset{.name = "mine", .kind = PresetKind::cli};
    preset.program = "/nothing/codex";
    EXPECT_NE(preset.what_is_missing().find("not on the PATH"), std::string::npos);
    preset.program = "/bin/sh";
    EXPECT_NE(preset.what_is_missing().find("dialect"), std::string::npos);
    preset.dialect = "codex";
    const TemporaryFolder home;
    ::setenv("CODEX_HOME", home.path().c_str(), 1);
    ::unsetenv("CODEX_API_KEY");
    EXPECT_NE(preset.what_is_missing().find("codex login"), std::string::npos);
    write_atomically(home.path() / "auth.json", "{}");
    EXPECT_EQ(preset.what_is_missing(), "");
    ::unsetenv("CODEX_HOME");
}

TEST(Conversation, is_flattened_for_programs) {
    const std::vector<Message> one{{"system", "s"}, {"user", "u"}};
    EXPECT_EQ(flattened(one).system, "s");
    EXPECT_EQ(flattened(one).text, "u");
    const std::vector<Message> more{{"user", "u"}, {"assistant", "a"}, {"user", "v"}};
    EXPECT_EQ(flattened(more).text, "User:\nu\n\nAssistant:\na\n\nUser:\nv");
}

}  // namespace
}  // namespace recuda

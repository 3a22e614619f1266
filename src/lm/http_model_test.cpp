// The HTTP back end against a server on loopback that behaves as servers do.
#include <gtest/gtest.h>

#include <cstdlib>

#include "lm/back_ends.h"
#include "lm/loopback_fixture.h"

namespace recuda {
namespace {

LmRequest asking(const std::string& words) {
    LmRequest request;
    request.messages = {{"system", "Be short."}, {"user", words}};
    return request;
}

/// The loopback is reached whatever proxy this machine has.
class HttpModelTest : public ::testing::Test {
 protected:
    void SetUp() override {
        ::setenv("no_proxy", "127.0.0.1", 1);
        ::setenv("RECUDA_TEST_KEY", "sk-0123456789abcdef", 1);
    }

    static Preset preset(const LoopbackServer& server) {
        Preset preset{.name = "mine", .kind = PresetKind::http, .model = "tiny"};
        preset.base_url = server.url();
        preset.max_seconds = 30;
        return preset;
    }
};

/// The fault of one attempt, and its message.
LmError fault(BackEnd& model, const std::stop_token& stop = {}) {
    try {
        const LmResponse response = model.complete(asking("hello"), stop);
        return LmError(LmFault::no_record, "answered {}", response.text);
    } catch (const LmError& error) {
        return error;
    }
}

TEST_F(HttpModelTest, asks_as_the_preset_says_and_reads_the_answer) {
    const LoopbackServer server({http_reply(200, completion("héllo"))});
    Preset mine = preset(server);
    mine.api_key_env = "RECUDA_TEST_KEY";
    mine.body = R"({"thinking":{"type":"enabled"}})";
    mine.max_answer_tokens = 512;
    mine.max_temperature = 1;
    LmRequest request = asking("say it");
    request.temperature = 1.7;
    const LmResponse response = make_http_model(mine)->complete(request, {});
    EXPECT_EQ(response.text, "héllo");
    EXPECT_EQ(response.finish, "stop");
    EXPECT_EQ(response.model, "tiny-1");
    EXPECT_EQ(response.usage.input_tokens, 900u);
    EXPECT_EQ(response.usage.output_tokens, 300u);
    EXPECT_TRUE(response.usage.reported);
    const std::string sent = server.requests().at(0);
    EXPECT_TRUE(sent.starts_with("POST /v1/chat/completions HTTP/1.1\r\n")) << sent;
    EXPECT_NE(sent.find("\r\nAuthorization: Bearer sk-0123456789abcdef\r\n"), std::string::npos);
    const auto body = nlohmann::json::parse(sent.substr(sent.find("\r\n\r\n") + 4));
    EXPECT_EQ(body.at("model"), "tiny");
    EXPECT_EQ(body.at("temperature"), 1.0);
    EXPECT_EQ(body.at("max_tokens"), 512);
    EXPECT_EQ(body.at("thinking").at("type"), "enabled");
    EXPECT_EQ(body.at("messages").at(1).at("content"), "say it");
}

TEST_F(HttpModelTest, takes_the_first_model_that_the_server_lists) {
    const LoopbackServer server(
        {http_reply(200, R"({"data":[{"id":"first"},{"id":"second"}]})"), http_reply(200, completion("yes"))});
    Preset mine = preset(server);
    mine.model = "";
    const auto model = make_http_model(mine);
    EXPECT_EQ(model->complete(asking("?"), {}).text, "yes");
    EXPECT_EQ(model->complete(asking("!"), {}).text, "yes");
    EXPECT_EQ(model->model(), "first");
    EXPECT_EQ(server.requests().size(), 3u);
    EXPECT_TRUE(server.requests()[0].starts_with("GET /v1/models "));
}

struct Refusal {
    int status;
    std::string body, headers;
    LmFault fault;
    std::optional<double> retry_after_s = std::nullopt;
};

TEST_F(HttpModelTest, tells_faults_apart) {
    const Refusal cases[] = {
        {401, R"({"error":{"message":"Incorrect API key"}})", "", LmFault::unauthorised},
        {403, "<html>forbidden</html>", "", LmFault::unauthorised},
        {402, "{}", "", LmFault::no_balance},
        {404, R"({"error":{"message":"The model x does not exist","code":"model_not_found"}})", "",
         LmFault::unknown_model},
        {404, "no such page", "", LmFault::not_usable},
        {400, R"({"error":{"message":"context too long","code":"context_length_exceeded"}})", "", LmFault::bad_request},
        {429, R"({"error":{"message":"slow down"}})", "Retry-After: 7\r\n", LmFault::rate_limited, 7.0},
        {429, "{}", "retry-after: Thu, 01 Jan 1970 00:00:00 GMT\r\n", LmFault::rate_limited, 0.0},
        {429, "{}", "Retry-After: soon\r\n", LmFault::rate_limited},
        {429, R"({"error":{"code":"1113","message":"Insufficient balance"}})", "", LmFault::no_balance},
        {429, R"({"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}})", "",
         LmFault::no_balance},
        {429, R"({"error":{"code":"1302","message":"High concurrency"}})", "", LmFault::rate_limited},
        {400, R"({"error":{"code":"1211","message":"Unknown Model"}})", "", LmFault::unknown_model},
        {400, R"({"error":{"code":"1214","message":"bad parameter"}})", "", LmFault::bad_request},
        {500, "oops", "", LmFault::server},
        {503, "", "", LmFault::server},
        {302, "", "Location: http://elsewhere.example/\r\n", LmFault::not_usable},
    };
    for (const Refusal& refusal : cases) {
        const LoopbackServer server({http_reply(refusal.status, refusal.body, refusal.headers)});
        const LmError seen = fault(*make_http_model(preset(server)));
        EXPECT_EQ(name(seen.fault), name(refusal.fault)) << refusal.status << " " << refusal.body;
        EXPECT_EQ(seen.status, refusal.status);
        EXPECT_NE(std::string(seen.what()).find(std::to_string(refusal.status)), std::string::npos) << seen.what();
        EXPECT_EQ(seen.retry_after_s, refusal.retry_after_s) << refusal.headers;
        EXPECT_EQ(server.requests().size(), 1u);
    }
}

TEST_F(HttpModelTest, an_answer_that_is_none_is_unreadable) {
    const auto said = [](const std::string& message, const std::string& finish = "stop") {
        return R"({"choices":[{"message":)" + message + R"(,"finish_reason":")" + finish +
               R"("}],"usage":{"prompt_tokens":5,"completion_tokens":6}})";
    };
    const std::pair<std::string, std::string> cases[] = {
        {"<html><body>Please log in</body></html>", "no JSON"},
        {"{\"choices\":[{\"mess", "no JSON"},
        {R"({"object":"chat.completion","choices":[]})", "no choices"},
        {said(R"({"content":""})"), "empty"},
        {said(R"({"content":null,"reasoning_content":"let me think"})"), "beside its reasoning"},
        {said(R"({"content":null})", "length"), "bound in tokens"},
        {"[1, 2]", "no choices"},
        {R"({"choices":[7]})", "empty"}};
    for (const auto& [body, words] : cases) {
        const LoopbackServer server({http_reply(200, body)});
        const LmError seen = fault(*make_http_model(preset(server)));
        EXPECT_EQ(name(seen.fault), "unreadable") << body;
        EXPECT_NE(std::string(seen.what()).find(words), std::string::npos) << seen.what();
        EXPECT_EQ(seen.usage.tokens(), body.find("usage") == std::string::npos ? 0u : 11u);
    }
}

TEST_F(HttpModelTest, an_error_inside_a_success_is_one) {
    const LoopbackServer server({http_reply(200, R"({"error":{"code":"1113","message":"no balance"}})")});
    EXPECT_EQ(name(fault(*make_http_model(preset(server))).fault), "no_balance");
}

TEST_F(HttpModelTest, waits_for_a_slow_answer_and_gives_up_others) {
    ScriptedReply slow = http_reply(200, completion("at last"));
    slow.pieces = 20;
    slow.pause_s = 0.01;
    ScriptedReply cut = http_reply(200, completion("gone"));
    cut.bytes.resize(cut.bytes.size() - 20);
    ScriptedReply endless{.bytes = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{", .endless = true};
    const LoopbackServer server({slow, cut, {.bytes = ""}, endless});
    const auto model = make_http_model(preset(server));
    EXPECT_EQ(model->complete(asking("?"), {}).text, "at last");
    EXPECT_EQ(name(fault(*model).fault), "connection");
    EXPECT_EQ(name(fault(*model).fault), "connection");
    EXPECT_EQ(name(fault(*model).fault), "unreadable");
}

TEST_F(HttpModelTest, a_server_that_hangs_is_given_up_in_time_or_when_stopped) {
    const LoopbackServer server({{.bytes = "HTTP/1.1 200 OK\r\n", .hangs = true}});
    Preset mine = preset(server);
    mine.max_seconds = 0.2;
    EXPECT_EQ(name(fault(*make_http_model(mine)).fault), "timed_out");
    mine.max_seconds = 600;
    std::stop_source source;
    source.request_stop();
    EXPECT_EQ(name(fault(*make_http_model(mine), source.get_token()).fault), "stopped");
}

TEST_F(HttpModelTest, nobody_is_there) {
    Preset mine{.name = "mine", .kind = PresetKind::http, .model = "tiny"};
    mine.base_url = "http://127.0.0.1:1/v1";
    EXPECT_EQ(name(fault(*make_http_model(mine)).fault), "unreachable");
}

TEST_F(HttpModelTest, a_key_that_comes_back_is_made_unreadable) {
    const LoopbackServer server(
        {http_reply(401, R"({"error":{"message":"Incorrect key: Bearer sk-0123456789abcdef"}})"),
         http_reply(200, completion("your key is sk-0123456789abcdef."))});
    Preset mine = preset(server);
    mine.api_key_env = "RECUDA_TEST_KEY";
    const auto model = make_http_model(mine);
    const std::string told = fault(*model).what();
    EXPECT_EQ(told.find("sk-0123456789abcdef"), std::string::npos) << told;
    EXPECT_EQ(model->complete(asking("?"), {}).text, "your key is [key].");
}

TEST_F(HttpModelTest, a_listed_name_is_a_short_line_without_keys) {
    const LoopbackServer server(
        {http_reply(200, R"({"data":[{"id":"\u001b[31msk-0123456789abcdef)" + std::string(999, 'x') + R"("}]})"),
         http_reply(200, completion("yes"))});
    Preset mine = preset(server);
    mine.api_key_env = "RECUDA_TEST_KEY";
    mine.model = "";
    const auto model = make_http_model(mine);
    EXPECT_EQ(model->complete(asking("?"), {}).text, "yes");
    EXPECT_TRUE(model->model().starts_with(" [31m[key]xx")) << model->model();
    EXPECT_LE(model->model().size(), 203u);
}

TEST_F(HttpModelTest, addresses_and_keys_that_cannot_be_are_refused) {
    Preset mine{.name = "mine", .kind = PresetKind::http};
    for (const char* url : {"ftp://host/v1", "http://me:secret@host/v1", "http://", "http://host:70000/v1"}) {
        mine.base_url = url;
        EXPECT_THROW(make_http_model(mine), Error) << url;
    }
    ::setenv("RECUDA_TEST_KEY", "two\r\nlines", 1);
    mine.base_url = "http://127.0.0.1:1/v1";
    mine.api_key_env = "RECUDA_TEST_KEY";
    EXPECT_THROW(make_http_model(mine), Error);
}

}  // namespace
}  // namespace recuda

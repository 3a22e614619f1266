// What stands around a back end: record, cache, another attempt, budget; and mailbox and replay, whole.
#include "lm/open.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "base/file.h"
#include "lm/again.h"
#include "lm/budget.h"
#include "lm/cache.h"
#include "lm/loopback_fixture.h"
#include "lm/preset.h"
#include "lm/record.h"
#include "lm/scripted.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

LmRequest asking(const std::string& words, uint64_t rollout = 0) {
    LmRequest request{.rollout = rollout, .step = "propose.predict"};
    request.messages = {{"system", "Be short."}, {"user", words}};
    return request;
}

/// The name of the fault of a call, "" when it is answered.
std::string fault(LanguageModel& model, const LmRequest& request, const std::stop_token& stop = {}) {
    try {
        model.complete(request, stop);
        return "";
    } catch (const LmError& error) {
        return std::string(name(error.fault));
    }
}

class OpenTest : public ::testing::Test {
 protected:
    void SetUp() override { ::setenv("no_proxy", "127.0.0.1", 1); }

    static Preset preset(const LoopbackServer& server, const std::string& name = "mine") {
        Preset preset{.name = name, .kind = PresetKind::http, .model = "tiny"};
        preset.base_url = server.url();
        preset.input_usd_per_million = 1;
        preset.output_usd_per_million = 10;
        return preset;
    }
    static Preset of_kind(PresetKind kind) { return {.name = std::string(name(kind)), .kind = kind}; }

    LmOptions recorded() const { return {.record = folder_.path() / "prompts"}; }

    TemporaryFolder folder_;
};

TEST(Digest, is_of_what_is_asked_alone) {
    const LmRequest request = asking("a");
    const std::string digest = digest_of(request, "p", "m");
    EXPECT_EQ(digest.size(), 64u);
    LmRequest other = request;
    other.step = "repair";
    other.documents = {"seed.cu"};
    EXPECT_EQ(digest_of(other, "p", "m"), digest);
    std::set<std::string> all{digest};
    all.insert(digest_of(request, "q", "m"));
    all.insert(digest_of(request, "p", "n"));
    all.insert(digest_of(request, "pm", ""));
    all.insert(digest_of(asking("b"), "p", "m"));
    all.insert(digest_of(asking("a", 1), "p", "m"));
    for (const double temperature : {0.0, 0.5}) {
        other = request;
        other.temperature = temperature;
        all.insert(digest_of(other, "p", "m"));
    }
    other = request;
    other.messages = {{"system", "Be short.user"}, {"", "a"}};
    all.insert(digest_of(other, "p", "m"));
    EXPECT_EQ(all.size(), 9u);
}

TEST_F(OpenTest, records_what_was_asked_and_does_not_ask_it_again) {
    const LoopbackServer server({http_reply(200, completion("one\n"))});
    {
        const auto model = open_model(preset(server), recorded());
        EXPECT_EQ(model->complete(asking("what?"), {}).text, "one\n");
        EXPECT_EQ(model->spent().calls, 1u);
        EXPECT_DOUBLE_EQ(model->spent().usage.cost_usd, (900 * 1 + 300 * 10) / 1e6);
    }
    const fs::path prompts = folder_.path() / "prompts";
    EXPECT_EQ(read_file(prompts / "0001.answer.md"), "one\n");
    EXPECT_NE(read_file(prompts / "0001.prompt.md").find("# user\n\nwhat?\n"), std::string::npos);
    const auto facts = nlohmann::json::parse(read_file(prompts / "0001.json"));
    EXPECT_EQ(facts.at("state"), "answered");
    EXPECT_EQ(facts.at("step"), "propose.predict");
    EXPECT_EQ(facts.at("usage").at("input_tokens"), 900);
    EXPECT_EQ(facts.at("calls"), 1);

    const auto again = open_model(preset(server), recorded());
    const LmResponse known = again->complete(asking("what?"), {});
    EXPECT_EQ(known.text, "one\n");
    EXPECT_TRUE(known.cached);
    EXPECT_EQ(again->spent().calls, 0u);
    EXPECT_EQ(again->spent().cached, 1u);
    EXPECT_EQ(fault(*again, asking("what?", 1)), "");
    EXPECT_EQ(server.requests().size(), 2u);
    EXPECT_TRUE(fs::exists(prompts / "0002.answer.md"));
}

TEST_F(OpenTest, a_question_without_an_answer_keeps_its_number) {
    const LoopbackServer server({http_reply(400, "{}"), http_reply(200, completion("now"))});
    EXPECT_EQ(fault(*open_model(preset(server), recorded()), asking("what?")), "bad_request");
    const fs::path facts = folder_.path() / "prompts/0001.json";
    EXPECT_EQ(nlohmann::json::parse(read_file(facts)).at("fault").at("status"), 400);
    EXPECT_EQ(open_model(preset(server), recorded())->complete(asking("what?"), {}).text, "now");
    EXPECT_EQ(nlohmann::json::parse(read_file(facts)).at("calls"), 2);
    EXPECT_FALSE(fs::exists(folder_.path() / "prompts/0002.json"));
}

TEST_F(OpenTest, a_resumed_run_has_what_is_left_of_its_budget) {
    const LoopbackServer server({http_reply(200, completion("yes"))});
    LmOptions options = recorded();
    options.max_calls = 2;
    EXPECT_EQ(fault(*open_model(preset(server), options), asking("1")), "");
    const auto model = open_model(preset(server), options);
    EXPECT_EQ(fault(*model, asking("1")), "");
    EXPECT_EQ(fault(*model, asking("2")), "");
    EXPECT_EQ(fault(*model, asking("3")), "budget");
    EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(OpenTest, damaged_records_are_passed_over) {
    const fs::path prompts = folder_.path() / "prompts";
    fs::create_directories(prompts);
    write_atomically(prompts / "0001.json", "{\"digest\":");
    write_atomically(prompts / "0007.json", "[]");
    const LoopbackServer server({http_reply(200, completion("yes"))});
    EXPECT_EQ(fault(*open_model(preset(server), recorded()), asking("1")), "");
    EXPECT_TRUE(fs::exists(prompts / "0008.answer.md"));
}

TEST_F(OpenTest, a_record_holds_no_links_and_no_pipes) {
    const fs::path prompts = folder_.path() / "prompts";
    const auto ask = [&](const LoopbackServer& server) {
        return fault(*open_model(preset(server), recorded()), asking("1"));
    };
    const LoopbackServer first({http_reply(200, completion("yes"))});
    EXPECT_EQ(ask(first), "");
    write_atomically(folder_.path() / "secret", "s");
    fs::rename(prompts / "0001.answer.md", folder_.path() / "was");
    fs::create_symlink(folder_.path() / "secret", prompts / "0001.answer.md");
    EXPECT_EQ(fault(*open_model(of_kind(PresetKind::replay), {.replay = prompts}), asking("1")), "no_record");
    fs::remove(prompts / "0001.json");
    ASSERT_EQ(::mkfifo((prompts / "0001.json").c_str(), 0600), 0);
    const LoopbackServer second({http_reply(200, completion("again"))});
    EXPECT_EQ(ask(second), "");
    EXPECT_EQ(read_file(prompts / "0002.answer.md"), "again");
}

TEST_F(OpenTest, replays_answers_whatever_preset_gave_them) {
    const LoopbackServer server({http_reply(200, completion("one")), http_reply(200, completion("two"))});
    {
        const auto model = open_model(preset(server), recorded());
        model->complete(asking("a"), {});
        model->complete(asking("b"), {});
    }
    for (const fs::path& folder : {folder_.path(), folder_.path() / "prompts"}) {
        const auto replay = open_model(of_kind(PresetKind::replay), {.replay = folder});
        EXPECT_EQ(replay->complete(asking("b"), {}).text, "two");
        EXPECT_EQ(replay->complete(asking("a"), {}).text, "one");
        EXPECT_EQ(fault(*replay, asking("a", 1)), "no_record");
        EXPECT_EQ(replay->spent().calls, 0u);
    }
    EXPECT_THROW(open_model(of_kind(PresetKind::replay), {.replay = folder_.path() / "nothing"}), Error);
    EXPECT_THROW(open_model(of_kind(PresetKind::replay), {}), UsageError);
}

TEST_F(OpenTest, a_model_that_nobody_named_is_told_from_another) {
    const LmOptions options{.cache = folder_.path() / "cache"};
    const auto list = [](const std::string& name) { return http_reply(200, R"({"data":[{"id":")" + name + R"("}]})"); };
    const auto ask = [&](const LoopbackServer& server) {
        Preset mine = preset(server);
        mine.model = "";
        return open_model(mine, options)->complete(asking("a"), {});
    };
    const LoopbackServer one({list("one"), http_reply(200, completion("1"))}), again({list("one")}),
        two({list("two"), http_reply(200, completion("2"))});
    EXPECT_EQ(ask(one).text, "1");
    EXPECT_EQ(ask(two).text, "2") << "another model behind the same preset";
    EXPECT_EQ(ask(again).text, "1");
    EXPECT_TRUE(ask(again).cached);
    const LoopbackServer silent({http_reply(404, "{}")});
    Preset mine = preset(silent);
    mine.model = "";
    EXPECT_EQ(fault(*open_model(mine, options), asking("a")), "not_usable") << "nobody knows whose answer it would be";
}

TEST_F(OpenTest, answers_from_the_cache_whatever_the_address) {
    const LmOptions options{.cache = folder_.path() / "cache"};
    const LoopbackServer one({http_reply(200, completion("yes"))}), two({http_reply(200, completion("no"))});
    EXPECT_EQ(open_model(preset(one), options)->complete(asking("a"), {}).text, "yes");
    EXPECT_EQ(open_model(preset(two), options)->complete(asking("a"), {}).text, "yes");
    EXPECT_EQ(open_model(preset(two, "hers"), options)->complete(asking("a"), {}).text, "no");
    for (const auto& entry : fs::recursive_directory_iterator(options.cache)) {
        if (!entry.is_regular_file()) continue;
        std::string text = read_file(entry.path());
        text.replace(text.find("yes") != std::string::npos ? text.find("yes") : text.find("no"), 2, "zz");
        write_atomically(entry.path(), text);
    }
    EXPECT_EQ(open_model(preset(two), options)->complete(asking("a"), {}).text, "no") << "a damaged entry is a miss";
}

TEST_F(OpenTest, failures_are_not_cached) {
    const LmOptions options{.cache = folder_.path() / "cache"};
    const LoopbackServer server({http_reply(401, "{}"), http_reply(200, completion("yes"))});
    EXPECT_EQ(fault(*open_model(preset(server), options), asking("a")), "unauthorised");
    EXPECT_EQ(fault(*open_model(preset(server), options), asking("a")), "");
}

TEST_F(OpenTest, what_all_calls_share_is_asked_once) {
    for (const int status : {401, 403, 402, 404}) {
        const LoopbackServer server({http_reply(status, R"({"error":{"message":"no such model"}})")});
        const auto model = open_model(preset(server), {});
        const std::string first = fault(*model, asking("a"));
        EXPECT_EQ(fault(*model, asking("b")), first);
        EXPECT_EQ(server.requests().size(), 1u) << status;
    }
}

TEST_F(OpenTest, budgets_of_tokens_and_money_end_calls) {
    const LoopbackServer server({http_reply(200, completion("yes"))});
    for (const LmOptions& options : {LmOptions{.max_tokens = 1300}, LmOptions{.max_cost_usd = 0.005}}) {
        const auto model = open_model(preset(server), options);
        EXPECT_EQ(fault(*model, asking("a")), "");
        EXPECT_EQ(fault(*model, asking("b")), "");
        EXPECT_EQ(fault(*model, asking("c")), "budget");
    }
    Preset unpriced = preset(server);
    unpriced.input_usd_per_million.reset();
    EXPECT_THROW(open_model(unpriced, {.max_cost_usd = 1}), Error);
    EXPECT_THROW(open_model(preset(server), {.model = "other", .max_cost_usd = 1}), Error);
}

TEST_F(OpenTest, options_of_other_kinds_are_refused) {
    const LoopbackServer server({http_reply(200, completion("yes"))});
    EXPECT_THROW(open_model(preset(server), {.mailbox = "box"}), UsageError);
    EXPECT_THROW(open_model(of_kind(PresetKind::mailbox), {}), UsageError);
    EXPECT_THROW(open_model(of_kind(PresetKind::offline), {}), Error);
}

TEST_F(OpenTest, a_person_answers_at_a_mailbox) {
    const fs::path box = folder_.path() / "box";
    LmOptions options = recorded();
    options.mailbox = box;
    options.mailbox_wait_s = 0;
    options.max_calls = 2;  // a question that is awaited again is no further call
    const Preset mailbox = of_kind(PresetKind::mailbox);
    EXPECT_EQ(fault(*open_model(mailbox, options), asking("a")), "waiting");
    EXPECT_EQ(fault(*open_model(mailbox, options), asking("a")), "waiting");
    EXPECT_FALSE(fs::exists(box / "0002.prompt.md")) << "the same question waits under its own number";
    EXPECT_NE(read_file(box / "0001.prompt.md").find("# user\n\na\n"), std::string::npos);

    write_atomically(box / "0001.answer.md", "");
    EXPECT_EQ(fault(*open_model(mailbox, options), asking("a")), "waiting") << "an empty file is no answer yet";
    write_atomically(box / "0001.answer.md", "by hand\n");
    const auto model = open_model(mailbox, options);
    EXPECT_EQ(model->complete(asking("a"), {}).text, "by hand\n");
    EXPECT_FALSE(model->spent().usage.reported);
    EXPECT_EQ(fault(*model, asking("b")), "waiting");
    EXPECT_TRUE(fs::exists(box / "0002.prompt.md"));
    write_atomically(box / "0002.answer.md", "too\n");
    EXPECT_EQ(model->complete(asking("b"), {}).text, "too\n");
    EXPECT_EQ(fault(*model, asking("c")), "budget");
    fs::remove_all(box);
    EXPECT_EQ(open_model(mailbox, options)->complete(asking("a"), {}).text, "by hand\n") << "from the record";
}

TEST_F(OpenTest, an_answer_that_is_being_written_is_awaited) {
    const fs::path box = folder_.path() / "box";
    const auto model = open_model(of_kind(PresetKind::mailbox), {.mailbox = box});
    std::thread person([&] {
        while (!fs::exists(box / "0001.prompt.md")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::ofstream answer(box / "0001.answer.md");
        for (const char* part : {"first ", "second ", "third"}) {
            answer << part << std::flush;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
    });
    EXPECT_EQ(model->complete(asking("a"), {}).text, "first second third");
    person.join();
    std::stop_source source;
    source.request_stop();
    EXPECT_EQ(fault(*model, asking("b"), source.get_token()), "stopped");
}

/// A model that fails as the script says, once a fault, then answers.
std::unique_ptr<LanguageModel> failing(std::vector<LmError> faults, int& calls) {
    return std::make_unique<ScriptedModel>([faults = std::move(faults), &calls](const LmRequest&) -> std::string {
        if (static_cast<size_t>(calls++) < faults.size()) throw LmError(faults[static_cast<size_t>(calls - 1)]);
        return "yes";
    });
}

LmError of(LmFault fault, std::optional<double> retry_after_s = std::nullopt) {
    LmError error(fault, "scripted");
    error.retry_after_s = retry_after_s;
    return error;
}

struct Trial {
    std::vector<LmError> faults;
    int calls;
    std::string outcome;
};

TEST(Patience, tries_again_what_may_fare_better) {
    using enum LmFault;
    const Trial trials[] = {
        {{of(server), of(connection)}, 3, ""},
        {{of(rate_limited, 7.0)}, 2, ""},
        {{of(rate_limited, 3600.0)}, 1, "rate_limited"},
        {std::vector<LmError>(9, of(server)), 4, "server"},
        {std::vector<LmError>(9, of(unreachable)), 3, "unreachable"},
        {{of(unreachable), of(unreachable)}, 3, ""},
        {std::vector<LmError>(9, of(timed_out)), 2, "timed_out"},
        {std::vector<LmError>(9, of(unreadable)), 2, "unreadable"},
        {{of(unauthorised)}, 1, "unauthorised"},
        {{of(unknown_model)}, 1, "unknown_model"},
        {{of(no_balance)}, 1, "no_balance"},
        {{of(bad_request)}, 1, "bad_request"},
        {{of(budget)}, 1, "budget"},
        {{of(stopped)}, 1, "stopped"},
    };
    for (const Trial& trial : trials) {
        int calls = 0;
        std::vector<double> waits;
        Patience patience;
        patience.wait = [&](double seconds, const std::stop_token&) {
            waits.push_back(seconds);
            return true;
        };
        const auto model = make_patient(failing(trial.faults, calls), patience);
        EXPECT_EQ(fault(*model, asking("a")), trial.outcome);
        EXPECT_EQ(calls, trial.calls) << trial.outcome;
        const double total = std::accumulate(waits.begin(), waits.end(), 0.0);
        if (trial.faults[0].retry_after_s && trial.calls > 1) {
            EXPECT_GT(total, *trial.faults[0].retry_after_s - 0.5);
            EXPECT_LT(total, *trial.faults[0].retry_after_s + 0.5);
            continue;
        }
        EXPECT_EQ(waits.size(), static_cast<size_t>(trial.calls - 1));
        for (size_t i = 0; i < waits.size(); ++i) EXPECT_LE(waits[i], std::exp2(i));
    }
}

TEST(Patience, a_server_that_is_down_costs_one_attempt_a_request) {
    int calls = 0;
    Patience patience;
    patience.wait = [](double, const std::stop_token&) { return true; };
    const auto model = make_patient(failing(std::vector<LmError>(6, of(LmFault::server)), calls), patience);
    EXPECT_EQ(fault(*model, asking("a")), "server");
    EXPECT_EQ(calls, 4);
    EXPECT_EQ(fault(*model, asking("b")), "server");
    EXPECT_EQ(calls, 5);
    EXPECT_EQ(fault(*model, asking("c")), "server");
    EXPECT_EQ(fault(*model, asking("d")), "");
    EXPECT_EQ(calls, 7);
}

TEST(Patience, what_one_request_is_asked_to_wait_holds_for_all) {
    int calls = 0;
    const auto model = make_patient(failing({of(LmFault::rate_limited, 3600.0)}, calls));
    EXPECT_EQ(fault(*model, asking("a")), "rate_limited");
    EXPECT_EQ(fault(*model, asking("b")), "rate_limited");
    EXPECT_EQ(calls, 1);
}

TEST(Patience, a_wait_ends_when_stop_is_requested) {
    int calls = 0;
    std::stop_source source;
    source.request_stop();
    const auto model = make_patient(failing({of(LmFault::rate_limited, 100.0)}, calls));
    EXPECT_EQ(fault(*model, asking("a"), source.get_token()), "stopped");
    EXPECT_EQ(calls, 1);
}

TEST(Recorded, one_question_at_a_time_is_asked_once) {
    const TemporaryFolder folder;
    Record record(folder.path());
    std::atomic<int> asked = 0;
    auto scripted = std::make_unique<ScriptedModel>([&](const LmRequest&) {
        ++asked;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return "yes";
    });
    const auto model = make_recorded(std::move(scripted), record, {"", "p", "m"});
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_EQ(fault(*model, asking("a")), ""); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace recuda

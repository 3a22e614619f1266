#include "base/process.h"
#include "base/worker_process.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "base/error.h"

namespace recuda {
namespace {

TEST(Process, GivesStatusAndBothOutputs) {
    const ProcessResult result = run_process({"sh", "-c", "cat; echo to-err >&2; exit 3"}, {.input = "hello"});
    EXPECT_EQ(result.status, 3);
    EXPECT_EQ(result.out, "hello");
    EXPECT_EQ(result.err, "to-err\n");
    EXPECT_FALSE(result.timed_out);
}

TEST(Process, WaitsForOneThatClosesItsOutputsEarly) {
    EXPECT_EQ(run_process({"sh", "-c", "exec >&- 2>&-; sleep 0.1; exit 7"}).status, 7);
}

TEST(Process, IsNotWaitedForByTheOutputsThatAGrandchildHolds) {
    const ProcessResult result = run_process({"sh", "-c", "sleep 600 & echo here; exit 3"}, {.deadline_s = 300});
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.status, 3);
    EXPECT_EQ(result.out, "here\n");
    const std::string long_text(1 << 20, 'x');
    EXPECT_EQ(run_process({"sh", "-c", "sleep 600 & cat"}, {.input = long_text, .output_limit_bytes = 1 << 21}).out,
              long_text);
}

TEST(Process, IsKilledWithItsGroupAtTheDeadline) {
    const auto begin = std::chrono::steady_clock::now();
    const ProcessResult result = run_process({"sh", "-c", "sleep 60 & sleep 60"}, {.deadline_s = 0.2});
    EXPECT_TRUE(result.timed_out);
    EXPECT_EQ(result.status, 128 + 9);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(Process, IsEndedWhenStopIsRequested) {
    std::stop_source source;
    std::thread soon([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        source.request_stop();
    });
    const ProcessResult result = run_process({"sh", "-c", "sleep 60 & sleep 60"}, {.stop = source.get_token()});
    soon.join();
    EXPECT_TRUE(result.stopped);
    EXPECT_FALSE(result.timed_out);
    EXPECT_TRUE(run_process({"sleep", "60"}, {.stop = source.get_token()}).stopped) << "requested before it began";
}

TEST(Process, GetsTheGraceToEndByItself) {
    const char* script = "trap 'exit 9' TERM; while :; do sleep 0.01; done";
    const ProcessResult result = run_process({"sh", "-c", script}, {.deadline_s = 0.2, .grace_s = 10});
    EXPECT_TRUE(result.timed_out);
    EXPECT_EQ(result.status, 9);
    const ProcessResult deaf =
        run_process({"sh", "-c", "trap '' TERM; while :; do sleep 0.01; done"}, {.deadline_s = 0.2, .grace_s = 0.1});
    EXPECT_EQ(deaf.status, 128 + 9);
}

TEST(Process, DoesNotGetWhatIsLeftOut) {
    ::setenv("RECUDA_TEST_WORD", "secret", 1);
    EXPECT_EQ(run_process({"sh", "-c", "echo [$RECUDA_TEST_WORD]"}, {.without = {"RECUDA_TEST_WORD"}}).out, "[]\n");
    ::unsetenv("RECUDA_TEST_WORD");
}

TEST(Process, BoundsItsOutput) {
    const ProcessResult result = run_process({"sh", "-c", "yes | head -c 1000000"}, {.output_limit_bytes = 1000});
    EXPECT_EQ(result.out.size(), 1000u);
    EXPECT_EQ(result.status, 0);
}

TEST(Process, TellsWhatCannotBeStarted) {
    EXPECT_THROW(run_process({"/nothing/of/that/name"}), Error);
    EXPECT_EQ(run_process({"sh", "-c", "kill -11 $$"}).status, 128 + 11);
    EXPECT_EQ(run_process({"sh", "-c", "echo $WORD"}, {.environment = {{"WORD", "w"}}}).out, "w\n");
}

TEST(WorkerProcess, ExchangesMessages) {
    WorkerProcess echo({"cat"});  // a message comes back as it went
    std::string message;
    ASSERT_TRUE(echo.send("ping"));
    EXPECT_EQ(echo.receive(message, 10), WorkerProcess::Received::message);
    EXPECT_EQ(message, "ping");
    EXPECT_EQ(echo.receive(message, 0.05), WorkerProcess::Received::timed_out);
    EXPECT_TRUE(echo.running());
}

TEST(WorkerProcess, IsNotWaitedForWhenItDoesNotRead) {
    WorkerProcess deaf({"sleep", "60"});
    EXPECT_FALSE(deaf.send(std::string(1 << 20, 'x'), 0.1));
    EXPECT_FALSE(deaf.stirs(0.01));
    deaf.kill();
    EXPECT_TRUE(deaf.stirs(0.01));
}

TEST(WorkerProcess, MayNotAnnounceMoreThanItsLimit) {
    WorkerProcess liar({"sh", "-c", "printf '\\377\\377\\377\\377'; sleep 60"});
    std::string message;
    EXPECT_EQ(liar.receive(message, 10, 1000), WorkerProcess::Received::gone);
    EXPECT_EQ(liar.ending(), "killed for a message of 4294967295 bytes");
}

TEST(WorkerProcess, TellsHowItEnded) {
    WorkerProcess child({"sh", "-c", "exit 5"});
    std::string message;
    EXPECT_EQ(child.receive(message, 10), WorkerProcess::Received::gone);
    EXPECT_EQ(child.ending(), "exit status 5");
    EXPECT_FALSE(child.running());
    EXPECT_FALSE(child.send("x"));
}

TEST(WorkerProcess, OutlivesTheThreadThatStartedIt) {
    std::optional<WorkerProcess> echo;
    std::thread([&] { echo.emplace(std::vector<std::string>{"cat"}); }).join();
    std::string message;
    ASSERT_TRUE(echo->send("still here"));
    EXPECT_EQ(echo->receive(message, 10), WorkerProcess::Received::message);
}

}  // namespace
}  // namespace recuda

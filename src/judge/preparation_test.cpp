#include "judge/preparation.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "base/error.h"

namespace recuda {
namespace {

std::vector<Candidate> numbered(size_t count) {
    std::vector<Candidate> candidates(count);
    for (size_t i = 0; i < count; ++i) candidates[i].digest = std::to_string(i);
    return candidates;
}

Preparation::Parts parts(std::function<void(const Candidate&, unsigned)> work, unsigned threads = 3) {
    return {
        .order =
            [](const Candidate& candidate) {
                return Order{{}, candidate.digest};
            },
        .prepare =
            [work = std::move(work)](const Candidate& candidate, Order order, unsigned thread, const std::stop_token&) {
                work(candidate, thread);
                return Prepared{{.log = order.refusal}, std::nullopt};
            },
        .threads = threads};
}

TEST(Preparation, GivesEachInOrder) {
    const std::vector<Candidate> candidates = numbered(100);
    std::mutex mutex;
    std::set<unsigned> seen;
    Preparation preparation(candidates, parts([&](const Candidate& candidate, unsigned thread) {
                                if (candidate.digest == "0") std::this_thread::sleep_for(std::chrono::milliseconds(5));
                                const std::lock_guard lock(mutex);
                                seen.insert(thread);
                            }));
    for (const Candidate& candidate : candidates) EXPECT_EQ(preparation.next({})->built.log, candidate.digest);
    for (const unsigned thread : seen) EXPECT_LT(thread, 3u);
}

TEST(Preparation, ThrowsWhatOneThrewInItsPlace) {
    const std::vector<Candidate> candidates = numbered(8);
    Preparation preparation(candidates, parts([](const Candidate& candidate, unsigned) {
                                if (candidate.digest == "1") throw Error("no compiler");
                            }));
    EXPECT_EQ(preparation.next({})->built.log, "0");
    EXPECT_THROW(preparation.next({}), Error);
}

TEST(Preparation, EndsWithoutTheRestWhenItIsStopped) {
    const std::vector<Candidate> candidates = numbered(1000);
    std::atomic<int> begun = 0;
    std::stop_source stop;
    {
        Preparation preparation(candidates, parts([&](const Candidate&, unsigned) { ++begun; }));
        EXPECT_TRUE(preparation.next(stop.get_token()));
        stop.request_stop();
    }
    EXPECT_LE(begun, 7);
}

}  // namespace
}  // namespace recuda

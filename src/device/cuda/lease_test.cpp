// One holder at a time, and none left behind by a process that is killed.
#include "device/cuda/lease.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/worker_process.h"
#include "device/cuda/wire.h"

namespace recuda::cuda {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class LeaseTest : public ::testing::Test {
 protected:
    TemporaryFolder folder_;
    std::filesystem::path path_ = folder_.path() / "gpu.lock";
    std::string held_by_;
};

TEST_F(LeaseTest, OneHolderAtATime) {
    EXPECT_EQ(lease_holder(path_), "");
    {
        const auto first = Lease::take(path_, ::getpid(), held_by_);
        ASSERT_TRUE(first);
        EXPECT_FALSE(Lease::take(path_, 1, held_by_));
        EXPECT_THAT(held_by_, StartsWith("process " + std::to_string(::getpid())));
        EXPECT_THAT(held_by_, HasSubstr("_test"));
        EXPECT_EQ(lease_holder(path_), held_by_);
        EXPECT_TRUE(Lease::take(path_, ::getpid(), held_by_)) << "another worker of the same owner";
        EXPECT_NE(lease_holder(path_), "") << "which does not end the first one's lease";
    }
    EXPECT_EQ(lease_holder(path_), "");
    EXPECT_TRUE(Lease::take(path_, 1, held_by_));
}

TEST_F(LeaseTest, AKilledHolderLeavesItFree) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto lease = Lease::take(path_, ::getpid(), held_by_);
        const char one = lease ? 'y' : 'n';
        if (::write(ready[1], &one, 1) == 1) ::pause();
        ::_exit(0);
    }
    char taken = 0;
    ASSERT_EQ(::read(ready[0], &taken, 1), 1);
    EXPECT_EQ(taken, 'y');
    EXPECT_FALSE(Lease::take(path_, ::getpid(), held_by_));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(Lease::take(path_, ::getpid(), held_by_));
}

TEST_F(LeaseTest, AnswersUntilItIsFree) {
    int requests[2], replies[2];
    ASSERT_EQ(::pipe(requests), 0);
    ASSERT_EQ(::pipe(replies), 0);
    auto other = Lease::take(path_, 1, held_by_);
    ASSERT_TRUE(other);
    Lease lease;
    std::thread worker([&] { EXPECT_TRUE(await_lease(requests[0], replies[1], path_, ::getpid(), lease)); });
    const auto ask = [&] {
        write_message(requests[1], packed({{"call", "lease"}}));
        return nlohmann::json::parse(unpacked(*read_message(replies[0])).header).at("held_by").get<std::string>();
    };
    EXPECT_THAT(ask(), StartsWith("process 1"));
    other.reset();
    EXPECT_EQ(ask(), "");
    worker.join();
    EXPECT_NE(lease_holder(path_), "");
}

TEST_F(LeaseTest, ALinkInItsPlaceIsRefused) {
    std::filesystem::create_symlink(folder_.path() / "elsewhere", path_);
    EXPECT_THROW(Lease::take(path_, ::getpid(), held_by_), Error);
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "elsewhere"));
}

}  // namespace
}  // namespace recuda::cuda

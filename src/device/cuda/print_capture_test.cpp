#include "device/cuda/print_capture.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

namespace recuda::cuda {
namespace {

TEST(PrintCapture, TakesWhatWasPrintedSinceTheLastTime) {
    std::string nothing, first, second, large;
    int original = -1;
    {
        PrintCapture capture;
        original = capture.original();
        nothing = capture.take();
        std::printf("hello %d\n", 1);
        first = capture.take();
        std::printf("again\n");
        second = capture.take();
        for (int i = 0; i < 100000; ++i) std::printf("line %d\n", i);
        large = capture.take();
    }
    EXPECT_GT(original, STDERR_FILENO);
    EXPECT_EQ(nothing, "");
    EXPECT_EQ(first, "hello 1\n");
    EXPECT_EQ(second, "again\n");
    EXPECT_LT(large.size(), 70000u);
    EXPECT_TRUE(large.starts_with("line 0\nline 1\n"));
    EXPECT_TRUE(large.ends_with("line 99999\n"));
}

}  // namespace
}  // namespace recuda::cuda

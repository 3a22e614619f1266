#include "device/vgpu/memory/known.h"

#include <gtest/gtest.h>

namespace recuda::vgpu {
namespace {

TEST(Known, CoversBlocksWarpsAndThreads) {
    View view;
    EXPECT_FALSE(covers(view, 7, 0, 0));
    EXPECT_TRUE(join(view, {{Known::thread(7, 70), 30}, {Known::warp(7, 2), 20}, {Known::all(7), 10}}));
    struct Asked {
        uint32_t block, thread, stamp;
        bool covered;
    };
    for (const Asked& asked :
         {Asked{7, 0, 10, true}, Asked{7, 0, 11, false}, Asked{7, 64, 20, true}, Asked{7, 64, 21, false},
          Asked{7, 95, 20, true}, Asked{7, 96, 20, false}, Asked{7, 70, 30, true}, Asked{7, 70, 31, false},
          Asked{8, 0, 1, false}, Asked{6, 0, 1, false}, Asked{7, 1023, 10, true}})
        EXPECT_EQ(covers(view, asked.block, asked.thread, asked.stamp), asked.covered)
            << asked.block << " " << asked.thread << " " << asked.stamp;
}

TEST(Known, JoinsWithoutRepeatingWhatABlockSays) {
    View a, b;
    join(a, {{Known::all(1), 5}, {Known::thread(3, 4), 9}, {Known::warp(1, 0), 4}});
    EXPECT_EQ(a->entries.size(), 2u);
    join(b, {{Known::all(3), 9}, {Known::all(1), 2}, {Known::thread(1, 8), 6}});
    View sum = a;
    EXPECT_TRUE(join(sum, b));
    ASSERT_EQ(sum->entries.size(), 3u);
    EXPECT_TRUE(covers(sum, 1, 8, 6));
    EXPECT_FALSE(covers(sum, 1, 9, 6));
    EXPECT_TRUE(covers(sum, 3, 1023, 9));
    EXPECT_FALSE(join(sum, a));
    EXPECT_FALSE(join(sum, sum));
    EXPECT_FALSE(join(sum, View()));
}

TEST(Known, SharesWhatHasAllAlready) {
    View small, large;
    join(small, {{Known::all(2), 1}});
    join(large, {{Known::all(2), 3}, {Known::all(4), 1}});
    EXPECT_TRUE(join(small, large));
    EXPECT_EQ(small, large);
}

}  // namespace
}  // namespace recuda::vgpu

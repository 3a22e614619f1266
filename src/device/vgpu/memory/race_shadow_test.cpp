#include "device/vgpu/memory/race_shadow.h"

#include <gtest/gtest.h>

#include "device/vgpu/memory/events.h"

namespace recuda::vgpu {
namespace {

TEST(RaceShadow, SplitsWhatTouchedAGranule) {
    RaceShadow shadow;
    shadow.split(3, 20);
    EXPECT_EQ(shadow.granules, 3u);
    EXPECT_EQ(shadow.followed, 20u);
    shadow.use(RaceShadow::kPlain, 7);
    for (uint32_t i = 0; i < 3; ++i) shadow.columns[RaceShadow::kPlain].cells[i] = i * 10;
    shadow.split(4, 20);  // larger: stays
    EXPECT_EQ(shadow.shift, 3u);
    shadow.split(1, 20);
    ASSERT_EQ(shadow.granules, 10u);
    for (uint32_t i = 0; i < 10; ++i) EXPECT_EQ(shadow.columns[RaceShadow::kPlain].cells[i], i / 4 * 10) << i;
    EXPECT_EQ(shadow.columns[RaceShadow::kRead].cells, nullptr);
}

TEST(RaceShadow, LeavesTheEndOfHugeBuffersOut) {
    RaceShadow shadow;
    const uint64_t bytes = RaceShadow::kMostGranules * 4 + 100;
    shadow.split(2, bytes);
    EXPECT_EQ(shadow.granules, RaceShadow::kMostGranules);
    EXPECT_EQ(shadow.followed, RaceShadow::kMostGranules * 4);
}

TEST(Events, AreOneForALoopAndOneATick) {
    Events events;
    uint32_t first = 0;
    ASSERT_TRUE(events.begin(&first));
    Events::Writer writer;
    const Event event{.block = 3, .stamp = 9, .instruction = 5, .warp = 1};
    const uint32_t number = events.number(writer, event);
    EXPECT_GE(number << kLaneBits, first);
    EXPECT_EQ(events.number(writer, event), number);
    EXPECT_EQ(events.at(number), event);
    Event later = event;
    later.stamp = 10;
    EXPECT_NE(events.number(writer, later), number);
    EXPECT_EQ(events.at(number), event);
}

TEST(Events, RunOutAndStartAgain) {
    Events events(4 * Events::kChunk);
    uint32_t first = 0;
    ASSERT_TRUE(events.begin(&first));
    Events::Writer writer;
    Event event;
    uint32_t number = 0, count = 0;
    for (; (number = events.number(writer, event)) != 0; ++event.stamp) ++count;
    EXPECT_EQ(count, 3 * Events::kChunk);  // number 0 is none
    EXPECT_FALSE(events.begin(&first));
    events.forget();
    ASSERT_TRUE(events.begin(&first));
    EXPECT_EQ(events.number(writer, event) << kLaneBits, first);
}

}  // namespace
}  // namespace recuda::vgpu

#include "mutate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace recuda::fuzz {
namespace {

constexpr std::string_view kText =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<4>;\nA:\n"
    "add.s32 %r1, %r2, 7;\nmul.lo.s32 %r3, %r1, %r2;\nret;\n}\n";

TEST(Mutate, IsChosenBySeedAlone) {
    EXPECT_EQ(mutate(kText, kText, 5, 4096), mutate(kText, kText, 5, 4096));
    std::set<std::string> seen;
    for (uint32_t seed = 0; seed < 100; ++seed) seen.insert(mutate(kText, kText, seed, 4096));
    EXPECT_GT(seen.size(), 80u);
}

TEST(Mutate, KeepsTheLimit) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
        EXPECT_FALSE(mutate(kText, kText, seed, 4096).empty());
        EXPECT_LE(mutate(kText, kText, seed, 64).size(), 64u);
    }
}

TEST(Mutate, TakesAnything) {
    for (const std::string_view text : {"", ";", "{", ".", "%r1", "a:"})
        for (uint32_t seed = 0; seed < 200; ++seed) EXPECT_LE(mutate(text, "", seed, 100).size(), 100u);
}

}  // namespace
}  // namespace recuda::fuzz

#include "judge/fitness.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace recuda {
namespace {

Comparison compared(Comparing outcome) { return {"plain", outcome, 1.02, 1.015, 1.025}; }

TEST(Fitness, IsTestedAfterEachTwentyProofs) {
    const TemporaryFolder folder;
    const Fitness fitness(folder.path() / "cache" / "proofs.json", "card A");
    for (int proof = 1; proof <= 50; ++proof) {
        EXPECT_EQ(fitness.test_is_due(), proof == 21 || proof == 41) << proof;
        if (fitness.test_is_due()) fitness.tested(compared(Comparing::equivalent));
        fitness.proven();
    }
    EXPECT_EQ(fitness.unfit(), "");
}

TEST(Fitness, AClaimForACopyMakesUnfitUntilATestIsPassed) {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "proofs.json";
    const Fitness fitness(file, "card A"), other(file, "card B");
    for (const Comparing claim : {Comparing::faster, Comparing::slower}) {
        fitness.tested(compared(claim));
        EXPECT_NE(fitness.unfit().find(name(claim)), std::string::npos) << fitness.unfit();
        EXPECT_TRUE(fitness.test_is_due());
        EXPECT_EQ(other.unfit(), "") << "another card";
        fitness.tested(compared(Comparing::equivalent));
        EXPECT_EQ(fitness.unfit(), "");
        EXPECT_FALSE(fitness.test_is_due());
    }
}

TEST(Fitness, AForeignFileCountsAsNone) {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "proofs.json";
    for (const char* text : {"[1]", "{", R"({"card A": 3})", R"({"card A": {"proofs": "x"}})"}) {
        write_atomically(file, text);
        const Fitness fitness(file, "card A");
        EXPECT_EQ(fitness.unfit(), "") << text;
        fitness.tested(compared(Comparing::faster));
        EXPECT_NE(fitness.unfit(), "") << text;
    }
}

}  // namespace
}  // namespace recuda

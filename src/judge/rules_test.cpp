#include "judge/rules.h"

#include <gtest/gtest.h>

#include "task/op.h"

namespace recuda {
namespace {

Facts one(FactKind kind, bool own = true) {
    Facts facts;
    facts.ptx = {{.kind = kind, .what = "word", .count = 1, .lines = {7, 9}, .own = own}};
    return facts;
}

TEST(Rules, RefuseWhatNoRightAnswerNeeds) {
    Op op;
    op.name = "rmsnorm";
    for (const FactKind kind : {FactKind::clock, FactKind::global_timer, FactKind::performance_counter,
                                FactKind::grid_id, FactKind::l2_residency}) {
        const std::string why = refusal(one(kind), op, "kernel.cu");
        EXPECT_TRUE(why.starts_with("kernel.cu:7: `word` ")) << name(kind) << why;
        op.allow = {kind};
        EXPECT_EQ(refusal(one(kind), op, "kernel.cu"), "");
        op.allow.clear();
    }
    for (const FactKind kind :
         {FactKind::sm_id, FactKind::sleep, FactKind::cache_policy, FactKind::volatile_access,
          FactKind::dependent_launch, FactKind::half_accumulator, FactKind::trap, FactKind::print})
        EXPECT_EQ(refusal(one(kind), op, "kernel.cu"), "") << name(kind);
    EXPECT_EQ(refusal(one(FactKind::global_timer, false), op, "kernel.cu"), "");  // libcu++'s waits
    EXPECT_NE(refusal(one(FactKind::l2_residency, false), op, "kernel.cu"), "");
}

TEST(Rules, AnOpAddsItsOwn) {
    Op op;
    op.name = "exactly";
    op.exact = true;
    op.forbid = {FactKind::half_accumulator};
    EXPECT_EQ(refusal(one(FactKind::half_accumulator), op, "kernel.cu"),
              "kernel.cu:7: `word` op exactly forbids half_accumulator");
    EXPECT_NE(refusal(one(FactKind::float_atomic), op, "kernel.cu"), "");
    op.exact = false;
    EXPECT_EQ(refusal(one(FactKind::float_atomic), op, "kernel.cu"), "");
}

}  // namespace
}  // namespace recuda

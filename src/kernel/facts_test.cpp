#include "kernel/facts.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace recuda {
namespace {

Facts sample() {
    Facts facts;
    facts.ptx = {
        {.kind = FactKind::tensor_core, .what = "mma m16n8k16 bf16, sums in f32", .count = 4, .lines = {7}},
        {.kind = FactKind::global_load, .what = "2 bytes", .count = 1, .lines = {}},
        {.kind = FactKind::global_load, .what = "16 bytes", .count = 2, .lines = {5, 9}},
        {.kind = FactKind::clock, .what = "mov.u64 %clock64", .count = 1, .lines = {12}},
        {.kind = FactKind::global_timer, .what = "mov.u64 %globaltimer", .count = 3, .lines = {3}, .own = false}};
    facts.sass = SassFacts{.tool = "nvdisasm",
                           .problem = "",
                           .instructions = 216,
                           .tensor_cores = {{"HMMA.16816.F32.BF16", 4}},
                           .global_loads = {{2, 1}, {16, 2}},
                           .local_stores = 3};
    return facts;
}

TEST(Facts, AreTheSameAfterJson) {
    const nlohmann::json json = to_json(sample());
    EXPECT_EQ(to_json(facts_from_json(json)), json);
    EXPECT_EQ(json.at("ptx").at(2).at("kind"), "global_load");
    EXPECT_EQ(json.at("sass").at("global_loads").at("16"), 2);
    EXPECT_TRUE(to_json(Facts{}).at("sass").is_null());
    nlohmann::json unknown = json;
    unknown["ptx"][0]["kind"] = "tensor_cor";
    EXPECT_THROW(facts_from_json(unknown), Error);
}

TEST(Facts, AreShownInALineWithoutWhatOnlyHeadersDo) {
    EXPECT_EQ(shown(sample()),
              "tensor cores mma m16n8k16 bf16, sums in f32; reads the clock (line 12); loads of up to 16 bytes; 216 "
              "machine instructions; 3 of them local memory");
    EXPECT_EQ(shown(Facts{}), "");
}

TEST(Facts, OfSeveralBinariesAreTakenTogether) {
    Facts facts = sample(), other;
    other.ptx = {{.kind = FactKind::global_load, .what = "16 bytes", .count = 5, .lines = {4, 9}},
                 {.kind = FactKind::half_accumulator, .what = "mma m16n8k16", .count = 1, .lines = {}}};
    facts.add(other);
    ASSERT_EQ(facts.ptx.size(), 6u);
    EXPECT_EQ(facts.ptx[1].kind, FactKind::half_accumulator);  // by kind
    EXPECT_EQ(facts.ptx[3].count, 5u);
    EXPECT_EQ(facts.ptx[3].lines, (std::vector<uint32_t>{4, 5, 9}));
}

TEST(FactKinds, HaveNames) {
    for (size_t i = 0; i < kFactKinds; ++i)
        EXPECT_EQ(fact_kind_named(name(static_cast<FactKind>(i))), static_cast<FactKind>(i));
    EXPECT_EQ(name(FactKind::breakpoint), "breakpoint");
    EXPECT_THROW(fact_kind_named("clok"), Error);
}

}  // namespace
}  // namespace recuda

#include "judge/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <cmath>

#include "judge/workloads.h"
#include "task/catalogue.h"
#include "task/op.h"

namespace recuda {
namespace {

Task task(const char* name) {
    static Catalogue catalogue(RECUDA_SOURCE_DIR);
    return catalogue.task(name);
}

Axes at_tokens(const Task& task, int64_t tokens) {
    Axes axes = task.axes;
    axes["T"] = tokens;
    return axes;
}

TEST(Inputs, DependOnSeedWorkloadAndKind) {
    const Task rmsnorm = task("nano30b_rmsnorm");
    const auto x = [&](int64_t tokens, Battery battery, uint64_t seed) {
        std::vector<double> values = values_of(make_inputs(rmsnorm, at_tokens(rmsnorm, tokens), battery, seed).at("x"));
        values.resize(100);
        return values;
    };
    EXPECT_EQ(x(3, Battery::normal, 1), x(3, Battery::normal, 1));
    EXPECT_NE(x(3, Battery::normal, 1), x(3, Battery::normal, 2));
    EXPECT_NE(x(3, Battery::normal, 1), x(8, Battery::normal, 1));
    EXPECT_NE(x(3, Battery::normal, 1), x(3, Battery::outlier, 1));
}

TEST(Inputs, WeightsKeepTheirFillButForTiesNegativeAndSpecial) {
    const Task rmsnorm = task("nano30b_rmsnorm");
    for (const Battery battery : all_batteries()) {
        const InputContents contents = make_inputs(rmsnorm, at_tokens(rmsnorm, 3), battery, 1);
        double mean = 0;
        int nans = 0;
        for (const double value : values_of(contents.at("w"))) std::isfinite(value) ? mean += value / 2688 : nans += 1;
        EXPECT_EQ(nans, battery == Battery::special ? 3 : 0) << name(battery);
        const double wanted = battery == Battery::ties ? 0.25 : battery == Battery::negative ? -1.5 : 1;
        EXPECT_NEAR(mean, wanted, 0.05) << name(battery);
    }
    int specials = 0;
    for (const double value : values_of(make_inputs(rmsnorm, at_tokens(rmsnorm, 1), Battery::special, 1).at("x")))
        specials += std::isnan(value);
    EXPECT_EQ(specials, 8) << "one token is enough for a NaN";
}

TEST(Inputs, TablesNeverChange) {
    const Task rope = task("qwen35_partial_rope");
    const InputContents contents = make_inputs(rope, at_tokens(rope, 2), Battery::large, 1);
    const std::vector<double> cosines = values_of(contents.at("cos")), sines = values_of(contents.at("sin"));
    for (size_t i = 0; i < cosines.size(); ++i) EXPECT_NEAR(cosines[i] * cosines[i] + sines[i] * sines[i], 1, 1e-6);
}

TEST(Inputs, StridedRowsHaveNanBetweenThem) {
    const Task norm = task("nano30b_gated_groupnorm");
    const Axes axes = at_tokens(norm, 2);
    const Tensor z = make_inputs(norm, axes, Battery::normal, 1).at("z");
    ASSERT_EQ(z.size(), 2 * 10304);
    EXPECT_TRUE(std::isfinite(z.at(4095)));
    EXPECT_TRUE(std::isnan(z.at(4096)));
    EXPECT_TRUE(std::isfinite(z.at(10304)));
    const Tensor dense = dense_rows(*norm.op->tensor("z"), axes, z);
    ASSERT_EQ(dense.size(), 2 * 4096);
    EXPECT_EQ(dense.at(4096), z.at(10304));
}

/// How many parts of a kind a workload has.
int64_t parts_in(const Workload& workload, Battery battery) {
    return std::count_if(workload.inputs.begin(), workload.inputs.end(),
                         [&](const Input& input) { return input.battery == battery; });
}

TEST(Workloads, HaveRowsOfEveryKindHoweverMany) {
    const Task rmsnorm = task("nano30b_rmsnorm"), argmax = task("nano30b_argmax");
    for (const Task* one : {&rmsnorm, &argmax})
        for (const Workload& workload : verified_workloads(*one, DeviceKind::cuda, {}, Depth::whole, 5)) {
            const int64_t tokens = tokens_of(workload.axes);
            EXPECT_EQ(parts_in(workload, Battery::normal), 1);
            if (tokens > 8) {
                EXPECT_EQ(parts_in(workload, Battery::crowd), parts_of(*one, workload.axes, Battery::crowd));
            }
            if (tokens == 1 || tokens == 3 || tokens == 5 || tokens == 8) {
                EXPECT_EQ(workload.inputs.size(), all_batteries().size() - 1) << "special or infinite";
            }
            if (tokens == 2 || tokens == 7) {
                EXPECT_EQ(workload.inputs.size(), 2u);
            }
            EXPECT_EQ(parts_in(workload, Battery::columns),
                      tokens == 129 ? parts_of(*one, workload.axes, Battery::columns) : 0);
            if (tokens > 8 && tokens < 200 && one == &rmsnorm) {
                EXPECT_GE(parts_in(workload, Battery::special), 1);
            }
        }
    EXPECT_EQ(parts_of(rmsnorm, at_tokens(rmsnorm, 129), Battery::columns), 2);
    EXPECT_EQ(parts_of(rmsnorm, at_tokens(rmsnorm, 9), Battery::crowd), 3);
}

TEST(Workloads, OneNumberOfTokensIsTheSeedsChoice) {
    const Task rmsnorm = task("nano30b_rmsnorm");
    std::set<int64_t> seen;
    for (uint64_t seed = 1; seed < 40; ++seed)
        for (const Workload& workload : verified_workloads(rmsnorm, DeviceKind::vgpu, {}, Depth::whole, seed))
            seen.insert(tokens_of(workload.axes));
    for (const int64_t tokens : {15, 17, 31, 33, 63, 65, 127}) EXPECT_TRUE(seen.contains(tokens)) << tokens;
}

TEST(Workloads, OwnOnesWithAnAwkwardOne) {
    const auto tokens = [](const std::vector<Workload>& workloads) {
        std::vector<int64_t> all;
        for (const Workload& workload : workloads) all.push_back(workload.axes.at("T"));
        return all;
    };
    const Task rmsnorm = task("nano30b_rmsnorm"), argmax = task("nano30b_argmax");
    using Tokens = std::vector<int64_t>;
    EXPECT_EQ(tokens(verified_workloads(rmsnorm, DeviceKind::vgpu, {}, Depth::whole, 1)),
              (Tokens{1, 2, 3, 4, 5, 6, 7, 8, 31, 32, 128, 129, 2048}));
    EXPECT_EQ(tokens(verified_workloads(rmsnorm, DeviceKind::cuda, {}, Depth::screen, 1)), (Tokens{1, 3, 5, 8}));
    EXPECT_EQ(tokens(verified_workloads(argmax, DeviceKind::vgpu, {}, Depth::whole, 1)),
              (Tokens{1, 2, 3, 4, 5, 6, 7, 8, 9}));
    EXPECT_EQ(tokens(verified_workloads(argmax, DeviceKind::cuda, {}, Depth::whole, 1)),
              (Tokens{1, 2, 3, 4, 5, 6, 7, 8, 31, 32, 128, 129}));
    const std::vector<Workload> given =
        verified_workloads(argmax, DeviceKind::vgpu, {at_tokens(argmax, 128)}, Depth::screen, 1);
    EXPECT_EQ(tokens(given), (Tokens{128}));
    for (const Input& input : given[0].inputs)
        EXPECT_NE(input.battery, Battery::special) << "argmax is not specified for NaN";
    const std::vector<EstimatedWorkload> estimated = estimated_workloads(rmsnorm, DeviceKind::vgpu, {});
    ASSERT_EQ(estimated.size(), 3u);  // T = 1, 8, and 128 by 16 times the counters of 8
    EXPECT_EQ(estimated[2].axes.at("T"), 8);
    EXPECT_EQ(estimated[2].scale, 16);
    EXPECT_EQ(estimated_workloads(rmsnorm, DeviceKind::vgpu, {at_tokens(rmsnorm, 3)}).size(), 1u);
}

}  // namespace
}  // namespace recuda

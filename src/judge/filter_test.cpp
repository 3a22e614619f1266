// The virtual GPU before a card: the card is a virtual GPU that says it is none and counts what reaches it.
#include "judge/filter.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/file.h"
#include "base/process.h"
#include "build/builder.h"
#include "device/forwarding_device.h"
#include "device/vgpu/vgpu.h"
#include "judge/judge.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

constexpr const char* kTasks = R"(
family = "small"
model = "none"
[rmsnorm]
op = "rmsnorm"
axes = { H = 264 }
scalars = { eps = 1e-5 }
verify = { T = [1, 3] }
bench = { T = [1] }
)";

constexpr const char* kRmsnorm = R"(//! launch  rms<<<T, 32>>>(x, w, y, eps)
#include <cuda_bf16.h>
extern "C" __global__ void rms(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, float eps) {
    x += (long long)blockIdx.x * H;
    y += (long long)blockIdx.x * H;
    float sum = 0.f;
    for (int i = threadIdx.x; i < H; i += 32) sum += __bfloat162float(x[i]) * __bfloat162float(x[i]);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    const float r = rsqrtf(sum / H + eps);
    for (int i = threadIdx.x; i < H; i += 32) y[i] = __float2bfloat16(__bfloat162float(x[i]) * r * __bfloat162float(w[i]));
}
)";

/// As a card it says so; as a filter's device it may be unable to run anything.
class OtherDevice : public ForwardingDevice {
 public:
    OtherDevice(DeviceKind kind, std::atomic<int>& runs, Outcome outcome)
        : ForwardingDevice(make_vgpu({.threads = 1})), runs_(runs), outcome_(outcome) {
        info_.kind = kind;
    }
    Execution run(std::span<const Launch> launches, const RunOptions& options) override {
        ++runs_;
        Execution execution = device_->run(launches, options);
        if (options.checks && outcome_ != Outcome::correct) execution.outcome = outcome_;  // ours run without checks
        return execution;
    }

 private:
    std::atomic<int>& runs_;
    Outcome outcome_;
};

class FilterTest : public ::testing::Test {
 protected:
    FilterTest()
        : builder_(make_builder({.workers = 2,
                                 .cache_folder = (folder_.path() / "builds").string(),
                                 .worker_command = {this_program(), "compile-worker"}})) {
        write_atomically(folder_.path() / "small.toml", kTasks);
    }

    /// Screens the texts on the card, behind a filter whose runs end as `filter` says; none: `correct` by itself.
    std::vector<Evaluation> screened(const std::vector<std::string>& texts, bool filtered = true,
                                     Outcome filter = Outcome::correct) {
        std::vector<Candidate> candidates;
        for (const std::string& text : texts)
            candidates.push_back(make_candidate(
                std::make_shared<const KernelFile>(parse_kernel_file(text, "kernel.cu", Language::cuda)), {}));
        JudgeOptions options{.seed = 7};
        if (filtered)
            options.filter_device = [&, filter] {
                return std::make_unique<OtherDevice>(DeviceKind::vgpu, filter_runs_, filter);
            };
        Catalogue catalogue(RECUDA_SOURCE_DIR);
        const std::unique_ptr<Evaluator> judge = make_judge(
            catalogue.task((folder_.path() / "small.toml").string() + "#rmsnorm"),
            std::make_unique<OtherDevice>(DeviceKind::cuda, card_runs_, Outcome::correct), *builder_, options);
        std::vector<Evaluation> evaluations;
        judge->evaluate(candidates, Depth::screen, {},
                        [&](Evaluation evaluation) { evaluations.push_back(std::move(evaluation)); });
        return evaluations;
    }

    static std::string edited(const std::string& old, const std::string& by) {
        std::string text = kRmsnorm;
        return text.replace(text.find(old), old.size(), by);
    }

    TemporaryFolder folder_;
    std::unique_ptr<Builder> builder_;
    std::atomic<int> card_runs_ = 0, filter_runs_ = 0;
};

TEST_F(FilterTest, WhatFaultsOrIsWrongThereNeverReachesTheCard) {
    const std::vector<Evaluation> all =
        screened({edited("i < H; i += 32) sum", "i <= H + 4096; i += 32) sum"), edited("+ eps", "* 2.f + eps")});
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(card_runs_, 0);
    EXPECT_EQ(all[0].outcome, Outcome::faulted) << all[0].verdict.log;
    ASSERT_FALSE(all[0].verdict.reports.empty());
    EXPECT_EQ(all[0].verdict.reports[0].line, 7u);
    EXPECT_TRUE(all[0].device.starts_with("cuda ")) << all[0].device;
    ASSERT_TRUE(all[0].filter);
    EXPECT_EQ(all[0].filter->device, "vgpu sm_90");
    EXPECT_EQ(all[1].outcome, Outcome::wrong) << all[1].verdict.log;
    EXPECT_NE(all[1].verdict.log.find("virtual GPU"), std::string::npos);
}

TEST_F(FilterTest, WhatIsRightThereGoesOnWithItsEstimate) {
    const std::vector<Evaluation> all = screened({kRmsnorm});
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].outcome, Outcome::correct) << all[0].verdict.log;
    EXPECT_GT(card_runs_, 0);
    ASSERT_TRUE(all[0].filter);
    EXPECT_EQ(all[0].filter->outcome, Outcome::correct);
    EXPECT_TRUE(all[0].filter->complete);
    EXPECT_TRUE(all[0].filter->estimate);
}

TEST_F(FilterTest, WhatItCannotRunSaysNothing) {
    for (const Outcome outcome : {Outcome::unsupported, Outcome::timed_out, Outcome::launch_refused}) {
        const std::vector<Evaluation> all = screened({kRmsnorm}, true, outcome);
        ASSERT_EQ(all.size(), 1u);
        EXPECT_EQ(all[0].outcome, Outcome::correct) << all[0].verdict.log;
        EXPECT_EQ(all[0].filter->outcome, outcome);
    }
}

TEST_F(FilterTest, WhatIsRefusedReachesNeither) {
    const std::vector<Evaluation> all =
        screened({edited("float sum = 0.f;", "float sum = clock64() == 1 ? 1.f : 0.f;")});
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].outcome, Outcome::refused);
    EXPECT_TRUE(all[0].verdict.log.starts_with("kernel.cu:6: ")) << all[0].verdict.log;
    EXPECT_EQ(filter_runs_ + card_runs_, 0);
}

TEST_F(FilterTest, WithoutItTheCardJudgesAlone) {
    const std::vector<Evaluation> all = screened({edited("+ eps", "* 2.f + eps")}, false);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].outcome, Outcome::wrong);
    EXPECT_FALSE(all[0].filter);
    EXPECT_GT(card_runs_, 0);
}

}  // namespace
}  // namespace recuda

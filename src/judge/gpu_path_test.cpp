// What the judge does on a GPU alone (second run elsewhere, determinism beside noise, a fault tried again), with the
// virtual GPU in the place of one: it says that it is a GPU and, like one, finds nothing by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/process.h"
#include "build/builder.h"
#include "device/counters.h"
#include "device/forwarding_device.h"
#include "device/vgpu/vgpu.h"
#include "judge/judge.h"
#include "task/catalogue.h"
#include "task/op.h"

namespace recuda {
namespace {

using testing::HasSubstr;

class GpuLike : public ForwardingDevice {
 public:
    GpuLike() : ForwardingDevice(make_vgpu()) { info_.kind = DeviceKind::cuda; }
    void fill(BufferId buffer, std::byte value, bool) override { device_->fill(buffer, value, false); }
    Timing time(const TimingRequest&) override { throw Error("this GPU has no clock"); }

    Execution run(std::span<const Launch> launches, const RunOptions&) override {
        if (launches[0].entry == "rms" && fails-- > 0)
            return {.outcome = Outcome::faulted, .log = "CUDA_ERROR_LAUNCH_FAILED"};
        Execution execution = device_->run(launches, {.checks = false});
        execution.gpu_ns = 1e8;
        return execution;
    }

    int fails = 0;  // runs of the candidate that fault before one does not
};

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
    const __nv_bfloat16* row = x + blockIdx.x * H;
    float sum = 0.f;
    for (int i = threadIdx.x; i < H; i += 32) sum += __bfloat162float(row[i]) * __bfloat162float(row[i]);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    const float r = rsqrtf(sum / H + eps);
    for (int i = threadIdx.x; i < H; i += 32) {
        __nv_bfloat16* to = y + blockIdx.x * H + i;
        /* here */ *to = __float2bfloat16(__bfloat162float(row[i]) * r * __bfloat162float(w[i]));
    }
}
)";

class GpuPath : public ::testing::Test {
 protected:
    GpuPath()
        : builder_(make_builder({.workers = 1,
                                 .cache_folder = (folder_.path() / "builds").string(),
                                 .worker_command = {this_program(), "compile-worker"}})) {
        write_atomically(folder_.path() / "small.toml", kTasks);
    }

    /// `here` stands before the store of an element.
    Evaluation judged(const std::string& here, int fails = 0) {
        std::string text = kRmsnorm;
        text.replace(text.find("/* here */"), 10, here);
        const Candidate one = make_candidate(
            std::make_shared<const KernelFile>(parse_kernel_file(text, "kernel.cu", Language::cuda)), {});
        auto device = std::make_unique<GpuLike>();
        device->fails = fails;
        Catalogue catalogue(RECUDA_SOURCE_DIR);
        const Task task = catalogue.task((folder_.path() / "small.toml").string() + "#rmsnorm");
        return check(task, std::move(device), *builder_, std::span(&one, 1), {.seed = 7}).at(0).evaluation;
    }

    TemporaryFolder folder_;
    std::unique_ptr<Builder> builder_;
};

TEST_F(GpuPath, AnHonestKernelIsRight) {
    const Evaluation evaluation = judged("");
    EXPECT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
    EXPECT_EQ(evaluation.verdict.log, "");
}

TEST_F(GpuPath, AKernelThatLooksForPoisonIsWrong) {
    const Evaluation evaluation = judged("if (__hisnan(*to))");
    EXPECT_EQ(evaluation.outcome, Outcome::wrong) << "it leaves plausible values of another row as they are";
}

TEST_F(GpuPath, AFaultThatDoesNotComeAgainIsNotTheCandidates) {
    Evaluation evaluation = judged("", 1);
    EXPECT_EQ(evaluation.outcome, Outcome::correct);
    EXPECT_THAT(evaluation.verdict.log, HasSubstr("a first attempt failed and did not do so again"));
    EXPECT_THAT(evaluation.verdict.log, HasSubstr("CUDA_ERROR_LAUNCH_FAILED"));
    evaluation = judged("", 1000);
    EXPECT_EQ(evaluation.outcome, Outcome::faulted);
    EXPECT_THAT(evaluation.verdict.log, HasSubstr("it failed twice"));
}

}  // namespace
}  // namespace recuda

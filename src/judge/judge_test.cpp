// The judge from kernel text to evaluation, with the real builder and the virtual GPU.
#include "judge/judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "build/builder.h"
#include "device/counters.h"
#include "device/limits.h"
#include "device/vgpu/vgpu.h"
#include "task/catalogue.h"
#include "task/op.h"

namespace recuda {
namespace {

// A row of 264 elements: no multiple of a block, so that the edges of a row are met.
constexpr const char* kTasks = R"(
family = "small"
model = "none"
[rmsnorm]
op = "rmsnorm"
axes = { H = 264 }
scalars = { eps = 1e-5 }
verify = { T = [1, 3, 8, 32] }
bench = { T = [1, 8] }
[add_rmsnorm]
op = "add_rmsnorm"
axes = { H = 264 }
scalars = { eps = 1e-5 }
verify = { T = [1, 3] }
bench = { T = [1] }
[argmax]
op = "argmax"
axes = { V = 1000 }
verify = { T = [1, 3] }
bench = { T = [1] }
[router]
op = "sigmoid_topk_router"
axes = { E = 32, K = 4 }
scalars = { scale = 2.5 }
verify = { T = [1, 3, 8] }
bench = { T = [1] }
[l2norm]
op = "l2norm"
axes = { K = 2, H = 2688 }
scalars = { eps = 1e-6 }
verify = { T = [1, 3] }
bench = { T = [1] }
[wide]
op = "rmsnorm"
axes = { H = 2688 }
scalars = { eps = 1e-5 }
verify = { T = [1, 3, 8] }
bench = { T = [1] }
[relu2]
op = "relu2"
axes = { K = 1, N = 1000 }
verify = { T = [1, 8] }
bench = { T = [1] }
)";

constexpr const char* kRmsnorm = R"(//! launch  rms<<<T, 256>>>(x, w, y, eps)
#include <cuda_bf16.h>
extern "C" __global__ void rms(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, float eps) {
    __shared__ float partial[8];
    const __nv_bfloat16* row = x + (long long)blockIdx.x * H;
    float sum = 0.f;
    for (int i = threadIdx.x; i < H; i += 256) {
        float v = __bfloat162float(row[i]);
        sum += v * v;
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    float total = 0.f;
    for (int i = 0; i < 8; ++i) total += partial[i];
    float r = rsqrtf(total / H + eps);
    for (int i = threadIdx.x; i < H; i += 256) {
        float v = __bfloat162float(row[i]) * r * __bfloat162float(w[i]);
        y[(long long)blockIdx.x * H + i] = __float2bfloat16(v);
    }
}
)";

/// `text` with its only `old` replaced: how a right kernel becomes a faulty one.
std::string edited(std::string text, const std::string& old, const std::string& by) {
    const size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    EXPECT_EQ(text.find(old, at + 1), std::string::npos) << old;
    return text.replace(at, old.size(), by);
}

uint32_t line_of(const std::string& text, const std::string& word) {
    return static_cast<uint32_t>(
               std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find(word)), '\n')) +
           1;
}

class JudgeEndToEnd : public ::testing::Test {
 protected:
    static void SetUpTestSuite() {
        folder_ = new TemporaryFolder;
        write_atomically(folder_->path() / "small.toml", kTasks);
        builder_ = make_builder({.workers = 2,
                                 .cache_folder = (folder_->path() / "builds").string(),
                                 .worker_command = {this_program(), "compile-worker"}})
                       .release();
    }
    static void TearDownTestSuite() {
        delete builder_;
        delete folder_;
    }

    static Task task(const std::string& name) {
        return catalogue().task((folder_->path() / "small.toml").string() + "#" + name);
    }
    static Catalogue& catalogue() {
        static Catalogue catalogue(RECUDA_SOURCE_DIR);
        return catalogue;
    }

    static Candidate candidate(const std::string& text, Point point = {}) {
        return make_candidate(std::make_shared<const KernelFile>(parse_kernel_file(text, "kernel.cu", Language::cuda)),
                              std::move(point));
    }

    static Evaluation checked(const std::string& task_name, const std::string& text, JudgeOptions options = {},
                              std::shared_ptr<const Counters>* counters = nullptr) {
        const Candidate one = candidate(text);
        options.seed = 7;
        std::vector<Checked> all = check(task(task_name), make_vgpu(), *builder_, std::span(&one, 1), options);
        if (counters) *counters = all.at(0).counters;
        return std::move(all.at(0).evaluation);
    }

    static JudgeOptions at_tokens(int64_t tokens) {
        JudgeOptions options;
        options.axes = {{{"T", tokens}, {"H", 264}}};
        return options;
    }

    /// `input` may be empty where several kinds show it.
    static void expect_wrong(const Evaluation& evaluation, const std::string& input, const std::string& word) {
        EXPECT_EQ(evaluation.outcome, Outcome::wrong) << evaluation.verdict.log;
        EXPECT_TRUE(evaluation.verdict.reports.empty());
        const auto bad =
            std::find_if(evaluation.verdict.workloads.begin(), evaluation.verdict.workloads.end(),
                         [](const WorkloadVerdict& workload) { return workload.outcome == Outcome::wrong; });
        ASSERT_NE(bad, evaluation.verdict.workloads.end());
        EXPECT_FALSE(bad->max_error <= bad->bound);
        if (!input.empty()) {
            EXPECT_EQ(bad->input, input) << bad->detail;
        }
        EXPECT_NE(bad->detail.find(word), std::string::npos) << bad->detail;
    }

    static TemporaryFolder* folder_;
    static Builder* builder_;
};
TemporaryFolder* JudgeEndToEnd::folder_ = nullptr;
Builder* JudgeEndToEnd::builder_ = nullptr;

TEST_F(JudgeEndToEnd, RightKernelIsCorrectEverywhere) {
    std::shared_ptr<const Counters> counters;
    const Evaluation evaluation = checked("rmsnorm", kRmsnorm, {}, &counters);
    EXPECT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
    std::vector<int64_t> tokens;
    for (const WorkloadVerdict& workload : evaluation.verdict.workloads) {
        tokens.push_back(workload.axes.at("T"));
        EXPECT_LE(workload.max_error, workload.bound);
        EXPECT_GT(workload.bound, 0);
    }
    EXPECT_EQ(tokens, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 31, 32, 33}));
    EXPECT_GT(evaluation.resources.registers, 0u);
    EXPECT_EQ(evaluation.resources.shared_bytes, 32u);
    EXPECT_EQ(evaluation.device, "vgpu sm_90");
    EXPECT_EQ(evaluation.stage, "whole");
    EXPECT_EQ(evaluation.seed, 7u);
    EXPECT_FALSE(evaluation.median_ns);
    ASSERT_TRUE(evaluation.estimate);
    EXPECT_GT(*evaluation.estimate, 0);
    ASSERT_TRUE(counters);
    EXPECT_EQ(counters->blocks, 36u + 31 + 32 + 33);
    // x is read twice, w once a row, y written once, 2 bytes an element.
    EXPECT_EQ(counters->global_read.bytes, 132u * 264 * 2 * 3);
    EXPECT_EQ(counters->global_write.bytes, 132u * 264 * 2);
}

TEST_F(JudgeEndToEnd, WrongKernels) {
    struct Row {
        const char *what, *old, *by;
        int64_t tokens;
        const char *input, *word;
    };
    const Row rows[] = {
        {"last row", "rsqrtf(total / H + eps);",
         "rsqrtf(total / H + eps) * (gridDim.x > 1 && blockIdx.x == gridDim.x - 1 ? 1.03f : 1.f);", 32, "normal",
         "row 31"},
        {"NaN swallowed", "__float2bfloat16(v)", "__float2bfloat16(isfinite(v) ? v : 0.f)", 3, "special", "NaN"},
        {"eps omitted", "total / H + eps", "total / H", 3, "zeros", "NaN"},
        {"half a percent", "__float2bfloat16(v)", "__float2bfloat16(1.005f * v)", 8, "normal", "y"},
        {"one element", "__float2bfloat16(v)", "__float2bfloat16(blockIdx.x == 2 && i == 17 ? v + 0.25f : v)", 3,
         "normal", "y[2, 17]"},
        {"unwritten", "float v = __bfloat162float(row[i]) * r",
         "if (i == 100) continue; float v = __bfloat162float(row[i]) * r", 3, "normal", "never written"},
        {"input overwritten", "__float2bfloat16(v);",
         "__float2bfloat16(v); if (i == 0) const_cast<__nv_bfloat16*>(w)[0] = w[0] + w[0];", 1, "normal", "input w"},
        {"half precision", "sum += v * v", "sum += __half2float(__hmul(__float2half(v), __float2half(v)))", 3, "large",
         "y"},
        {"eps of another", "total / H + eps", "total / H + 1e-6f", 3, "", "y"},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.what);
        std::string text = edited(kRmsnorm, row.old, row.by);
        if (text.find("half") != std::string::npos)
            text = edited(text, "#include <cuda_bf16.h>", "#include <cuda_bf16.h>\n#include <cuda_fp16.h>");
        expect_wrong(checked("rmsnorm", text, at_tokens(row.tokens)), row.input, row.word);
    }
}

// Each is right for every other input and number of tokens.
TEST_F(JudgeEndToEnd, FaultsThatOneKindOrShapeAloneShows) {
    expect_wrong(checked("rmsnorm", edited(kRmsnorm, "rms<<<T, 256>>>", "rms<<<T - (T > 8) * (T % 8), 256>>>")),
                 "normal", "never written");
    const std::string second = edited(kRmsnorm, "sum += v * v", "if (i != 2048) sum += v * v");
    expect_wrong(checked("wide", second), "outlier", "y");

    const std::string argmax = R"(//! launch k<<<T, 1>>>(logits, index)
extern "C" __global__ void k(const float* logits, int* index) {
    logits += blockIdx.x * V;
    int at = 0;
    float best = logits[0];
    for (int i = 0; i < V; ++i) if (logits[i] > best) best = logits[i], at = i;
    index[blockIdx.x] = at;
}
)";
    EXPECT_EQ(checked("argmax", argmax).outcome, Outcome::correct);
    expect_wrong(checked("argmax", edited(argmax, "= logits[0]", "= -1e38f")), "", "index");
    expect_wrong(checked("argmax", edited(argmax, "logits[i] > best)", "logits[i] > best + 1e-6f * fabsf(best))")), "",
                 "index");
}

// Right up to eight tokens, and there alone.
TEST_F(JudgeEndToEnd, WhatManyTokensAloneShowIsWrong) {
    const std::string counted =
        edited(edited(kRmsnorm, "w, y, eps)", "w, y, eps, T)"), "float eps)", "float eps, int rows)");
    EXPECT_EQ(checked("rmsnorm", counted).outcome, Outcome::correct);
    for (const char* edit : {"total / H + (rows > 8 ? 0.f : eps)", "fminf(total, rows > 8 ? 1e6f : 1e38f) / H + eps"})
        EXPECT_EQ(checked("rmsnorm", edited(counted, "total / H + eps", edit)).outcome, Outcome::wrong) << edit;
    for (const char* edit :
         {"sum += rows > 8 && isnan(v) ? 0.f : v * v", "sum += rows == 7 && blockIdx.x == 6 ? 0.f : v * v",
          "sum += rows > 8 && i == 100 ? 0.f : v * v"})
        EXPECT_EQ(checked("rmsnorm", edited(counted, "sum += v * v", edit)).outcome, Outcome::wrong) << edit;
}

TEST_F(JudgeEndToEnd, AccumulatorInBf16IsWrong) {
    const std::string text =
        edited(kRmsnorm, "float r = rsqrtf(total / H + eps);", R"(__nv_bfloat16 rough = __float2bfloat16(0.f);
    for (int i = 0; i < H; ++i) rough = __float2bfloat16(__bfloat162float(rough) + __bfloat162float(row[i]) * __bfloat162float(row[i]));
    float r = rsqrtf(__bfloat162float(rough) / H + eps);)");
    EXPECT_EQ(checked("rmsnorm", text, at_tokens(8)).outcome, Outcome::wrong);
}

TEST_F(JudgeEndToEnd, OtherOrderOfSumsIsRight) {
    const std::string text = edited(kRmsnorm, "float r = rsqrtf(total / H + eps);", R"(total = 0.f;
    for (int i = H - 1; i >= 0; --i) total += __bfloat162float(row[i]) * __bfloat162float(row[i]);
    float r = 1.f / sqrtf(__fdividef(total, H) + eps);)");
    const Evaluation evaluation = checked("rmsnorm", text, at_tokens(8));
    EXPECT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
}

// One of 2688 elements changes the norm by 0.02 percent where all are alike.
TEST_F(JudgeEndToEnd, NormsThatSkipAnEndAreWrong) {
    const std::string l2 = R"(//! launch l2<<<K*T, 32>>>(x, y, eps)
#include <cuda_bf16.h>
extern "C" __global__ void l2(const __nv_bfloat16* x, __nv_bfloat16* y, float eps) {
    x += blockIdx.x * H, y += blockIdx.x * H;
    float sum = 0;
    for (int i = threadIdx.x; i < H; i += 32) sum += __bfloat162float(x[i]) * __bfloat162float(x[i]);
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    for (int i = threadIdx.x; i < H; i += 32) y[i] = __float2bfloat16(__bfloat162float(x[i]) * rsqrtf(sum + eps));
}
)";
    const std::pair<const char*, std::string> kernels[] = {{"wide", kRmsnorm}, {"l2norm", l2}};
    for (const auto& [name, right] : kernels) {
        SCOPED_TRACE(name);
        const Evaluation evaluation = checked(name, right);
        EXPECT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
        const size_t sum = right.find("sum += ", right.find("i < H;"));
        for (const char* only : {"if (i != H - 1) ", "if (i != 0) "}) {
            const std::string skipping = std::string(right).insert(sum, only);
            EXPECT_EQ(checked(name, skipping).outcome, Outcome::wrong) << only;
            // Too few elements for the mean to show it: the ends do.
            JudgeOptions one_row;
            one_row.axes = {{{"T", 1}, {"H", 1000}}};
            if (name == std::string("l2norm")) one_row.axes[0]["K"] = 1;
            expect_wrong(checked(name, skipping, one_row), "edges", "y");
        }
    }
}

// Rounding before the multiplication by w, as some models do, moves a whole row of one value at once.
TEST_F(JudgeEndToEnd, AnotherRoundingIsRightWhateverTheSeed) {
    const Candidate one = candidate(edited(kRmsnorm, "__bfloat162float(row[i]) * r *",
                                           "__bfloat162float(__float2bfloat16(__bfloat162float(row[i]) * r)) *"));
    for (uint64_t seed = 1; seed <= 12; ++seed) {
        JudgeOptions options = at_tokens(1);
        options.seed = seed;
        const Evaluation evaluation =
            check(task("rmsnorm"), make_vgpu(), *builder_, std::span(&one, 1), options).at(0).evaluation;
        EXPECT_EQ(evaluation.outcome, Outcome::correct) << seed << ": " << evaluation.verdict.log;
    }
}

TEST_F(JudgeEndToEnd, InputsAreSecretUnlessTheirSeedIsGiven) {
    const Candidate one = candidate(kRmsnorm);
    std::set<uint64_t> seeds;
    for (int i = 0; i < 3; ++i)
        seeds.insert(
            check(task("rmsnorm"), make_vgpu(), *builder_, std::span(&one, 1), at_tokens(1)).at(0).evaluation.seed);
    EXPECT_EQ(seeds.size(), 3u);
}

TEST_F(JudgeEndToEnd, NothingToVerifyIsNothingRight) {
    Task empty = task("rmsnorm");
    empty.verify.clear();
    empty.small.clear();
    const Candidate one = candidate(kRmsnorm);
    EXPECT_THROW(check(empty, make_vgpu(), *builder_, std::span(&one, 1), {}), Error);
    EXPECT_THROW(make_judge(empty, make_vgpu(), *builder_, {}), Error);
}

TEST_F(JudgeEndToEnd, ScaleThatOnlyTheMeanShowsIsWrong) {
    const std::string right = R"(//! launch relu2<<<T, 256>>>(x, y)
#include <cuda_bf16.h>
extern "C" __global__ void relu2(const __nv_bfloat16* x, __nv_bfloat16* y) {
    for (int i = threadIdx.x; i < N; i += 256) {
        const float v = __bfloat162float(x[blockIdx.x * N + i]), positive = v < 0 ? 0 : v;
        y[blockIdx.x * N + i] = __float2bfloat16(positive * positive);
    }
}
)";
    JudgeOptions options;
    options.axes = {{{"T", 8}, {"K", 1}, {"N", 1000}}};
    EXPECT_EQ(checked("relu2", right, options).outcome, Outcome::correct);
    expect_wrong(checked("relu2", edited(right, "(positive * positive)", "(1.002f * positive * positive)"), options),
                 "normal", "on average");
}

TEST_F(JudgeEndToEnd, FaultOutranksWrongAndIsReportedOnce) {
    const std::string text = edited(kRmsnorm, "i < H; i += 256) {\n        float v = __bfloat162float(row[i]);",
                                    "i <= H; i += 256) {\n        float v = __bfloat162float(row[i]);  // <- here");
    const Evaluation evaluation = checked("rmsnorm", text);
    EXPECT_EQ(evaluation.outcome, Outcome::faulted);
    ASSERT_EQ(evaluation.verdict.reports.size(), 1u);
    const Report& report = evaluation.verdict.reports[0];
    EXPECT_EQ(report.check, Check::out_of_bounds);
    EXPECT_EQ(report.line, line_of(text, "<- here"));
    EXPECT_EQ(report.buffer, "x");
    EXPECT_EQ(report.byte_offset, 264 * 2);
    EXPECT_EQ(report.count, 11u);  // once in each of the workloads
    EXPECT_NE(evaluation.verdict.log.find("out_of_bounds"), std::string::npos);
}

TEST_F(JudgeEndToEnd, StateWrittenInPlace) {
    const std::string right = R"(//! launch k<<<T, 32>>>(x, res, w, y, eps)
#include <cuda_bf16.h>
extern "C" __global__ void k(const __nv_bfloat16* x, __nv_bfloat16* res, const __nv_bfloat16* w, __nv_bfloat16* y, float eps) {
    x += blockIdx.x * H, res += blockIdx.x * H, y += blockIdx.x * H;
    float sum = 0;
    for (int i = threadIdx.x; i < H; i += 32) {
        const __nv_bfloat16 h = __float2bfloat16(__bfloat162float(x[i]) + __bfloat162float(res[i]));
        sum += __bfloat162float(h) * __bfloat162float(h);
        y[i] = h;
        res[i] = h;
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    for (int i = threadIdx.x; i < H; i += 32) y[i] = __float2bfloat16(__bfloat162float(y[i]) * rsqrtf(sum / H + eps) * __bfloat162float(w[i]));
}
)";
    const Evaluation evaluation = checked("add_rmsnorm", right);
    EXPECT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
    expect_wrong(checked("add_rmsnorm", edited(right, "        res[i] = h;\n", "")), "normal", "res");
    expect_wrong(
        checked("add_rmsnorm", edited(right, "res[i] = h;", "res[i] = i == H - 1 ? __float2bfloat16(3.f) : h;")),
        "normal", "res[0, 263]");
}

TEST_F(JudgeEndToEnd, ExactTasksTakeTheLowestIndex) {
    const std::string right = R"(//! launch k<<<T, 1>>>(logits, index)
extern "C" __global__ void k(const float* logits, int* index) {
    int at = 0;
    for (int i = 1; i < V; ++i) if (logits[blockIdx.x * V + i] > logits[blockIdx.x * V + at]) at = i;
    index[blockIdx.x] = at;
}
)";
    const Evaluation evaluation = checked("argmax", right);
    EXPECT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
    expect_wrong(checked("argmax", edited(right, "] > logits", "] >= logits")), "zeros", "index");
    expect_wrong(checked("argmax", edited(right, "i < V;", "i < V - 1;")), "edges", "index");
    EXPECT_EQ(checked("argmax", edited(right, "i < V;", "i < V - 128;")).outcome, Outcome::wrong);
    const std::string running = edited(
        right, R"(    for (int i = 1; i < V; ++i) if (logits[blockIdx.x * V + i] > logits[blockIdx.x * V + at]) at = i;
)",
        R"(    float best = __int_as_float(0xff800000);
    for (int i = 0; i < V; ++i) if (logits[blockIdx.x * V + i] > best) best = logits[blockIdx.x * V + i], at = i;
)");
    EXPECT_EQ(checked("argmax", running).outcome, Outcome::correct);
    expect_wrong(checked("argmax", edited(running, "__int_as_float(0xff800000)", "0")), "", "index");
    expect_wrong(checked("argmax", edited(running, "__int_as_float(0xff800000)", "-65504")), "", "index");
    const Evaluation atomic =
        checked("argmax", edited(right, "index[blockIdx.x] = at;",
                                 "index[blockIdx.x] = at; __shared__ float s; s = 0; atomicAdd(&s, 1.f);"));
    EXPECT_EQ(atomic.outcome, Outcome::refused) << atomic.verdict.log;
}

// Of equals the first to come wins: in the natural order of warps that is the lowest index, in others it is not.
TEST_F(JudgeEndToEnd, ExactTasksAreRunAgainInAnotherOrder) {
    const std::string first_comes = R"(//! launch k<<<T, 128>>>(logits, index)
extern "C" __global__ void k(const float* logits, int* index) {
    __shared__ float top[128];
    __shared__ int first;
    logits += blockIdx.x * V;
    int at = threadIdx.x * 8 < V ? threadIdx.x * 8 : V - 1;
    for (int i = at + 1; i < threadIdx.x * 8 + 8 && i < V; ++i) if (logits[i] > logits[at]) at = i;
    top[threadIdx.x] = logits[at];
    if (threadIdx.x == 0) first = -1;
    __syncthreads();
    float most = top[0];
    for (int t = 1; t < 128; ++t) most = fmaxf(most, top[t]);
    if (logits[at] == most) atomicCAS(&first, -1, at);
    __syncthreads();
    if (threadIdx.x == 0) index[blockIdx.x] = first;
}
)";
    const Evaluation evaluation = checked("argmax", first_comes);
    EXPECT_EQ(evaluation.outcome, Outcome::wrong);
    EXPECT_NE(evaluation.verdict.log.find("another order"), std::string::npos) << evaluation.verdict.log;
}

TEST_F(JudgeEndToEnd, RouterIsJudgedByProperty) {
    const std::string right = R"(//! launch k<<<T, 1>>>(logits, bias, index, weight, scale)
extern "C" __global__ void k(const float* logits, const float* bias, int* index, float* weight, float scale) {
    logits += blockIdx.x * E, index += blockIdx.x * K, weight += blockIdx.x * K;
    bool taken[E] = {};
    float sum = 1e-20f;
    for (int k = 0; k < K; ++k) {
        int best = -1;
        float score = 0;
        for (int e = 0; e < E; ++e) {
            const float s = 1 / (1 + __expf(-logits[e])) + bias[e];
            if (!taken[e] && (best < 0 || s > score)) best = e, score = s;
        }
        taken[best] = true;
        index[k] = best;
        weight[k] = 1 / (1 + __expf(-logits[best]));
        sum += weight[k];
    }
    for (int k = 0; k < K; ++k) weight[k] = weight[k] / sum * scale;
}
)";
    const Evaluation evaluation = checked("router", right);
    EXPECT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
    expect_wrong(checked("router", edited(right, "+ bias[e]", "")), "normal", "index");
    expect_wrong(checked("router", edited(right, "|| s > score", "|| s >= score")), "ties", "tie");
    expect_wrong(checked("router", edited(right, "/ sum * scale", "/ sum")), "normal", "weight");
    EXPECT_EQ(checked("router", edited(right, "e < E;", "e < E - 1;")).outcome, Outcome::wrong);
    const std::string from_zero =
        edited(edited(right, "int best = -1;", "int best = 0;"), "(best < 0 || s > score)", "s > score");
    expect_wrong(checked("router", from_zero), "negative", "index");
}

TEST_F(JudgeEndToEnd, WhatCannotBeBuiltOrLaunched) {
    const Evaluation syntax =
        checked("rmsnorm", edited(kRmsnorm, "float total = 0.f;", "float total = nothing_of_that_name;  // <- here"));
    EXPECT_EQ(syntax.outcome, Outcome::build_failed);
    EXPECT_NE(syntax.verdict.log.find("nothing_of_that_name"), std::string::npos);
    for (const char* launch :
         {"rms<<<T, 1025>>>", "rms<<<T, 256, 300 * 1024>>>", "rms<<<T - 3, 256>>>", "rms<<<(T, 65536), 256>>>"})
        EXPECT_EQ(checked("rmsnorm", edited(kRmsnorm, "rms<<<T, 256>>>", launch), at_tokens(3)).outcome,
                  Outcome::launch_refused)
            << launch;
    EXPECT_EQ(checked("rmsnorm", edited(kRmsnorm, "(x, w, y, eps)\n", "(x, w, eps)\n")).outcome,
              Outcome::launch_refused);
    const Evaluation forbidden = checked("rmsnorm", std::string("//! require T < 8\n") + kRmsnorm);
    EXPECT_EQ(forbidden.outcome, Outcome::launch_refused);
    EXPECT_NE(forbidden.verdict.log.find("require"), std::string::npos);
}

TEST_F(JudgeEndToEnd, EvaluatorScreensInOrder) {
    const std::unique_ptr<Evaluator> judge = make_judge(task("rmsnorm"), make_vgpu(), *builder_, {.seed = 7});
    EXPECT_EQ(judge->device_kind(), "vgpu");
    EXPECT_FALSE(judge->measures_time());
    std::vector<Candidate> candidates;
    for (int i = 0; i < 7; ++i)
        candidates.push_back(
            candidate(edited(kRmsnorm, "float sum = 0.f;", fmt::format("float sum = {}.f;", i % 2 == 0 ? 0 : i))));
    std::vector<Evaluation> evaluations;
    judge->evaluate(candidates, Depth::screen, {},
                    [&](Evaluation evaluation) { evaluations.push_back(std::move(evaluation)); });
    ASSERT_EQ(evaluations.size(), candidates.size());
    for (size_t i = 0; i < candidates.size(); ++i) {
        EXPECT_EQ(evaluations[i].digest, candidates[i].digest);
        EXPECT_EQ(evaluations[i].outcome, i % 2 == 0 ? Outcome::correct : Outcome::wrong) << evaluations[i].verdict.log;
        EXPECT_EQ(evaluations[i].stage, "screen");
        EXPECT_EQ(evaluations[i].estimate.has_value(), i % 2 == 0);
        for (const WorkloadVerdict& workload : evaluations[i].verdict.workloads) EXPECT_LE(workload.axes.at("T"), 8);
    }
    EXPECT_EQ(evaluations[0].estimate, evaluations[2].estimate);
}

TEST_F(JudgeEndToEnd, StoppedEvaluatorGivesNoHalfVerdict) {
    const std::unique_ptr<Evaluator> judge = make_judge(task("rmsnorm"), make_vgpu(), *builder_, {.seed = 7});
    const std::vector<Candidate> candidates(3, candidate(kRmsnorm));
    std::stop_source source;
    int done = 0;
    judge->evaluate(candidates, Depth::screen, source.get_token(),
                    [&](const Evaluation&) { ++done, source.request_stop(); });
    EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace recuda

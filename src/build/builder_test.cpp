#include "build/builder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "build/cache.h"
#include "build/toolchain.h"

namespace recuda {
namespace {

using Language = BuildRequest::Language;

constexpr const char* kScale = R"(//! launch scale<<<1, 32>>>(x, y, f)
#include <cuda_bf16.h>
extern "C" __global__ void scale(const __nv_bfloat16* x, float* y, float f) {
    __shared__ float s[32];
    s[threadIdx.x] = __bfloat162float(x[threadIdx.x]) * f;
    __syncthreads();
    y[threadIdx.x] = s[31 - threadIdx.x] * N;
}
)";

BuildRequest cuda_request(std::string source) {
    BuildRequest request;
    request.source = std::move(source);
    request.file = "kernel.cu";
    request.target = "sm_90";
    return request;
}

/// A builder with a cache of its own whose workers are this test program.
class BuilderTest : public testing::Test {
 protected:
    BuilderTest() { builder_ = make("compile-worker"); }

    std::unique_ptr<Builder> make(const char* worker, unsigned workers = 1) const {
        return make_builder({.workers = workers,
                             .cache_folder = (folder_.path() / "builds").string(),
                             .worker_command = {this_program(), worker}});
    }
    void SetUp() override {
        if (toolchain().nvrtc.state != Tool::State::ok) GTEST_SKIP() << "there is no NVRTC here: run ./setup";
    }
    BuildResult build(const BuildRequest& request) const { return builder_->build(request); }

    TemporaryFolder folder_;
    std::unique_ptr<Builder> builder_;
};

TEST_F(BuilderTest, CompilesCudaToPtxAndCubin) {
    BuildRequest request = cuda_request(kScale);
    request.defines["N"] = "3";
    const BuildResult result = build(request);
    ASSERT_EQ(result.outcome, Outcome::correct) << result.log;
    EXPECT_EQ(result.log, "");
    ASSERT_EQ(result.binaries.size(), 1u);
    const Binary& binary = result.binaries[0];
    EXPECT_EQ(binary.target, "sm_90");
    EXPECT_EQ(binary.file, "kernel.cu");
    EXPECT_EQ(binary.cubin.substr(1, 3), "ELF");
    EXPECT_NE(binary.ptx.find(".loc"), std::string::npos);
    ASSERT_EQ(binary.entries.size(), 1u);
    EXPECT_EQ(binary.entries[0].name, "scale");
    EXPECT_EQ(binary.entries[0].parameters, (std::vector<Parameter>{{"u64", 8, 8}, {"u64", 8, 8}, {"f32", 4, 4}}));
    EXPECT_GT(binary.entries[0].resources.registers, 0u);
    EXPECT_EQ(binary.entries[0].resources.shared_bytes, 128u);
}

TEST_F(BuilderTest, LeavesTheCubinOutWhereNobodyNeedsIt) {
    BuildRequest request = cuda_request(kScale);
    request.defines["N"] = "3";
    request.cubin = false;
    const BuildResult result = build(request);
    ASSERT_EQ(result.outcome, Outcome::correct) << result.log;
    EXPECT_EQ(result.binaries[0].cubin, "");
    EXPECT_EQ(result.binaries[0].entries[0].resources.registers, 0u);
}

TEST_F(BuilderTest, CompilesForEveryTargetOfThePromise) {
    for (const char* target : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120", "sm_121"}) {
        BuildRequest request = cuda_request("extern \"C\" __global__ void k(int* p) { *p = 1; }");
        request.target = target;
        const BuildResult result = build(request);
        ASSERT_EQ(result.outcome, Outcome::correct) << target << result.log;
        EXPECT_NE(result.binaries[0].ptx.find(std::string(".target ") + target), std::string::npos) << target;
    }
}

TEST_F(BuilderTest, RejectsTargetsThatThereAreNot) {
    for (const char* target : {"sm_42", "gfx90", "sm_", "sm_90x", "sm_90a --x"}) {
        BuildRequest request = cuda_request(kScale);
        request.target = target;
        EXPECT_THROW(build(request), Error) << target;
    }
}

TEST_F(BuilderTest, SaysInTheUsersLinesWhatIsWrong) {
    const BuildResult result =
        build(cuda_request("//! task x\n\nextern \"C\" __global__ void k(float* p) { *p = exq(*p); }"));
    EXPECT_EQ(result.outcome, Outcome::build_failed);
    EXPECT_NE(result.log.find("kernel.cu(3): error: identifier \"exq\" is undefined"), std::string::npos) << result.log;
}

TEST_F(BuilderTest, BoundsLogs) {
    std::string source;
    for (int i = 0; i < 2000; ++i) source += "__device__ void f" + std::to_string(i) + "() { undefined_name(); }\n";
    const BuildResult result = build(cuda_request(source));
    EXPECT_EQ(result.outcome, Outcome::build_failed);
    EXPECT_LE(result.log.size(), 17u << 10);
}

TEST_F(BuilderTest, RefusesWhatCandidatesMayNotDo) {
    const std::string kernel = "extern \"C\" __global__ void k(int* p) { *p = 1; }";
    const struct {
        std::string source;
        const char* says;
    } cases[] = {
        {"int f(int x) { return x; }\n" + kernel, "kernel.cu:1: a host function"},
        {"__host__ void f() {}\n" + kernel, "kernel.cu:1: a host function"},
        {kernel + "\nint main() { return 0; }", "kernel.cu:2: a host function"},
        {"int g = 3;\n" + kernel, "kernel.cu:1: a host variable"},
        {"#include <vector>\n" + kernel, "kernel.cu:1: a file outside CUDA's headers"},
        {"#include \"/etc/passwd\"\n" + kernel, "kernel.cu:1: #include of '/etc/passwd'"},
        {"__global__ void a(int* p) {}\nextern \"C\" __global__ void k(int* p) { a<<<1, 1>>>(p); }",
         "kernel.cu:2: a launch from the device"},
        {"#include <cuda_device_runtime_api.h>\n__global__ void a(int* p) {}\nextern \"C\" __global__ void k(int* p) { "
         "a<<<1, 1>>>(p); }",
         "a launch from the device"},
        {"#define SPACE __device__\nSPACE int g;\nextern \"C\" __global__ void k(int* p) { *p = g++; }",
         "writes to 'g'"},
        {"__managed__ int g;\nextern \"C\" __global__ void k(int* p) { *p = g++; }", "kernel.cu:1: a variable"},
        {"extern \"C\" __global__ void k(int* p) { asm volatile(\".global .u32 zz;\\n st.global.u32 [zz], 1;\"); }",
         "inline assembly declares"},
    };
    for (const auto& c : cases) {
        const BuildResult result = build(cuda_request(c.source));
        EXPECT_EQ(result.outcome, Outcome::refused) << c.source << "\n" << result.log;
        EXPECT_NE(result.log.find(c.says), std::string::npos) << c.source << "\n" << result.log;
    }
}

TEST_F(BuilderTest, AcceptsTablesAndTexts) {
    const char* cases[] = {
        "__device__ const float t[4] = {1, 2, 3, 4};\nextern \"C\" __global__ void k(int* p, float* q) { *q = t[*p]; }",
        "constexpr float t[4] = {1, 2, 3, 4};\nextern \"C\" __global__ void k(int* p, float* q) { *q = t[*p]; }",
        "__constant__ float t[4] = {1, 2, 3, 4};\nextern \"C\" __global__ void k(int* p, float* q) { *q = t[*p]; }",
        "extern \"C\" __global__ void k(int* p) { printf(\"%s %d\\n\", \"text\", *p); }",
        "extern \"C\" __global__ void k(int* p) { static const int t[4] = {1, 2, 3, 4}; *p = t[*p]; }",
        "template <int N> struct T { static constexpr int v[4] = {N, 2, 3, 4}; };\nextern \"C\" __global__ void k(int* "
        "p) { *p = T<3>::v[*p & 3]; }",
        "__host__ __device__ int f(int x) { return x; }\nextern \"C\" __global__ void k(int* p) { *p = f(*p); }",
    };
    for (const char* source : cases) {
        const BuildResult result = build(cuda_request(source));
        EXPECT_EQ(result.outcome, Outcome::correct) << source << "\n" << result.log;
    }
}

TEST_F(BuilderTest, RunsAsItStandsWhatIsNoCandidate) {
    BuildRequest request = cuda_request("__device__ int g;\nextern \"C\" __global__ void k(int* p) { *p = g++; }");
    request.candidate = false;
    EXPECT_EQ(build(request).outcome, Outcome::correct);
    request = cuda_request("int main() {}");
    request.candidate = false;
    EXPECT_EQ(build(request).outcome, Outcome::build_failed);
}

TEST_F(BuilderTest, FindsNoHeaderBesideTheUser) {
    const std::string near = (folder_.path() / "near.h").string();
    std::ofstream(near) << "#define SECRET 1\n";
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder_.path());
    const auto builder = make("compile-worker");
    const BuildResult result =
        builder->build(cuda_request("#include \"near.h\"\nextern \"C\" __global__ void k(int* p) { *p = SECRET; }"));
    std::filesystem::current_path(before);
    EXPECT_EQ(result.outcome, Outcome::refused) << result.log;
}

TEST_F(BuilderTest, FindsHeadersOfCudaFromEachOther) {
    for (const char* header : {"mma.h", "cooperative_groups.h"}) {
        BuildRequest request =
            cuda_request("#include <" + std::string(header) + ">\nextern \"C\" __global__ void k(int* p) { *p = 1; }");
        request.cubin = false;
        const BuildResult result = build(request);
        EXPECT_EQ(result.outcome, Outcome::correct) << header << "\n" << result.log;
    }
}

/// The jail, not the screening, stops a path that no scan of the text sees; a request that is no candidate is not
/// screened.
TEST_F(BuilderTest, JailHidesFilesThatAreNotCudas) {
    const std::string secret = (folder_.path() / "secret.h").string();
    std::ofstream(secret) << "#define SECRET 1\n";
    BuildRequest request =
        cuda_request("#include \"" + secret + "\"\nextern \"C\" __global__ void k(int* p) { *p = SECRET; }");
    request.candidate = false;
    const BuildResult result = build(request);
    EXPECT_EQ(result.outcome, Outcome::build_failed);
    EXPECT_NE(result.log.find("open source file"), std::string::npos) << result.log;
}

TEST_F(BuilderTest, LetsPtxasLookAtInlineAssembly) {
    BuildRequest request =
        cuda_request("extern \"C\" __global__ void k(int* p) { asm volatile(\"frobnicate.u32;\"); }");
    request.cubin = false;
    const BuildResult result = build(request);
    EXPECT_EQ(result.outcome, Outcome::build_failed);
    EXPECT_NE(result.log.find("frobnicate"), std::string::npos) << result.log;
}

TEST_F(BuilderTest, StopsAtTheDeadline) {
    BuildRequest request = cuda_request(
        "template <int N, int M> struct A { static constexpr long v = A<N - 1, M>::v + A<N - 1, M + N * N>::v; };\n"
        "template <int M> struct A<0, M> { static constexpr long v = M; };\n"
        "extern \"C\" __global__ void k(long* p) { *p = A<26, 1>::v; }");
    request.deadline_s = 0.5;
    const BuildResult result = build(request);
    EXPECT_EQ(result.outcome, Outcome::build_failed);
    EXPECT_EQ(result.log, "the compiler had to be stopped after 0.5 s");
    EXPECT_FALSE(result.lasting);
    EXPECT_EQ(build(cuda_request("extern \"C\" __global__ void k(int* p) { *p = 1; }")).outcome, Outcome::correct);
}

TEST_F(BuilderTest, BuildsManyInOrder) {
    std::vector<BuildRequest> requests;
    for (int i = 0; i < 12; ++i)
        requests.push_back(cuda_request("extern \"C\" __global__ void k" + std::to_string(i) + "(int* p) { *p = 1; }"));
    const std::vector<BuildResult> results = make("compile-worker", 2)->build(requests);
    ASSERT_EQ(results.size(), requests.size());
    for (size_t i = 0; i < results.size(); ++i)
        EXPECT_NE(results[i].binaries.at(0).find("k" + std::to_string(i)), nullptr);
}

TEST_F(BuilderTest, RemembersBuildsAndDiagnostics) {
    for (const char* source :
         {"extern \"C\" __global__ void k(int* p) { *p = 1; }", "extern \"C\" __global__ void k(int* p) { *p = q; }"}) {
        const BuildResult first = build(cuda_request(source)), again = make("bad-worker")->build(cuda_request(source));
        EXPECT_FALSE(first.cached);
        EXPECT_TRUE(again.cached);
        EXPECT_EQ(again.outcome, first.outcome);
        EXPECT_EQ(again.log, first.log);
        EXPECT_EQ(again.binaries.size(), first.binaries.size());
    }
}

TEST_F(BuilderTest, ReplacesWorkersThatHangCrashOrRetire) {
    const auto builder = make("bad-worker");
    BuildRequest request = cuda_request("a");
    const std::string first = builder->build(request).binaries.at(0).entries[0].name;
    const auto entry_of = [&](const char* source) {
        BuildRequest asked = cuda_request(source);
        return builder->build(asked).binaries.at(0).entries[0].name;
    };
    EXPECT_EQ(entry_of("b"), first) << "a healthy worker serves on";
    request = cuda_request("hang");
    request.deadline_s = 0.2;
    EXPECT_EQ(builder->build(request).log, "the compiler had to be stopped after 0.2 s");
    const std::string second = entry_of("c");
    EXPECT_NE(second, first);
    const BuildResult crashed = builder->build(cuda_request("crash"));
    EXPECT_EQ(crashed.outcome, Outcome::build_failed);
    EXPECT_TRUE(crashed.log.starts_with("the compiler died: killed by signal 11")) << crashed.log;
    EXPECT_FALSE(builder->build(cuda_request("crash")).cached);
    const std::string third = entry_of("d");
    EXPECT_NE(third, second);
    EXPECT_EQ(entry_of("retire"), third);
    EXPECT_NE(entry_of("e"), third);
}

/// An answer that lies ready before its request was sent is nobody's: who wrote it served an earlier one.
TEST_F(BuilderTest, TakesNoAnswerOfAnotherRequest) {
    const auto builder = make("bad-worker");
    const std::string first = builder->build(cuda_request("forge")).binaries.at(0).entries[0].name;
    const BuildResult next = builder->build(cuda_request("a"));
    ASSERT_EQ(next.outcome, Outcome::correct) << next.log;
    EXPECT_NE(next.binaries.at(0).entries[0].name, first);
}

TEST_F(BuilderTest, TakesNoOtherBuildsFileForItsOwn) {
    const std::string one = "extern \"C\" __global__ void one(int* p) { *p = 1; }",
                      other = "extern \"C\" __global__ void other(int* p) { *p = 1; }";
    const auto built = [&](const char* cache, const std::string& source) {
        return make_builder({.workers = 1,
                             .cache_folder = (folder_.path() / cache).string(),
                             .worker_command = {this_program(), "compile-worker"}})
            ->build(cuda_request(source));
    };
    const auto only_file = [&](const char* cache) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path() / cache))
            if (entry.is_regular_file()) return entry.path();
        return std::filesystem::path();
    };
    built("one", one);
    built("other", other);
    std::filesystem::copy_file(only_file("other"), only_file("one"), std::filesystem::copy_options::overwrite_existing);
    const BuildResult again = built("one", one);
    EXPECT_FALSE(again.cached);
    EXPECT_NE(again.binaries.at(0).find("one"), nullptr);
}

TEST_F(BuilderTest, WorkerThatCannotStartIsAnError) {
    const auto builder =
        make_builder({.workers = 1, .cache_folder = (folder_.path() / "x").string(), .worker_command = {"/bin/false"}});
    EXPECT_THROW(builder->build(cuda_request("a")), Error);
}

TEST_F(BuilderTest, TakesPtxAsItStands) {
    BuildRequest request;
    request.language = Language::ptx;
    request.file = "k.ptx";
    request.target = "sm_90";
    request.candidate = false;
    request.source = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n ret;\n}\n";
    const BuildResult result = build(request);
    ASSERT_EQ(result.outcome, Outcome::correct) << result.log;
    EXPECT_EQ(result.binaries[0].entries[0].name, "k");
    EXPECT_EQ(result.binaries[0].ptx, request.source);
    request.source = "this is not PTX";
    EXPECT_EQ(build(request).outcome, Outcome::build_failed);
}

TEST_F(BuilderTest, AssemblesForTheArchitectureThatPtxIsFor) {
    if (toolchain().ptxas.state != Tool::State::ok) GTEST_SKIP() << "there is no ptxas here: run ./setup";
    BuildRequest request;
    request.language = Language::ptx;
    request.target = "sm_90";
    request.file = "group.ptx";
    request.source =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n wgmma.fence.sync.aligned;\n ret;\n}\n";
    const BuildResult built = build(request);
    ASSERT_EQ(built.outcome, Outcome::correct) << built.log;
    EXPECT_FALSE(built.binaries[0].cubin.empty());
    request.target = "sm_80";
    EXPECT_EQ(build(request).outcome, Outcome::build_failed);
}

TEST_F(BuilderTest, PtxasFindsWrongInstructions) {
    if (toolchain().ptxas.state != Tool::State::ok) GTEST_SKIP() << "there is no ptxas here: run ./setup";
    BuildRequest request;
    request.language = Language::ptx;
    request.file = "k.ptx";
    request.target = "sm_90";
    request.source =
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n frobnicate;\n ret;\n}\n";
    const BuildResult result = build(request);
    EXPECT_EQ(result.outcome, Outcome::build_failed);
    EXPECT_NE(result.log.find("k.ptx, line 5"), std::string::npos) << result.log;
}

TEST(BuildCache, SurvivesDamage) {
    const TemporaryFolder folder;
    const BuildCache cache(folder.path());
    BuildResult result;
    result.binaries.push_back(
        {.target = "sm_90", .ptx = "p", .cubin = std::string("\0\xff", 2), .file = "k.cu", .entries = {}, .log = "l"});
    const std::string key = build_key(cuda_request("a"), "compiler 1");
    EXPECT_FALSE(cache.find(key));
    cache.keep(key, result);
    ASSERT_TRUE(cache.find(key));
    EXPECT_EQ(cache.find(key)->binaries[0].cubin, result.binaries[0].cubin);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
        if (entry.is_regular_file())
            std::fstream(entry.path(), std::ios::in | std::ios::out | std::ios::ate | std::ios::binary)
                    .seekp(-2, std::ios::end)
                << "x";
    EXPECT_FALSE(cache.find(key));
    cache.keep(key, result);
    EXPECT_TRUE(cache.find(key));
}

TEST(BuildCache, KeyChangesWithEverythingThatMatters) {
    const BuildRequest base = cuda_request("a");
    std::vector<std::string> keys = {build_key(base, "compiler 1"), build_key(base, "compiler 2")};
    const auto add = [&](auto change) {
        BuildRequest request = base;
        change(request);
        keys.push_back(build_key(request, "compiler 1"));
    };
    add([](BuildRequest& r) { r.source = "b"; });
    add([](BuildRequest& r) { r.file = "b.cu"; });
    add([](BuildRequest& r) { r.target = "sm_80"; });
    add([](BuildRequest& r) { r.defines["N"] = "1"; });
    add([](BuildRequest& r) { r.uses = {"cutlass"}; });
    add([](BuildRequest& r) { r.cubin = false; });
    add([](BuildRequest& r) { r.candidate = false; });
    add([](BuildRequest& r) { r.language = Language::ptx; });
    add([](BuildRequest& r) { r.kernels = {{.function = "k"}}; });
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());
    BuildRequest later = base;
    later.deadline_s = 1;
    EXPECT_EQ(build_key(later, "compiler 1"), keys[0]);
}

TEST(BuildCache, FolderThatCannotBeWrittenToIsNoReasonToFail) {
    const BuildCache cache("/proc/no-such-folder");
    testing::internal::CaptureStderr();
    cache.keep(build_key(cuda_request("a"), ""), {});
    cache.keep(build_key(cuda_request("b"), ""), {});
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

}  // namespace
}  // namespace recuda

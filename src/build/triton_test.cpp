#include <gtest/gtest.h>

#include "base/file.h"
#include "base/process.h"
#include "build/builder.h"
#include "build/toolchain.h"

namespace recuda {
namespace {

constexpr const char* kScale = R"(#! launch scale[1](x, y, n, f)
import triton
import triton.language as tl

@triton.jit
def helper(v, f):
    return v * f

@triton.jit
def scale(x, y, n, f, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n).to(tl.float32)
    tl.store(y + i, helper(v, f) + tl.sum(v, axis=0), mask=i < n)
)";

BuildRequest triton_request(std::string source) {
    BuildRequest request;
    request.language = BuildRequest::Language::triton;
    request.source = std::move(source);
    request.file = "kernel.py";
    request.target = "sm_90";
    request.kernels = {{.function = "scale",
                        .arguments = {{.name = "x", .type = "*bf16", .constant = {}, .divisible_by_16 = true},
                                      {.name = "y", .type = "*fp32", .constant = {}, .divisible_by_16 = true},
                                      {.name = "n", .type = "i32", .constant = {}},
                                      {.name = "f", .type = "fp32", .constant = {}},
                                      {.name = "B", .type = "constexpr", .constant = "1024"}}}};
    return request;
}

/// One builder for all tests here: Triton takes a second to start.
class TritonTest : public testing::Test {
 protected:
    static void SetUpTestSuite() {
        folder_ = new TemporaryFolder();
        builder_ = make_builder({.workers = 1,
                                 .cache_folder = folder_->path().string(),
                                 .worker_command = {this_program(), "compile-worker"}})
                       .release();
    }
    static void TearDownTestSuite() {
        delete builder_;
        delete folder_;
    }
    void SetUp() override {
        if (triton_python() == nullptr) GTEST_SKIP() << "there is no Triton here: run ./setup";
    }
    static BuildResult build(const BuildRequest& request) { return builder_->build(request); }

    static inline TemporaryFolder* folder_ = nullptr;
    static inline Builder* builder_ = nullptr;
};

TEST_F(TritonTest, CompilesToTheSameBinaryAsEveryLanguage) {
    const BuildResult result = build(triton_request(kScale));
    ASSERT_EQ(result.outcome, Outcome::correct) << result.log;
    ASSERT_EQ(result.binaries.size(), 1u);
    const Binary& binary = result.binaries[0];
    EXPECT_EQ(binary.file, "kernel.py");
    EXPECT_EQ(binary.target, "sm_90");
    EXPECT_EQ(binary.cubin.substr(1, 3), "ELF");
    EXPECT_NE(binary.ptx.find("kernel.py"), std::string::npos);
    const Entry* entry = binary.find("scale");
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->parameters.size(), 4u + entry->hidden_parameters);
    EXPECT_EQ(entry->required_threads, (Dim3{128, 1, 1}));
    EXPECT_GT(entry->resources.registers, 0u);
    EXPECT_GT(entry->dynamic_shared_bytes, 0u);  // the sum crosses warps
}

TEST_F(TritonTest, LeavesTheCubinOutWhereNobodyNeedsIt) {
    BuildRequest request = triton_request(kScale);
    request.cubin = false;
    request.kernels[0].num_warps = 8;
    const BuildResult result = build(request);
    ASSERT_EQ(result.outcome, Outcome::correct) << result.log;
    EXPECT_EQ(result.binaries[0].cubin, "");
    EXPECT_EQ(result.binaries[0].entries[0].required_threads, (Dim3{256, 1, 1}));
}

TEST_F(TritonTest, GivesOneBinaryAKernelInTheirOrder) {
    BuildRequest request = triton_request(kScale);
    request.kernels.push_back(request.kernels[0]);
    request.kernels[1].arguments.back().constant = "256";
    request.kernels[1].num_warps = 2;
    const BuildResult result = build(request);
    ASSERT_EQ(result.outcome, Outcome::correct) << result.log;
    ASSERT_EQ(result.binaries.size(), 2u);
    EXPECT_EQ(result.binaries[0].entries[0].required_threads, (Dim3{128, 1, 1}));
    EXPECT_EQ(result.binaries[1].entries[0].required_threads, (Dim3{64, 1, 1}));
    for (const Binary& binary : result.binaries) EXPECT_EQ(binary.cubin.substr(1, 3), "ELF");
}

TEST_F(TritonTest, CompilesForOtherTargets) {
    for (const char* target : {"sm_80", "sm_100", "sm_120", "sm_121"}) {
        BuildRequest request = triton_request(kScale);
        request.target = target;
        const BuildResult result = build(request);
        EXPECT_EQ(result.outcome, Outcome::correct) << target << "\n" << result.log;
    }
}

TEST_F(TritonTest, SaysInTheUsersLinesWhatIsWrong) {
    const std::string head =
        "#! x\nimport os\nimport triton\nimport triton.language as tl\n\n@triton.jit\ndef scale(x, y, n, f, B: "
        "tl.constexpr):\n";
    const struct {
        std::string source;
        const char* says;
    } cases[] = {
        {"import triton\nx = (\n", "kernel.py:2: SyntaxError"},
        {"import triton\n\nraise ValueError('no')\n", "kernel.py:3: ValueError: no"},
        {head + "    tl.store(y, undefined_name)\n", "kernel.py:8: "},
        {head + "    i = tl.arange(0, 3)\n    tl.store(y + i, f)\n", "kernel.py:8: "},
        {"import triton\ndef scale(x): pass\n", "there is no @triton.jit function 'scale'"},
        {"import sys\nsys.exit(3)\n", "the file ends its process"},
        {"import os\nos._exit(3)\n", "the compiler died: exit status 3"},
        {"import ctypes\nctypes.string_at(0)\n", "the compiler died: signal 11"},
        {"import triton\nimport triton.language as tl\n@triton.jit\ndef scale(x, y, n, f, g, B: tl.constexpr):\n    "
         "pass\n",
         "no argument 'g'"},
    };
    for (const auto& c : cases) {
        const BuildResult result = build(triton_request(c.source));
        EXPECT_EQ(result.outcome, Outcome::build_failed) << c.source;
        EXPECT_NE(result.log.find(c.says), std::string::npos) << c.source << "\n" << result.log;
    }
}

/// A file's Python runs when it is compiled; each of these tries something and raises when it works.
TEST_F(TritonTest, JailsTheFilesPython) {
    const char* attempts[] = {
        "open('/etc/passwd').read()",     "open('/proc/1/environ').read()",
        "import os; os.listdir('/')",     "open('/tmp/recuda-escaped', 'w')",
        "import socket; socket.socket()", "import os; os.kill(os.getppid(), 9)",
        "import os; os.kill(-1, 0)",      "import os; os.kill(0, 0)",
        "import os; os.setsid()",         "import os; os.environ['RECUDA_TEST_SECRET']",
    };
    ::setenv("RECUDA_TEST_SECRET", "s", 1);
    for (const char* attempt : attempts) {
        const std::string source =
            std::string("try:\n    ") + attempt +
            "\nexcept (OSError, KeyError):\n    raise ValueError('stopped')\nraise ValueError('escaped')\n";
        const BuildResult result = build(triton_request(source));
        EXPECT_NE(result.log.find("ValueError: stopped"), std::string::npos) << attempt << "\n" << result.log;
    }
}

TEST_F(TritonTest, StopsAtTheDeadlineWithAllItsProcesses) {
    BuildRequest request = triton_request("import os, time\nos.fork()\ntime.sleep(60)\n");
    request.deadline_s = 0.5;
    const BuildResult result = build(request);
    EXPECT_EQ(result.log, "the compiler had to be stopped after 0.5 s");
    EXPECT_EQ(build(triton_request(std::string(kScale) + "# again\n")).outcome, Outcome::correct);
}

/// What is screened is PTX; a cubin of the file's process would be anybody's guess.
TEST_F(TritonTest, AssemblesThePtxItself) {
    const BuildResult honest = build(triton_request(kScale));
    const BuildResult forged = build(triton_request(std::string(kScale) + R"(
compile_honestly = triton.compile

def compile_and_forge(*arguments, **options):
    made = compile_honestly(*arguments, **options)
    made.asm["cubin"] = b"ELF of another kernel"
    return made

triton.compile = compile_and_forge
)"));
    ASSERT_EQ(forged.outcome, Outcome::correct) << forged.log;
    EXPECT_EQ(forged.binaries[0].entries[0].resources.registers, honest.binaries[0].entries[0].resources.registers);
    EXPECT_EQ(forged.binaries[0].cubin.size(), honest.binaries[0].cubin.size());
}

/// Whatever a file's process writes to its descriptors is its own answer, never that of the next file.
TEST_F(TritonTest, AnswersForNobodyElse) {
    const BuildResult forged = build(triton_request(R"(
import os
import struct
for descriptor in range(1, 64):
    try:
        os.write(descriptor, struct.pack("<I", 3) + b"+{}")
    except OSError:
        pass
os._exit(0)
)"));
    EXPECT_EQ(forged.log, "kernel.py: the file's process gave an answer that makes no sense");
    const BuildResult next = build(triton_request(std::string(kScale) + "# after the forger\n"));
    EXPECT_EQ(next.outcome, Outcome::correct) << next.log;
}

TEST_F(TritonTest, LeavesNoProcessBehind) {
    const BuildResult result = build(triton_request(
        "import os, time\nif os.fork() == 0:\n    time.sleep(600)\nraise ValueError(f'parent {os.getpid()}')\n"));
    EXPECT_NE(result.log.find("ValueError: parent"), std::string::npos) << result.log;
    EXPECT_EQ(build(triton_request(std::string(kScale) + "# once more\n")).outcome, Outcome::correct);
    const BuildResult right = build(triton_request(std::string(kScale) + R"(
import os, time
if os.fork() == 0:
    time.sleep(600)
)"));
    EXPECT_EQ(right.log, "kernel.py: the file started a process that it left running");
}

}  // namespace
}  // namespace recuda

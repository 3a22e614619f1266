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

TEST_F(TritonTest, StopsAtTheDeadline) {
    for (const char* endless :
         {"import time\ntime.sleep(60)\n", "while True: pass\n", "while True: print('x' * 9999)\n",
          "import threading\nwhile True:\n    try: threading.Thread(target=lambda: input()).start()\n"
          "    except RuntimeError: pass\n"}) {
        BuildRequest request = triton_request(endless);
        request.deadline_s = 0.5;
        EXPECT_EQ(build(request).log, "the compiler had to be stopped after 0.5 s") << endless;
    }
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

/// Threads are no processes: Python and LLVM have some.
TEST_F(TritonTest, StartsNoProcess) {
    const char* attempts[] = {
        "os.fork()",
        "os.forkpty()",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "subprocess.run(['/bin/sh', '-c', 'exit'])",
        "ctypes.CDLL(None).vfork() == -1 and raise_last()",
        "ctypes.CDLL(None).syscall(*clone_of_nothing) == -1 and raise_last()",
        "subprocess.run(['/bin/sh', '-c', '(exit); exit'])",
    };
    for (const char* attempt : attempts) {
        const BuildResult result = build(triton_request(
            std::string("import ctypes, os, platform, subprocess\n"
                        "def raise_last(): raise PermissionError()\n"
                        "clone_of_nothing = (56 if platform.machine() == 'x86_64' else 220, 17, 0, 0, 0, 0)\n"
                        "parent = os.getpid()\ntry:\n    ") +
            attempt +
            "\nexcept PermissionError:\n    raise ValueError('stopped')\nos.getpid() == parent or os._exit(0)\nraise "
            "ValueError('escaped')\n"));
        EXPECT_NE(result.log.find("ValueError: stopped"), std::string::npos) << attempt << "\n" << result.log;
    }
    const BuildResult shell =
        build(triton_request("import os\nos.execv('/bin/sh', ['sh', '-c', '/bin/true & wait'])\n"));
    EXPECT_NE(shell.log.find("the compiler died"), std::string::npos) << shell.log;
    const BuildResult threads = build(triton_request(
        std::string("import threading\none = threading.Thread(target=lambda: 1)\none.start()\none.join()\n") + kScale));
    EXPECT_EQ(threads.outcome, Outcome::correct) << threads.log;
}

/// A file's process fills neither the disk nor the memory of whoever reads its answer.
TEST_F(TritonTest, BoundsWhatIsWritten) {
    const std::pair<const char*, const char*> cases[] = {
        {"i = 0\nwhile True:\n    i += 1\n    open(f'{os.environ[\"TMPDIR\"]}/{i}', 'wb').write(bytes(1 << 25))\n",
         "kernel.py: the file writes more than 1024 MiB or 10000 files"},
        {"i = 0\nwhile True:\n    i += 1\n    open(f'{os.environ[\"TMPDIR\"]}/{i}', 'w').close()\n",
         "kernel.py: the file writes more than 1024 MiB or 10000 files"},
        {"open(f'{os.environ[\"TMPDIR\"]}/x', 'wb').write(bytes(1 << 27))\n",
         "kernel.py:2: OSError: [Errno 27] File too large"},
        {"os.posix_fallocate(os.open(f'{os.environ[\"TMPDIR\"]}/x', os.O_CREAT | os.O_WRONLY), 0, 4096)\n",
         "kernel.py:2: PermissionError: [Errno 1] Operation not permitted"},
        {"held = []\nwhile True: held.append(open(os.devnull))\n",
         "kernel.py:3: OSError: [Errno 24] Too many open files: '/dev/null'"},
        {"held = []\nwhile True: held.append(bytes(1 << 28))\n", "kernel.py:3: MemoryError: MemoryError"},
        {"import struct\nfor d in range(3, 64):\n    try: os.write(d, struct.pack('<I', 0xffffffff))\n    except "
         "OSError: pass\n"
         "while True: pass\n",
         "kernel.py: the file's process gave an answer of more than 256 MiB"}};
    for (const auto& [source, says] : cases) {
        const BuildResult result = build(triton_request("import os\n" + std::string(source)));
        EXPECT_EQ(result.outcome, Outcome::build_failed) << source;
        EXPECT_EQ(result.log, says) << source;
    }
    EXPECT_EQ(build(triton_request(std::string(kScale) + "# after the writers\n")).outcome, Outcome::correct);
}

/// What the file's process says of its kernels is checked; none of it is more than that file's failure.
TEST_F(TritonTest, ReadsForgedAnswersAsFailures) {
    const std::string forge = R"(
compile_honestly = triton.compile

def compile_and_forge(*arguments, **options):
    made = compile_honestly(*arguments, **options)
    FORGERY
    return made

triton.compile = compile_and_forge
)";
    const std::pair<const char*, const char*> cases[] = {
        {"made.asm['ptx'] = ''", "ptxas"},
        {"made.asm['ptx'] = 5", "TypeError"},
        {"made.asm['ptx'] += '\\0and more'", "cannot be read"},
        {"made.asm['ptx'] += '\\ud800'", "UnicodeEncodeError"},
        {"made.asm['ptx'] = '.include \"/etc/passwd\"\\n' + made.asm['ptx']", "ptxas"},
        {"made.asm['ptx'] = made.asm['ptx'].replace('sm_90a', 'sm_100a')", "ptxas"},
        {"made.asm['ptx'] = '\\x1b[31m' * 99999", "ptxas"},
        {"made.metadata = made.metadata._replace(shared=2**70)", "makes no sense"},
        {"made.metadata = made.metadata._replace(shared=-1)", "makes no sense"},
        {"made.metadata = made.metadata._replace(shared=float('nan'))", "makes no sense"},
        {"made.metadata = made.metadata._replace(shared='x')", "makes no sense"},
        {"made.metadata = made.metadata._replace(global_scratch_size=64)", "64 bytes of Triton's global scratch"},
    };
    for (const auto& [forgery, says] : cases) {
        std::string source = kScale + forge;
        source.replace(source.find("FORGERY"), 7, forgery);
        const BuildResult result = build(triton_request(source));
        EXPECT_EQ(result.outcome, Outcome::build_failed) << forgery;
        EXPECT_NE(result.log.find(says), std::string::npos) << forgery << "\n" << result.log;
        EXPECT_EQ(result.log.find("root:"), std::string::npos) << result.log;
    }
}

}  // namespace
}  // namespace recuda

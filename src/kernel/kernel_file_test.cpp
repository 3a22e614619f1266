#include "kernel/kernel_file.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "kernel/candidate.h"
#include "kernel/launch_plan.h"
#include "kernel/limits.h"
#include "kernel/macros.h"
#include "task/op.h"
#include "task/task.h"

namespace recuda {
namespace {

constexpr const char* kKernel = R"(//! task    nano30b_rmsnorm
//! idea    registers between two passes
//! tune    BLOCK = 96, 128, 192
//! tune    ROUNDS = 2, 3, 4
//! require ceil_div(H / 8, BLOCK) <= ROUNDS
//! scratch partial : f32[T, 4] zeroed
//! launch  rms<<<(T, 2), BLOCK, 4 * BLOCK>>>(x, w, y, partial, eps, T, H / 8)
// a comment
extern "C" __global__ void rms() {}  /* another
one */ char c = '"';
)";

Task rmsnorm_task() {
    auto op = std::make_shared<Op>();
    op->name = "rmsnorm";
    op->axes = {{"T", "tokens"}, {"H", "hidden"}};
    op->options = {{"rounding", {"one", "two"}, "one", ""}};
    const std::vector<Expression> matrix{Expression("T"), Expression("H")};
    op->inputs = {{.name = "x", .dtype = DType::bf16, .shape = matrix},
                  {.name = "w", .dtype = DType::bf16, .shape = {Expression("H")}}};
    op->outputs = {{.name = "y", .dtype = DType::bf16, .shape = matrix}};
    op->scalars = {{"eps", DType::f32}};
    Task task{
        .name = "t", .op = op, .axes = {{"H", 2688}}, .scalars = {{"eps", 1e-5}}, .options = {{"rounding", "two"}}};
    return task;
}

KernelFile parsed(const std::string& text) { return parse_kernel_file(text, "k.cu", Language::cuda); }

std::string edited(std::string text, const std::string& old, const std::string& now) {
    const size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return text.replace(at, old.size(), now);
}

TEST(KernelFile, ReadsItsDirectives) {
    const KernelFile file = parsed(kKernel);
    EXPECT_EQ(file.task, "nano30b_rmsnorm");
    EXPECT_EQ(file.idea, "registers between two passes");
    ASSERT_EQ(file.tunables.size(), 2u);
    EXPECT_EQ(file.tunables[0].values, (std::vector<int64_t>{96, 128, 192}));
    ASSERT_EQ(file.scratches.size(), 1u);
    EXPECT_TRUE(file.scratches[0].zeroed);
    ASSERT_EQ(file.launches.size(), 1u);
    EXPECT_EQ(file.launches[0].kernel, "rms");
    EXPECT_EQ(file.launches[0].arguments.size(), 7u);
    EXPECT_EQ(file.launches[0].position.line, 7u);
    check_names(file, *rmsnorm_task().op);
}

struct Malformed {
    const char *old, *now, *words;
};

class MalformedFile : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedFile, SaysLineColumnAndTheNearestWord) {
    try {
        check_names(parsed(edited(kKernel, GetParam().old, GetParam().now)), *rmsnorm_task().op);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_TRUE(std::string(error.what()).starts_with("k.cu:")) << error.what();
        EXPECT_NE(std::string(error.what()).find(GetParam().words), std::string::npos) << error.what();
    }
}

INSTANTIATE_TEST_SUITE_P(
    Table, MalformedFile,
    testing::Values(
        Malformed{"//! launch  rms", "//! lauch   rms", "k.cu:7:5: unknown directive `lauch`; did you mean launch?"},
        Malformed{"BLOCK>>>", "BLOCK>>", "7:16: this `<<<` is never closed"},
        Malformed{"(x, w", "(xx, w", "unknown name xx"}, Malformed{"(x, w", "(x, wt", "7:50: unknown name wt"},
        Malformed{"4 * BLOCK>", "4 * BLOK>", "did you mean BLOCK?"},
        Malformed{"T, H / 8)", "T, H / )", "7:76: a number, a name or `(` is missing"},
        Malformed{"BLOCK = 96,", "BLOCK = 9x6,", "3:21: `9x6` is not a whole number"},
        Malformed{"BLOCK = 96", "9B = 96", "is not a name"}, Malformed{"f32[T, 4]", "f23[T, 4]", "did you mean f32"},
        Malformed{"zeroed", "zero", "only `zeroed`"}, Malformed{"tune    ROUNDS", "tune    BLOCK", "declared twice"},
        Malformed{"//! launch", "// launch", "no launch directive"},
        Malformed{"scratch partial", "scratch x", "k.cu:6:13: the scratch x has the name of something else"},
        Malformed{"tune    BLOCK", "tune    T", "k.cu:3:13: the tunable T has"},
        Malformed{"tune    BLOCK", "tune    SMS", "the tunable SMS has"},
        Malformed{"//! idea", "//! task    other\n//! idea", "k.cu:2:13: the task is named twice"},
        Malformed{", 4 * BLOCK>>>", ", shred=3>>>", "unknown launch option"}));

TEST(KernelFile, SkipsAByteOrderMark) {
    EXPECT_EQ(parsed("\xef\xbb\xbf" + std::string(kKernel)).task, "nano30b_rmsnorm");
}

TEST(KernelFile, RefusesWhatIsNoText) {
    EXPECT_THROW(parsed(""), Error);
    EXPECT_THROW(parsed(std::string("a\0b", 3)), Error);
    EXPECT_THROW(parsed("int x;"), Error);
}

TEST(KernelFile, ReadsTritonDirectives) {
    const KernelFile file = parse_kernel_file(
        "#!/usr/bin/env python3\n#! tune WARPS = 4, 8\n#! launch rms[T, 2](x, w, y, eps, H, B=pow2_ceil(H)) "
        "num_warps=WARPS num_stages=2\n",
        "k.py", Language::triton);
    const LaunchDirective& launch = file.launches.at(0);
    EXPECT_EQ(launch.grid.size(), 2u);
    EXPECT_EQ(launch.arguments.size(), 5u);
    ASSERT_EQ(launch.constants.size(), 1u);
    EXPECT_EQ(launch.constants[0].name, "B");
    ASSERT_EQ(launch.options.size(), 2u);
    EXPECT_EQ(launch.options[1].name, "num_stages");
    check_names(file, *rmsnorm_task().op);
}

/// Also where a source cannot be stripped of its comments, since what it becomes depends on more than its tokens.
TEST(Candidate, ItsOwnFileHasItsDigest) {
    for (const std::string code :
         {"", "#define JOIN(a, b) a##b\n", "int line() { return __LINE__; }\n", "// a ## b\n", "/* [[ ## x ## ]] */\n",
          "\f\n", "// c ?\?/\n", "// a lone \r end\n", "/* without an end\n"})
        for (const bool by_windows : {false, true}) {
            std::string text = kKernel + code;
            if (by_windows)
                for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 2))
                    text.insert(at, "\r");
            const KernelFile file = parsed(text);
            const Point point{{"BLOCK", 256}, {"ROUNDS", 3}}, other{{"BLOCK", 128}, {"ROUNDS", 3}};
            EXPECT_EQ(digest_of(parsed(text_at(file, point)), point), digest_of(file, point)) << code;
            EXPECT_NE(digest_of(file, other), digest_of(file, point)) << code;
        }
    const KernelFile triton =
        parse_kernel_file("#! tune W = 4, 8\n#! launch k[1](x)\ns = 'a\n", "k.py", Language::triton);
    const Point four{{"W", 4}};
    const KernelFile own = parse_kernel_file(text_at(triton, four), "k.py", Language::triton);
    EXPECT_EQ(digest_of(own, four), digest_of(triton, four));
}

TEST(Candidate, DigestIgnoresWhatDoesNotCount) {
    const KernelFile file = parsed(kKernel);
    const Point point{{"BLOCK", 128}, {"ROUNDS", 3}};
    const std::string digest = digest_of(file, point);
    EXPECT_EQ(digest.size(), 64u);
    const KernelFile fixed = parsed(text_at(file, point));
    EXPECT_EQ(fixed.tunables[0].values, std::vector<int64_t>{128});
    EXPECT_EQ(digest_of(fixed, point), digest) << "a candidate's own file";
    for (const auto& [old, now] : {std::pair{"idea    registers", "idea    other words: registers"},
                                   {"// a comment\n", ""},
                                   {"nano30b_rmsnorm", "other"},
                                   {"rms<<<(T, 2),", "rms<<<(T,  2),"},
                                   {"extern", "\n\n// x\nextern"}})
        EXPECT_EQ(digest_of(parsed(edited(kKernel, old, now)), point), digest) << old;
    for (const auto& [old, now] : {std::pair{"rms() {}", "rms() { }"},
                                   {"(T, 2)", "(T, 1)"},
                                   {"<= ROUNDS", "< ROUNDS"},
                                   {" zeroed", ""},
                                   {"'\"'", "'x'"}})
        EXPECT_NE(digest_of(parsed(edited(kKernel, old, now)), point), digest) << old;
    EXPECT_NE(digest_of(file, {{"BLOCK", 128}, {"ROUNDS", 4}}), digest);
}

TEST(Candidate, PointsComeInOrderAndLegal) {
    const KernelFile file = parsed(kKernel);
    const std::vector<Variables> workloads{{{"T", 1}, {"H", 2688}}};
    const std::vector<Point> legal = legal_points(file, workloads, {});
    ASSERT_EQ(legal.size(), 6u);
    EXPECT_EQ(legal[0], (Point{{"BLOCK", 96}, {"ROUNDS", 4}}));
    EXPECT_EQ(first_legal_point(file, workloads, {}), legal[0]);
}

TEST(LaunchPlan, ResolvesAWorkload) {
    const LaunchPlan planned =
        plan(parsed(kKernel), {{"BLOCK", 128}, {"ROUNDS", 3}}, rmsnorm_task(), {{"T", 3}, {"H", 2688}}, {});
    ASSERT_EQ(planned.launches.size(), 1u);
    const PlannedLaunch& launch = planned.launches[0];
    EXPECT_EQ(launch.grid, (Dim3{3, 2, 1}));
    EXPECT_EQ(launch.block, (Dim3{128, 1, 1}));
    EXPECT_EQ(launch.shared_bytes, 512u);
    EXPECT_EQ(launch.arguments[4].value.size(), 4u);
    EXPECT_EQ(load(DType::f32, launch.arguments[4].value.data()), static_cast<double>(1e-5f));
    EXPECT_EQ(load(DType::i32, launch.arguments[6].value.data()), 336);
    ASSERT_EQ(planned.scratch.size(), 1u);
    EXPECT_EQ(planned.scratch[0].bytes, 48u);
}

TEST(LaunchPlan, RefusesWhatCannotBeLaunched) {
    for (const char* launch :
         {"rms<<<T, 1025>>>()", "rms<<<T, 256, 300 * 1024>>>()", "rms<<<T - 3, 256>>>()", "rms<<<T - 4, 256>>>()",
          "rms<<<(T, 65536), 256>>>()", "rms<<<T, (1, 1, 65)>>>()", "rms<<<T, 256, cluster=2>>>()",
          "rms<<<16, 256, cluster=16>>>()", "rms<<<T / 0, 256>>>()"}) {
        const KernelFile file = parsed(std::string("//! launch ") + launch + "\n");
        EXPECT_THROW(plan(file, {}, rmsnorm_task(), {{"T", 3}, {"H", 8}}, {}), LaunchRefused) << launch;
    }
}

TEST(LaunchPlan, EarlyLaunchesWaitForTheOneBefore) {
    const Entry entry{.name = "rms"};
    const Binary waits{.ptx = ".entry rms() { griddepcontrol.wait; ret; }", .entries = {entry}},
        begins{.ptx = ".entry rms() { ret; }", .entries = {entry}};
    const auto fitted = [](const char* launches, const Binary& binary) {
        LaunchPlan planned = plan(parsed(launches), {}, rmsnorm_task(), {{"T", 3}, {"H", 8}}, {});
        fit(planned, {&binary, 1}, {});
    };
    const char* const kBehind = "//! launch rms<<<T, 128>>>()\n//! launch rms<<<T, 128, 0, pdl>>>()\n";
    EXPECT_NO_THROW(fitted(kBehind, waits));
    EXPECT_THROW(fitted(kBehind, begins), LaunchRefused);
    EXPECT_NO_THROW(fitted("//! launch rms<<<T, 128, 0, pdl>>>()\n", begins)) << "there is none before it";
}

TEST(LaunchPlan, ChecksArgumentsAgainstTheKernel) {
    const KernelFile file = parsed("//! launch rms<<<T, 128, 1024>>>(x, eps, T)\n");
    const LaunchPlan planned = plan(file, {}, rmsnorm_task(), {{"T", 3}, {"H", 8}}, {});
    const Parameter pointer{"u64", 8, 8}, single{"f32", 4, 4}, integer{"u32", 4, 4}, wide{"u64", 8, 8};
    const auto fits = [&](Entry entry) {
        LaunchPlan copy = planned;
        const Binary binary{.entries = {std::move(entry)}};
        try {
            fit(copy, {&binary, 1}, {});
            return std::string();
        } catch (const LaunchRefused& why) {
            return std::string(why.what());
        }
    };
    EXPECT_EQ(fits({.name = "rms", .parameters = {pointer, single, integer}}), "");
    EXPECT_NE(fits({.name = "rmx", .parameters = {pointer, single, integer}}).find("no kernel rms"), std::string::npos);
    EXPECT_NE(fits({.name = "rms", .parameters = {pointer, single}}).find("takes 2 arguments"), std::string::npos);
    EXPECT_NE(fits({.name = "rms", .parameters = {pointer, integer, integer}}).find("argument 2"), std::string::npos);
    EXPECT_NE(fits({.name = "rms", .parameters = {pointer, single, wide}}).find("argument 3"), std::string::npos);
    EXPECT_NE(fits({.name = "rms", .parameters = {single, single, integer}}).find("argument 1"), std::string::npos);
    EXPECT_NE(fits({.name = "rms", .parameters = {pointer, single, integer}, .max_threads = 96}).find("at most 96"),
              std::string::npos);
    EXPECT_NE(fits({.name = "rms", .parameters = {pointer, single, integer}, .resources = {.shared_bytes = 227 * 1024}})
                  .find("shared memory"),
              std::string::npos);
    EXPECT_NE(fits({.name = "rms", .parameters = {pointer, single, integer}, .required_threads = {64, 1, 1}})
                  .find("blocks of"),
              std::string::npos);
}

TEST(Macros, AreAxesTunablesTypesAndOptions) {
    const auto defined =
        macros(parsed(kKernel), {{"BLOCK", 96}, {"ROUNDS", 4}}, rmsnorm_task(), {{"T", 3}, {"H", 2688}});
    EXPECT_EQ(defined.at("H"), "2688");
    EXPECT_FALSE(defined.contains("T"));
    EXPECT_EQ(defined.at("BLOCK"), "96");
    EXPECT_EQ(defined.at("y_t"), "__nv_bfloat16");
    EXPECT_EQ(defined.at("ROUNDING_ONE") + defined.at("ROUNDING_TWO"), "01");
    EXPECT_EQ(macros(parsed(kKernel), {{"BLOCK", 96}, {"ROUNDS", 4}}, rmsnorm_task(), {{"T", 3}, {"H", 2688}},
                     OutputTypes::exact)
                  .at("y_t"),
              "double");
}

}  // namespace
}  // namespace recuda

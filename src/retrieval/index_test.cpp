#include "retrieval/index.h"

#include <algorithm>

#include "retrieval/index_fixture.h"

namespace recuda {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class Index : public IndexFixture {};

TEST_F(Index, has_what_the_catalogue_has) {
    EXPECT_EQ(build().documents, 5u);
    const KernelIndex index(folder());
    EXPECT_EQ(index.size(), 5u);
    EXPECT_EQ(index.text("seed:ops/alpha/seeds/plain.cu"), kernel("plain alpha with shuffles"));
    EXPECT_THROW(index.text("seed:/etc/passwd"), Error);
    EXPECT_THROW(index.text(""), Error);
}

TEST_F(Index, words_rank) {
    build();
    EXPECT_EQ(names({.text = "plain beta"}).front(), "seed:ops/beta/seeds/plain.cu");
    EXPECT_THAT(names({.text = "CUDA error: misaligned address"}), ElementsAre("note:misaligned-address"));
    EXPECT_THAT(names({.text = "no such words whatever"}), SizeIs(0));
    EXPECT_THAT(names({.text = ""}), SizeIs(5));
}

TEST_F(Index, scores_fall_and_excerpts_are_bounded) {
    build();
    const auto found = KernelIndex(folder()).query({.text = "plain shuffles beta", .op = "alpha"});
    ASSERT_GE(found.size(), 3u);
    EXPECT_TRUE(
        std::is_sorted(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.score > b.score; }));
    for (const Found& one : found) EXPECT_LE(one.excerpt.size(), 600u);
}

TEST_F(Index, wanted_op_comes_first_and_a_fitting_note_before_kernels_that_do_not) {
    build();
    EXPECT_EQ(names({.text = "row", .op = "beta"}).front(), "seed:ops/beta/seeds/plain.cu");
    EXPECT_EQ(names({.text = "row", .op = "alpha"}).front(), "seed:ops/alpha/seeds/plain.cu");
    EXPECT_EQ(names({.text = "misaligned address needs alignment", .op = "alpha"}).front(), "note:misaligned-address");
}

TEST_F(Index, kinds_and_tasks_narrow_it) {
    write(home() / "kernels/one.cu", "//! task fam_one\n" + kernel("checked in"));
    build();
    EXPECT_THAT(names({.text = "row", .kinds = {"reference"}}),
                ElementsAre("reference:ops/alpha/reference.cu", "reference:ops/beta/reference.cu"));
    EXPECT_EQ(names({.text = "", .task = "fam_one", .op = "alpha"}).front(), "kernel:kernels/one.cu");
    EXPECT_THAT(names({.text = "", .without_tasks = {"fam_one"}}), Not(Contains("kernel:kernels/one.cu")));
    EXPECT_THAT(names({.text = "", .without_families = {"fam"}}), Not(Contains("kernel:kernels/one.cu")));
    EXPECT_THAT(names({.text = "", .without_families = {"other"}}), Contains("kernel:kernels/one.cu"));
    EXPECT_THAT(names({.text = "", .at_most = 2}), SizeIs(2));
    EXPECT_THAT(names({.text = "", .at_most = 0}), SizeIs(0));
}

TEST_F(Index, a_query_is_words_and_nothing_else) {
    build();
    for (const char* text :
         {"alpha*", "\"alpha", "(alpha AND", "XOP:alpha NOT alpha", "alpha~ ^^ +-", "Zalpha OR *", "\xff\xfe alpha"})
        EXPECT_NO_THROW(names({.text = text})) << text;
    EXPECT_THAT(names({.text = "shuf*"}), SizeIs(0));
    EXPECT_THAT(names({.text = "shuffles NOT plain"}), Contains("seed:ops/alpha/seeds/plain.cu"));
    std::string diagnostic = "misaligned ";
    while (diagnostic.size() < (size_t{2} << 20)) diagnostic += "word" + std::to_string(diagnostic.size()) + " ";
    EXPECT_THAT(names({.text = diagnostic}), Contains("note:misaligned-address"));
    EXPECT_THAT(names({.text = std::string(1 << 21, '(')}), SizeIs(0));
}

TEST_F(Index, candidates_are_found_by_what_was_said_of_them) {
    Evaluation evaluation{.task = "fam_one", .outcome = Outcome::build_failed, .idea = "wombats in a burrow"};
    evaluation.verdict.log = "error: identifier \"aardvark\" is undefined";
    const std::string digest = add_run("a", kernel("wombats in a burrow"), evaluation);
    EXPECT_EQ(build().documents, 6u);
    const std::string name = "candidate:fam_one/" + digest.substr(0, 16);
    for (const char* text : {"aardvark", "wombat burrow", "build_failed"})
        EXPECT_THAT(names({.text = text}), ElementsAre(name)) << text;
    EXPECT_THAT(names({.text = digest}), ElementsAre(name));
    EXPECT_THAT(KernelIndex(folder()).text(name), HasSubstr("outcome build_failed"));
    EXPECT_THAT(KernelIndex(folder()).text(name), HasSubstr("__global__"));
}

TEST_F(Index, candidates_rank_by_outcome_and_speed) {
    const auto add = [&](const char* what, Outcome outcome, std::optional<double> ns) {
        return "candidate:fam_one/" +
               add_run("a", kernel(what), {.task = "fam_one", .outcome = outcome, .median_ns = ns}).substr(0, 16);
    };
    const std::string slow = add("slow", Outcome::correct, 3000), wrong = add("wrong", Outcome::wrong, std::nullopt),
                      fast = add("fast", Outcome::correct, 2900), failed = add("failed", Outcome::build_failed, {});
    build();
    EXPECT_THAT(names({.task = "fam_one", .op = "alpha", .kinds = {"candidate"}}),
                ElementsAre(fast, slow, wrong, failed));
}

TEST_F(Index, a_candidate_is_there_once) {
    const std::string source = kernel("the same");
    add_run("a", source, {.task = "fam_one", .outcome = Outcome::wrong, .when = "2026-11-30T10:00:00Z"});
    add_run("b", source, {.task = "fam_one", .outcome = Outcome::correct, .when = "2026-11-30T11:00:00Z"});
    const std::string digest = add_run("c", source, {.task = "fam_two", .outcome = Outcome::correct});
    EXPECT_EQ(build().documents, 7u);  // one for each task
    const auto found = names({.text = digest});
    ASSERT_EQ(found.size(), 1u);  // and one to a query
    EXPECT_THAT(KernelIndex(folder()).text("candidate:fam_one/" + digest.substr(0, 16)), HasSubstr("outcome correct"));
}

TEST_F(Index, hostile_artifacts) {
    write(root_.path() / "secret.cu", "the secret is xyzzy");
    const std::string digest = add_run("a", kernel("linked"), {.task = "fam_one"});
    const fs::path file = root_.path() / "artifacts/runs/a/candidates" / (digest + ".cu");
    fs::remove(file);
    fs::create_symlink(root_.path() / "secret.cu", file);
    add_run("b", std::string("binary\0text", 11), {.task = "fam_one"});
    add_run("c", kernel("huge") + std::string(2 << 20, ' '), {.task = "fam_one"});
    fs::create_directory_symlink(root_.path() / "home", root_.path() / "artifacts/runs/link");
    fs::create_directory_symlink(root_.path() / "artifacts", root_.path() / "artifacts/runs/loop");
    add_run("e", kernel("../../secret"), {.task = "../../secret.cu#x", .file = "../../secret.cu"});
    write(
        root_.path() / "artifacts/runs/d/evaluations.jsonl",
        "{\"digest\":\"../../../secret\",\"task\":\"fam_one\"}\nnot json\n[]\n{}\n\"x\"\n" + std::string(1 << 16, '['));
    const IndexReport report = build();
    EXPECT_EQ(report.documents, 6u);  // the catalogue's and that of e
    EXPECT_THAT(names({.text = "xyzzy"}), SizeIs(0));
    EXPECT_THAT(names({.text = "", .kinds = {"candidate"}}), SizeIs(1));
}

TEST_F(Index, gives_a_kernel_as_it_was_written) {
    Evaluation right{.task = "fam_one", .outcome = Outcome::correct, .idea = "theirs"};
    right.verdict.log = std::string(100'000, 'l');
    const std::string mine = "//! task fam_one\n" + kernel("mine"), theirs = kernel("theirs"), wrong = kernel("wrong");
    write(home() / "kernels/one.cu", mine);
    add_run("r1", theirs, right);
    add_run("r2", wrong, {.task = "fam_one", .outcome = Outcome::wrong});
    add_run("r3", kernel("long") + "//" + std::string(70'000, 'x') + "\n", right);
    build();
    const KernelIndex index(folder());
    EXPECT_EQ(index.kernel("kernel:kernels/one.cu"), mine);
    EXPECT_EQ(index.kernel("note:misaligned-address"), "");
    std::vector<std::string> kernels;
    for (const std::string& name :
         names({.text = "", .task = "fam_one", .kinds = {"candidate", "kernel"}, .right = true}))
        kernels.push_back(index.kernel(name));
    EXPECT_THAT(kernels, testing::UnorderedElementsAre(mine, theirs, "")) << "of the long one there is a part";
    for (const std::string& name : names({.text = ""})) EXPECT_LE(index.text(name).size(), (1u << 16) + 80) << name;
    EXPECT_THAT(names({.text = "", .right = true}), Contains("note:misaligned-address"));
}

}  // namespace
}  // namespace recuda

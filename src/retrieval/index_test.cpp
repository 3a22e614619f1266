#include "retrieval/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "evaluation/evaluation.h"
#include "retrieval/document.h"
#include "retrieval/refresh.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr char kOp[] = R"(summary = "{} of a row"
[axes]
T = "tokens"
[inputs]
x = {{ dtype = "f32", shape = ["T"], fill = "iota" }}
[outputs]
y = {{ dtype = "f32", shape = ["T"] }}
)";
constexpr char kTasks[] = R"(family = "fam"
model = "none"
[one]
op = "alpha"
verify = { T = [1] }
bench = { T = [1] }
[two]
op = "beta"
verify = { T = [1] }
bench = { T = [1] }
)";

void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

std::string kernel(const std::string& idea) {
    return "//! idea " + idea +
           "\n//! launch k<<<T, 32>>>(x, y)\nextern \"C\" __global__ void k(const float* x, float* y) {}\n";
}

/// A catalogue of two ops, some notes, and a folder for runs.
class Index : public testing::Test {
 protected:
    void SetUp() override {
        for (const char* op : {"alpha", "beta"}) {
            write(home() / "ops" / op / "op.toml", fmt::format(kOp, op));
            write(home() / "ops" / op / "reference.cu", kernel(std::string("the truth of ") + op));
            write(home() / "ops" / op / "seeds/plain.cu", kernel(std::string("plain ") + op + " with shuffles"));
        }
        write(home() / "tasks/fam.toml", kTasks);
        write(home() / "docs/notes/misaligned-address.md", "# Misaligned address\n\nAn access needs alignment.\n");
    }

    fs::path home() const { return root_.path() / "home"; }
    fs::path folder() const { return root_.path() / "artifacts/kernel_index"; }
    IndexPlaces places() const { return {.home = home(), .artifacts = root_.path() / "artifacts", .store = {}}; }
    IndexReport build() const { return build_index(folder(), places()); }
    IndexReport refresh() const { return refresh_index(folder(), places()); }

    std::vector<std::string> names(const IndexQuery& query) const {
        std::vector<std::string> found;
        for (const Found& one : KernelIndex(folder()).query(query)) found.push_back(one.document);
        return found;
    }

    /// A run's folder below artifacts/ with one candidate; gives back the candidate's digest.
    std::string add_run(const std::string& run, const std::string& source, Evaluation evaluation) const {
        evaluation.digest = sha256(source);
        evaluation.language = "cuda";
        evaluation.target = "sm_90";
        evaluation.id = run + "-1";
        if (evaluation.when.empty()) evaluation.when = "2026-11-30T10:00:00Z";
        const fs::path run_folder = root_.path() / "artifacts/runs" / run;
        write(run_folder / "candidates" / (evaluation.digest + ".cu"), source);
        std::ofstream(run_folder / "evaluations.jsonl", std::ios::app) << dump(to_json(evaluation)) << "\n";
        return evaluation.digest;
    }

    std::string why_not_opened() const {
        try {
            KernelIndex index(folder());
            index.query({.text = "alpha"});
            index.text("note:misaligned-address");
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }

    TemporaryFolder root_;
};

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

TEST_F(Index, refresh_reads_only_what_changed) {
    build();
    IndexReport report = refresh();
    EXPECT_EQ(report.sources_read, 0u);
    EXPECT_EQ(report.sources_unchanged, 5u);
    fs::last_write_time(home() / "docs/notes/misaligned-address.md", fs::file_time_type::clock::now());
    EXPECT_EQ(refresh().sources_read, 0u);  // touched: the digest says that it is the same
    write(home() / "docs/notes/misaligned-address.md", "# Misaligned address\n\nquokka\n");
    report = refresh();
    EXPECT_EQ(report.sources_read, 1u);
    EXPECT_EQ(report.changed, 1u);
    EXPECT_THAT(names({.text = "quokka"}), SizeIs(1));
    EXPECT_THAT(names({.text = "needs alignment"}), SizeIs(0));
}

TEST_F(Index, refresh_takes_new_runs_in_and_vanished_things_out) {
    build();
    add_run("a", kernel("numbat"), {.task = "fam_one"});
    add_run("b", kernel("numbat"), {.task = "fam_one"});
    IndexReport report = refresh();
    EXPECT_EQ(report.added, 1u);
    EXPECT_EQ(report.documents, 6u);
    fs::remove_all(root_.path() / "artifacts/runs/a");
    EXPECT_EQ(refresh().documents, 6u);  // the other run has it too
    EXPECT_THAT(names({.text = "numbat"}), SizeIs(1));
    fs::remove_all(root_.path() / "artifacts/runs/b");
    fs::remove(home() / "ops/beta/seeds/plain.cu");
    report = refresh();
    EXPECT_EQ(report.removed, 2u);
    EXPECT_EQ(report.documents, 4u);
    EXPECT_THAT(names({.text = "numbat"}), SizeIs(0));
}

TEST_F(Index, a_run_that_grows_is_read_again) {
    add_run("a", kernel("first"), {.task = "fam_one"});
    build();
    add_run("a", kernel("second"), {.task = "fam_one"});
    const IndexReport report = refresh();
    EXPECT_EQ(report.added, 1u);
    EXPECT_EQ(report.changed, 0u);
    EXPECT_THAT(names({.text = "second"}), SizeIs(1));
}

TEST_F(Index, an_open_index_goes_on_while_others_write) {
    build();
    const KernelIndex index(folder());
    for (int i = 0; i < 4; ++i) {
        write(home() / ("docs/notes/n" + std::to_string(i) + ".md"), "# bilby\n");
        refresh();
    }
    EXPECT_EQ(index.query({.text = "shuffles"}).size(), 2u);
    build();
    EXPECT_EQ(index.query({.text = "shuffles"}).size(), 2u);
    EXPECT_THAT(names({.text = "bilby"}), SizeIs(4));
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

TEST_F(Index, missing_damaged_and_foreign_folders_are_said) {
    EXPECT_THAT(why_not_opened(), HasSubstr("cuda-rlm index build"));
    write(folder() / "mine.txt", "something else");
    EXPECT_THAT(why_not_opened(), HasSubstr("mine.txt"));
    EXPECT_THROW(build(), Error);
    EXPECT_THROW(refresh(), Error);
    EXPECT_EQ(read_file(folder() / "mine.txt"), "something else");
    fs::remove_all(folder());

    for (const char* text :
         {"", "{", "[]", "{\"format\":\"other\"}",
          "{\"format\":\"cuda-rlm kernel index\",\"version\":1,\"database\":\"../x\",\"files\":[]}"}) {
        build();
        std::ofstream(folder() / "index.json") << text;
        EXPECT_THAT(why_not_opened(), HasSubstr("damaged")) << text;
    }
    EXPECT_EQ(build().documents, 5u);
    EXPECT_EQ(why_not_opened(), "");
}

TEST_F(Index, a_damaged_database_is_said) {
    for (const char* how : {"empty", "noise", "gone", "one bit"}) {
        build();
        for (const auto& entry : fs::recursive_directory_iterator(folder()))
            if (entry.path().extension() == ".glass" || entry.path().filename() == "iamglass") {
                if (std::string(how) == "gone") fs::remove(entry.path());
                if (std::string(how) == "empty") std::ofstream(entry.path(), std::ios::trunc);
                if (std::string(how) == "one bit") {
                    std::string bytes = read_file(entry.path());
                    bytes[bytes.size() / 2] ^= 1;
                    std::ofstream(entry.path()) << bytes;
                }
                if (std::string(how) == "noise") std::ofstream(entry.path()) << std::string(20000, '\x5a');
            }
        EXPECT_THAT(why_not_opened(), HasSubstr("damaged")) << how;
        EXPECT_THROW(refresh(), Error) << how;
    }
    EXPECT_EQ(build().documents, 5u);
}

TEST_F(Index, another_version_is_built_anew) {
    build();
    std::string text = read_file(folder() / "index.json");
    text.replace(text.find("\"version\":1"), 11, "\"version\":0");
    std::ofstream(folder() / "index.json") << text;
    EXPECT_THAT(why_not_opened(), HasSubstr("another version"));
    EXPECT_EQ(refresh().added, 5u);
    EXPECT_EQ(why_not_opened(), "");
}

TEST_F(Index, two_at_once_work_in_turn) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([this, i] { i % 2 == 0 ? build() : refresh(); });
    threads.clear();
    EXPECT_EQ(KernelIndex(folder()).size(), 5u);
    size_t databases = 0;
    for (const auto& entry : fs::directory_iterator(folder())) databases += entry.is_directory() ? 1 : 0;
    EXPECT_EQ(databases, 1u);
}

TEST_F(Index, what_a_killed_process_left_is_taken_away) {
    build();
    write(folder() / "g-dead/docdata.glass", "half");
    EXPECT_EQ(refresh().documents, 5u);
    EXPECT_FALSE(fs::exists(folder() / "g-dead"));
    fs::remove(folder() / "index.json");  // killed before the first index was whole
    EXPECT_EQ(refresh().added, 5u);
}

TEST(Document, data_comes_back) {
    const Document document{.name = "candidate:a/b",
                            .kind = "candidate",
                            .op = "alpha",
                            .task = "a",
                            .outcome = "correct",
                            .digest = "d",
                            .when = "now",
                            .title = "t",
                            .median_ns = 1.5,
                            .text = "x\n\xc3\xa4"};
    const Document again = document_from_data(engine_document(document).data);
    EXPECT_EQ(again.name, document.name);
    EXPECT_EQ(again.text, document.text);
    EXPECT_EQ(again.median_ns, document.median_ns);
    EXPECT_EQ(again.estimate, std::nullopt);
    EXPECT_EQ(engine_document(again).data, engine_document(document).data);
}

TEST(Document, priors_order_them) {
    const auto prior = [](const char* kind, const char* outcome, std::optional<double> ns,
                          std::optional<double> estimate) {
        return prior_of({.kind = kind, .outcome = outcome, .median_ns = ns, .estimate = estimate});
    };
    const std::vector<double> falling{prior("kernel", "", {}, {}),
                                      prior("candidate", "correct", 1000, {}),
                                      prior("candidate", "correct", 2000, {}),
                                      prior("candidate", "correct", {}, 900),
                                      prior("candidate", "correct", {}, 1e12),
                                      prior("seed", "", {}, {}),
                                      prior("note", "", {}, {}),
                                      prior("reference", "", {}, {}),
                                      prior("candidate", "wrong", {}, {}),
                                      prior("candidate", "build_failed", {}, {})};
    EXPECT_TRUE(std::is_sorted(falling.rbegin(), falling.rend()));
    EXPECT_LE(falling.front(), 1);
    EXPECT_GT(falling.back(), 0);
}

}  // namespace
}  // namespace recuda

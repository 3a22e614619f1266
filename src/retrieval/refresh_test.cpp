#include "retrieval/refresh.h"

#include <thread>

#include "retrieval/index_fixture.h"

namespace recuda {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class Refresh : public IndexFixture {};

TEST_F(Refresh, refresh_reads_only_what_changed) {
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

TEST_F(Refresh, refresh_takes_new_runs_in_and_vanished_things_out) {
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

TEST_F(Refresh, a_run_that_grows_is_read_again) {
    add_run("a", kernel("first"), {.task = "fam_one"});
    build();
    add_run("a", kernel("second"), {.task = "fam_one"});
    const IndexReport report = refresh();
    EXPECT_EQ(report.added, 1u);
    EXPECT_EQ(report.changed, 0u);
    EXPECT_THAT(names({.text = "second"}), SizeIs(1));
}

TEST_F(Refresh, an_open_index_goes_on_while_others_write) {
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

TEST_F(Refresh, missing_damaged_and_foreign_folders_are_said) {
    EXPECT_THAT(why_not_opened(), HasSubstr("cuda-rlm index build"));
    write(folder() / "mine.txt", "something else");
    EXPECT_THAT(why_not_opened(), HasSubstr("mine.txt"));
    EXPECT_THROW(build(), Error);
    EXPECT_THROW(refresh(), Error);
    EXPECT_EQ(read_file(folder() / "mine.txt"), "something else");
    fs::remove_all(folder());

    for (const char* text :
         {"", "{", "[]", "{\"format\":\"other\"}",
          "{\"format\":\"cuda-rlm kernel index\",\"version\":2,\"database\":\"../x\",\"files\":[]}"}) {
        build();
        std::ofstream(folder() / "index.json") << text;
        EXPECT_THAT(why_not_opened(), HasSubstr("damaged")) << text;
    }
    EXPECT_EQ(build().documents, 5u);
    EXPECT_EQ(why_not_opened(), "");
}

TEST_F(Refresh, a_damaged_database_is_said) {
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

TEST_F(Refresh, another_version_is_built_anew) {
    build();
    std::string text = read_file(folder() / "index.json");
    text.replace(text.find("\"version\":2"), 11, "\"version\":0");
    std::ofstream(folder() / "index.json") << text;
    EXPECT_THAT(why_not_opened(), HasSubstr("another version"));
    EXPECT_EQ(refresh().added, 5u);
    EXPECT_EQ(why_not_opened(), "");
}

TEST_F(Refresh, two_at_once_work_in_turn) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([this, i] { i % 2 == 0 ? build() : refresh(); });
    threads.clear();
    EXPECT_EQ(KernelIndex(folder()).size(), 5u);
    size_t databases = 0;
    for (const auto& entry : fs::directory_iterator(folder())) databases += entry.is_directory() ? 1 : 0;
    EXPECT_EQ(databases, 1u);
}

TEST_F(Refresh, what_a_killed_process_left_is_taken_away) {
    build();
    write(folder() / "g-dead/docdata.glass", "half");
    EXPECT_EQ(refresh().documents, 5u);
    EXPECT_FALSE(fs::exists(folder() / "g-dead"));
    fs::remove(folder() / "index.json");  // killed before the first index was whole
    EXPECT_EQ(refresh().added, 5u);
}

}  // namespace
}  // namespace recuda

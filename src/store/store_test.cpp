#include "store/store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "base/process.h"
#include "store/merge.h"
#include "store/probe.h"
#include "store/results.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

StoredEvaluation row(const std::string& run, int number, const std::string& digest,
                     const std::string& outcome = "correct", std::optional<double> estimate = 1,
                     const std::string& stage = "screen") {
    StoredEvaluation stored{.run = run,
                            .id = run + "-" + std::to_string(number),
                            .task = "nano30b_rmsnorm",
                            .digest = digest,
                            .outcome = outcome,
                            .stage = stage,
                            .origin = "seed",
                            .device = "vgpu sm_90",
                            .estimate = estimate,
                            .when = "2026-11-30T11:02:33Z",
                            .source = "// " + digest};
    stored.evaluation = nlohmann::json{{"id", stored.id},
                                       {"task", stored.task},
                                       {"digest", digest},
                                       {"outcome", outcome},
                                       {"stage", stage},
                                       {"median_ns", nullptr},
                                       {"comparisons", nlohmann::json::array()},
                                       {"when", stored.when},
                                       {"estimate", estimate ? nlohmann::json(*estimate) : nlohmann::json()}}
                            .dump();
    return stored;
}

StoredRun run_row(const std::string& run) {
    return {.run = run, .task = "nano30b_rmsnorm", .asked = "{}", .environment = "{}"};
}

std::string digest(char c) { return std::string(64, c); }

class StoreTest : public testing::Test {
 protected:
    fs::path path(const std::string& name) const { return folder_.path() / name; }
    void fill(const std::string& name, const std::string& run, std::vector<StoredEvaluation> rows) {
        const std::vector<StoredRun> runs{run_row(run)};
        Store(path(name), Access::write).add(runs, rows);
    }
    TemporaryFolder folder_{"recuda-store-test"};
};

std::string why(const std::function<void()>& act) {
    try {
        act();
    } catch (const StoreProblem& problem) {
        EXPECT_EQ(std::string(problem.what()).find('\n'), std::string::npos) << problem.what();
        return problem.why();
    }
    return "";
}

TEST_F(StoreTest, add_is_idempotent) {
    const std::vector<StoredRun> runs{run_row("a")};
    const std::vector<StoredEvaluation> rows{row("a", 1, digest('1')), row("a", 2, digest('2'), "wrong", std::nullopt)};
    for (const auto& [added, present] : {std::pair{2, 0}, {0, 2}}) {
        Store store(path("s.duckdb"), Access::write);
        const Store::Added seen = store.add(runs, rows);
        EXPECT_EQ(seen.added, added);
        EXPECT_EQ(seen.present, present);
    }
    Store store(path("s.duckdb"), Access::read);
    EXPECT_EQ(store.runs().size(), 1u);
    const std::vector<StoredEvaluation> read = store.evaluations();
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(read[0].source, "// " + digest('1'));
    EXPECT_EQ(read[0].estimate, 1);
    EXPECT_EQ(read[0].median_ns, std::nullopt);
    EXPECT_EQ(read[1].estimate, std::nullopt);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path()))
        EXPECT_EQ(entry.path().filename(), "s.duckdb");
}

TEST_F(StoreTest, what_is_no_store_is_refused_and_untouched) {
    write_atomically(path("text.duckdb"), "once upon a time\n");
    write_atomically(path("empty.duckdb"), "");
    write_atomically(path("header.duckdb"), std::string(8, '\7') + "DUCK" + std::string(20000, '\1'));
    fill("damaged.duckdb", "a", {row("a", 1, digest('1'))});
    std::string damaged = read_file(path("damaged.duckdb"));
    for (size_t i = 12 * 1024; i < damaged.size(); i += 512) damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    write_atomically(path("damaged.duckdb"), damaged);
    fill("cut.duckdb", "a", {row("a", 1, digest('1'))});
    write_atomically(path("cut.duckdb"), read_file(path("cut.duckdb")).substr(0, 30000));
    { Database(path("foreign.duckdb"), Access::write).run("CREATE TABLE meta(key INTEGER, value INTEGER)"); }
    { Database(path("other.duckdb"), Access::write).run("CREATE TABLE mine(x INTEGER)"); }
    fill("newer.duckdb", "a", {});
    { Database(path("newer.duckdb"), Access::write).run("UPDATE meta SET value = '99' WHERE key = 'schema'"); }

    const std::pair<const char*, const char*> cases[] = {
        {"text.duckdb", "it is not a DuckDB file"},
        {"empty.duckdb", "it is empty"},
        {"header.duckdb", ""},
        {"damaged.duckdb", ""},
        {"cut.duckdb", ""},
        {"foreign.duckdb", "it is another program's DuckDB file"},
        {"other.duckdb", "it is another program's DuckDB file"},
        {"newer.duckdb", "a newer cuda-rlm wrote it (schema 99, this program knows 1)"}};
    for (const auto& [name, wanted] : cases) {
        const std::string before = read_file(path(name));
        for (const auto& reason :
             {why([&] { check_store(path(name)); }), why([&] { Store(path(name), Access::write); }),
              why([&] { merge({}, path(name)); })}) {
            EXPECT_FALSE(reason.empty()) << name;
            if (*wanted != '\0') {
                EXPECT_EQ(reason, wanted) << name;
            }
        }
        EXPECT_EQ(read_file(path(name)), before) << name;
        EXPECT_FALSE(fs::exists(path(name).native() + ".wal")) << name;
    }
}

/// Another probe, for as long as this lives.
class Probing {
 public:
    explicit Probing(const std::string& script) : before_(probe_command()) {
        probe_command() = {"sh", "-c", script, "probe"};
    }
    ~Probing() { probe_command() = before_; }

 private:
    std::vector<std::string> before_;
};

TEST_F(StoreTest, a_file_that_fells_its_reader_is_damaged) {
    fill("good.duckdb", "a", {row("a", 1, digest('1'))});
    const std::string bytes = read_file(path("good.duckdb"));
    for (const char* script : {"kill -SEGV $$", "kill -ABRT $$", "exit 1", "exit 3", "echo what; exit 3"}) {
        write_atomically(path("bad.duckdb"), bytes);
        const Probing probing(script);
        EXPECT_EQ(why([&] { check_store(path("bad.duckdb")); }), "it is damaged") << script;
        EXPECT_EQ(why([&] { results(path("bad.duckdb"), {}); }), "it is damaged") << script;
        EXPECT_EQ(why([&] { show(path("bad.duckdb"), digest('1')); }), "it is damaged") << script;
        EXPECT_EQ(why([&] { Store(path("bad.duckdb"), Access::write); }), "it is damaged") << script;
        EXPECT_EQ(why([&] { merge({path("good.duckdb")}, path("bad.duckdb")); }), "it is damaged") << script;
        const MergeReport report = merge({path("bad.duckdb"), path("good.duckdb")}, path("main.duckdb"));
        ASSERT_EQ(report.skipped.size(), 1u) << script;
        EXPECT_EQ(report.skipped[0].why, "it is damaged");
        EXPECT_EQ(report.merged.size(), 1u);
        EXPECT_EQ(read_file(path("bad.duckdb")), bytes);
    }
}

TEST_F(StoreTest, a_file_is_probed_once_until_it_changes) {
    fill("s.duckdb", "a", {row("a", 1, digest('1'))});
    const std::string count = "echo x >> '" + path("count").native() + "'";
    const auto probes = [&] { return fs::exists(path("count")) ? read_file(path("count")).size() / 2 : 0; };
    const Probing probing(count);
    results(path("s.duckdb"), {});
    EXPECT_EQ(probes(), 0u);  // this process made it
    for (size_t wanted = 1; wanted <= 2; ++wanted) {
        write_atomically(path("s.duckdb"), std::string(read_file(path("s.duckdb"))));
        check_store(path("s.duckdb"));
        fill("s.duckdb", "a", {row("a", static_cast<int>(wanted) + 1, digest('2'))});
        results(path("s.duckdb"), {});
        EXPECT_EQ(probes(), wanted);
    }
}

TEST_F(StoreTest, where_no_store_can_be_made_is_known_at_once) {
    write_atomically(path("file"), "x");
    for (const fs::path& store : {path("file/new.duckdb"), path("file/below/new.duckdb"), fs::path("/proc/new.duckdb")})
        EXPECT_NE(why([&] { check_store(store); }).find("nothing can be written to "), std::string::npos) << store;
    check_store(path("to/be/made/new.duckdb"));
    EXPECT_FALSE(fs::exists(path("to")));
}

TEST_F(StoreTest, missing_store_is_empty_and_stays_missing) {
    EXPECT_TRUE(results(path("none.duckdb"), {}).empty());
    EXPECT_THROW(show(path("none.duckdb"), digest('1')), Error);
    check_store(path("none.duckdb"));
    EXPECT_FALSE(fs::exists(path("none.duckdb")));
}

TEST_F(StoreTest, results_take_the_last_row_best_first) {
    fill("s.duckdb", "a",
         {row("a", 1, digest('1'), "correct", 30), row("a", 2, digest('2'), "correct", 10),
          row("a", 9, digest('3'), "correct", 5), row("a", 10, digest('3'), "wrong", std::nullopt, "whole"),
          row("a", 11, digest('4'), "build_failed", std::nullopt)});
    const auto digests = [&](bool all) {
        std::string found;
        for (const auto& result : results(path("s.duckdb"), {.all = all}))
            found += result.at("digest").get<std::string>()[0];
        return found;
    };
    EXPECT_EQ(digests(false), "21");
    EXPECT_EQ(digests(true), "2134");
    EXPECT_TRUE(results(path("s.duckdb"), {.task = "nano30b_argmax"}).empty());
}

TEST_F(StoreTest, show_finds_a_digest_by_its_beginning) {
    const std::string one = "aaaa" + std::string(60, '1'), two = "aaaa" + std::string(60, '2');
    fill("s.duckdb", "a", {row("a", 1, one), row("a", 2, two), row("a", 3, two, "correct", 1, "whole")});
    const auto found = show(path("s.duckdb"), "aaaa2");
    EXPECT_EQ(found.at("digest"), two);
    EXPECT_EQ(found.at("stage"), "whole");
    EXPECT_EQ(found.at("source"), "// " + two);
    EXPECT_EQ(found.at("run"), "a");
    EXPECT_EQ(found.at("evaluations").size(), 2u);
    EXPECT_THROW(show(path("s.duckdb"), "aaaa"), Error);
    EXPECT_THROW(show(path("s.duckdb"), "aa"), Error);
    EXPECT_THROW(show(path("s.duckdb"), "bbbb"), Error);
    EXPECT_THROW(show(path("s.duckdb"), "zzzz"), Error);
}

TEST_F(StoreTest, merge_finds_each_store_once_and_skips_what_is_none) {
    fs::create_directories(path("runs/one"));
    fs::create_directories(path("runs/two words"));
    fs::create_directory_symlink(path("runs"), path("runs/one/around"));
    fill("runs/one/results.duckdb", "a", {row("a", 1, digest('1'))});
    fill("runs/two words/results.duckdb", "b", {row("b", 1, digest('1')), row("b", 2, digest('2'))});
    fs::create_symlink(path("runs/one/results.duckdb"), path("runs/again.duckdb"));
    write_atomically(path("runs/bad.duckdb"), "nothing");

    MergeReport told = merge({path("runs")}, path("main.duckdb"), {.dry_run = true});
    EXPECT_EQ(told.added, 3);
    EXPECT_FALSE(fs::exists(path("main.duckdb")));

    MergeReport first = merge({path("runs")}, path("main.duckdb"));
    EXPECT_EQ(first.found.size(), 3u);
    EXPECT_EQ(first.merged.size(), 2u);
    ASSERT_EQ(first.skipped.size(), 1u);
    EXPECT_EQ(first.skipped[0].why, "it is not a DuckDB file");
    EXPECT_EQ(first.added, 3);
    EXPECT_EQ(results(path("main.duckdb"), {}).size(), 3u);

    MergeReport second = merge({path("runs"), path("main.duckdb")}, path("main.duckdb"));
    EXPECT_EQ(second.added, 0);
    EXPECT_EQ(second.present, 3);
    EXPECT_THROW(merge({path("missing")}, path("main.duckdb")), Error);
}

TEST_F(StoreTest, threads_and_processes_that_merge_at_once_lose_nothing) {
    constexpr int kSources = 4;
    for (int i = 0; i < kSources; ++i) {
        const std::string run(1, static_cast<char>('a' + i));
        fill(run + ".duckdb", run, {row(run, 1, digest('1')), row(run, 2, digest('2'))});
    }
    const auto merge_one = [&](int i) {
        merge({path(std::string(1, static_cast<char>('a' + i)) + ".duckdb")}, path("main.duckdb"),
              {.target_wait = {.seconds = 60}});
    };
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
        const ProcessResult other =
            run_process({this_program(), "merge", path("a.duckdb").native(), path("main.duckdb").native()});
        EXPECT_EQ(other.status, 0) << other.err;
    });
    for (int i = 1; i < kSources; ++i) threads.emplace_back(merge_one, i);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(Store(path("main.duckdb"), Access::read).keys().size(), 2u * kSources);
}

TEST_F(StoreTest, a_store_in_use_is_waited_for_or_skipped) {
    fill("s.duckdb", "a", {row("a", 1, digest('1'))});
    fill("other.duckdb", "b", {row("b", 1, digest('1'))});
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        Database held(path("s.duckdb"), Access::write);
        (void)!::write(ready[1], "x", 1);
        ::pause();
        ::_exit(0);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_THROW(Store(path("s.duckdb"), Access::read, {.seconds = 0.1}), StoreLocked);
    EXPECT_NO_THROW(check_store(path("s.duckdb")));
    const MergeReport report = merge({path("s.duckdb"), path("other.duckdb")}, path("main.duckdb"));
    ASSERT_EQ(report.skipped.size(), 1u);
    EXPECT_NE(report.skipped[0].why.find("another program uses it (PID "), std::string::npos) << report.skipped[0].why;
    EXPECT_EQ(report.merged.size(), 1u);
    std::thread release([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    });
    EXPECT_EQ(Store(path("s.duckdb"), Access::write, {.seconds = 30}).keys().size(), 1u);
    release.join();
}

TEST_F(StoreTest, a_killed_writer_leaves_a_store_with_all_that_was_committed) {
    fill("s.duckdb", "a", {row("a", 1, digest('1'))});
    const pid_t child = ::fork();
    if (child == 0) {
        Database database(path("s.duckdb"), Access::write);
        database.run("INSERT INTO evaluations SELECT * REPLACE ('a-2' AS id) FROM evaluations");
        ::kill(::getpid(), SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    const std::string before = read_file(path("s.duckdb"));
    EXPECT_EQ(Store(path("s.duckdb"), Access::read).keys().size(), 2u);
    EXPECT_EQ(read_file(path("s.duckdb")), before);
    EXPECT_EQ(Store(path("s.duckdb"), Access::write).keys().size(), 2u);
}

TEST_F(StoreTest, a_file_that_may_not_grow_gives_one_line_and_keeps_what_was_there) {
    fill("s.duckdb", "a", {row("a", 1, digest('1'))});
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{fs::file_size(path("s.duckdb")), fs::file_size(path("s.duckdb"))};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        StoredEvaluation big = row("a", 2, digest('2'));
        for (int i = 0; i < 200'000; ++i) big.source += static_cast<char>(i * 7919 % 95 + 32);
        const std::string reason = why([&] { Store(path("s.duckdb"), Access::write).add({}, std::vector{big}); });
        ::_exit(reason.empty() ? 1 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    const std::set<RowKey> keys = Store(path("s.duckdb"), Access::read).keys();
    EXPECT_TRUE(keys.contains({"a", "a-1"}));
}

/// This program is the child that probes stores, and the other process that merges, too.
const bool kServed = [] {
    std::ifstream arguments("/proc/self/cmdline");
    std::vector<std::string> words;
    for (std::string word; std::getline(arguments, word, '\0');) words.push_back(word);
    if (words.size() == 3 && words[1] == "store-probe") std::_Exit(serve_probe(words[2]));
    if (words.size() == 4 && words[1] == "merge") {
        merge({words[2]}, words[3], {.target_wait = {.seconds = 60}});
        std::_Exit(0);
    }
    return true;
}();

TEST(MainStore, is_chosen_by_option_then_environment) {
    ::unsetenv("RECUDA_DB");
    EXPECT_EQ(main_store(""), "results.duckdb");
    ::setenv("RECUDA_DB", "/somewhere/all.duckdb", 1);
    EXPECT_EQ(main_store(""), "/somewhere/all.duckdb");
    EXPECT_EQ(main_store("mine.duckdb"), "mine.duckdb");
    ::unsetenv("RECUDA_DB");
}

}  // namespace
}  // namespace recuda

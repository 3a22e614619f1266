#include "store/store.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "evaluation/evaluation.h"
#include "store/probe.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

constexpr char kFormat[] = "cuda-rlm results";
constexpr char kAdvice[] = "name another store with --db, or move this file away";

constexpr const char* kTables[] = {
    "CREATE TABLE meta(key VARCHAR, value VARCHAR)",
    "CREATE TABLE runs(run VARCHAR, task VARCHAR, preset VARCHAR, device VARCHAR, out_dir VARCHAR, started VARCHAR, "
    "asked VARCHAR, environment VARCHAR)",
    "CREATE TABLE evaluations(run VARCHAR, id VARCHAR, task VARCHAR, digest VARCHAR, outcome VARCHAR, stage VARCHAR, "
    "origin VARCHAR, device VARCHAR, median_ns DOUBLE, estimate DOUBLE, \"when\" VARCHAR, evaluation VARCHAR, "
    "source VARCHAR)"};

/// Whether the tables are ours, by table meta. Throws StoreProblem.
void check_meta(Database& database, const fs::path& path) {
    const auto has_meta = database.run("SELECT 1 FROM information_schema.tables WHERE table_name = 'meta'");
    std::string format, schema;
    if (!has_meta.empty())
        for (const Row& row : database.run("SELECT key::VARCHAR, value::VARCHAR FROM meta"))
            (text(row[0]) == "format" ? format : schema) = text(row[1]);
    if (format != kFormat) throw StoreProblem(path, "it is another program's DuckDB file", kAdvice);
    if (std::atoll(schema.c_str()) > kStoreSchema)
        throw StoreProblem(
            path, fmt::format("a newer cuda-rlm wrote it (schema {}, this program knows {})", schema, kStoreSchema),
            "use the newer program, or name another store with --db");
}

/// Reads every block, whose checksums DuckDB compares. Throws StoreProblem.
void read_through(Database& database) {
    database.run(
        "SELECT sum(length(run || task || preset || device || out_dir || started || asked || environment)) FROM runs");
    database.run(
        "SELECT sum(length(run || id || task || digest || outcome || stage || origin || device || \"when\" || "
        "evaluation || source)), sum(median_ns), sum(estimate) FROM evaluations");
}

void remove_quietly(const fs::path& path) {
    std::error_code ignored;
    fs::remove(path, ignored);
    fs::remove(path.native() + ".wal", ignored);
}

/// Makes a store under another name and gives it its own when it is whole; one that came meanwhile is left alone.
void create_store(const fs::path& path) {
    static std::atomic<unsigned> counter{0};
    make_folder(path.has_parent_path() ? path.parent_path() : fs::path("."));
    const fs::path made =
        path.parent_path() / fmt::format(".{}.{}-{}.new", shown(path.filename()), ::getpid(), counter.fetch_add(1));
    try {
        {
            Database database(made, Access::write);
            database.run("BEGIN");
            for (const char* table : kTables) database.run(table);
            database.run("INSERT INTO meta VALUES ('format', ?), ('schema', ?)",
                         {kFormat, std::to_string(kStoreSchema)});
            database.run("COMMIT");
            database.run("CHECKPOINT");
        }
        if (::link(made.c_str(), path.c_str()) != 0 && errno != EEXIST &&
            ::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0 && errno != EEXIST)
            throw Error("cannot create the store {}: {}", shown(path), std::strerror(errno));
    } catch (const StoreProblem& problem) {
        remove_quietly(made);
        throw StoreProblem(path, problem.why(), "");
    } catch (...) {
        remove_quietly(made);
        throw;
    }
    remove_quietly(made);
}

/// Opens what exists and has been found to be ours before anything may write to it.
Database open_store(const fs::path& path, Access access, const LockWait& wait, Trust trust) {
    std::error_code ignored;
    const bool missing = !fs::exists(fs::symlink_status(path, ignored));
    if (access == Access::write && missing) create_store(path);
    if (access == Access::read || (trust == Trust::none && !missing)) {
        probe(path, wait);
        Database database(path, Access::read, wait);
        check_meta(database, path);
        if (access == Access::read) return database;
    }
    return Database(path, access, wait);
}

/// Throws StoreProblem when the folder of the store, or the nearest one above it that exists, takes no new file.
void check_folder(const fs::path& path) {
    std::error_code ignored;
    fs::path folder = fs::weakly_canonical(fs::absolute(path), ignored).parent_path();
    while (!fs::exists(fs::symlink_status(folder, ignored)) && folder.has_relative_path())
        folder = folder.parent_path();
    std::string name = folder / ".cuda-rlm-XXXXXX";
    const int file = ::mkostemp(name.data(), O_CLOEXEC);
    if (file < 0)
        throw StoreProblem(path, fmt::format("nothing can be written to {}: {}", shown(folder), std::strerror(errno)),
                           "name another store with --db, or make that folder writable");
    ::close(file);
    ::unlink(name.c_str());
}

Value value(const std::optional<double>& number) { return number ? Value(*number) : Value(); }

}  // namespace

StoredEvaluation stored(const std::string& run, const Evaluation& evaluation, std::string source) {
    return {.run = run,
            .id = evaluation.id,
            .task = evaluation.task,
            .digest = evaluation.digest,
            .outcome = std::string(name(evaluation.outcome)),
            .stage = evaluation.stage,
            .origin = std::string(name(evaluation.origin)),
            .device = evaluation.device,
            .median_ns = evaluation.median_ns,
            .estimate = evaluation.estimate,
            .when = evaluation.when,
            .evaluation = dump(to_json(evaluation)),
            .source = std::move(source)};
}

Store::Store(const fs::path& path, Access access, const LockWait& wait, Trust trust)
    : database_(open_store(path, access, wait, trust)) {
    if (access == Access::write) written_ = std::make_unique<Written>(path);
}

Store::Written::~Written() { remember(path); }

void read_store(const fs::path& path) {
    Database database(path, Access::read, {.seconds = 0});
    check_meta(database, path);
    read_through(database);
}

std::set<RowKey> Store::keys() {
    std::set<RowKey> keys;
    for (const Row& row : database_.run("SELECT run, id FROM evaluations")) keys.emplace(text(row[0]), text(row[1]));
    return keys;
}

std::vector<StoredRun> Store::runs() {
    std::vector<StoredRun> runs;
    for (const Row& row :
         database_.run("SELECT run, task, preset, device, out_dir, started, asked, environment FROM runs"))
        runs.push_back({text(row[0]), text(row[1]), text(row[2]), text(row[3]), text(row[4]), text(row[5]),
                        text(row[6]), text(row[7])});
    return runs;
}

std::vector<StoredEvaluation> Store::evaluations() {
    std::vector<StoredEvaluation> evaluations;
    for (const Row& row : database_.run("SELECT run, id, task, digest, outcome, stage, origin, device, median_ns, "
                                        "estimate, \"when\", evaluation, source FROM evaluations"))
        evaluations.push_back({text(row[0]), text(row[1]), text(row[2]), text(row[3]), text(row[4]), text(row[5]),
                               text(row[6]), text(row[7]), number(row[8]), number(row[9]), text(row[10]), text(row[11]),
                               text(row[12])});
    return evaluations;
}

Store::Added Store::add(std::span<const StoredRun> runs, std::span<const StoredEvaluation> evaluations) {
    Added added;
    std::set<RowKey> present = keys();
    std::set<std::string> known;
    for (const Row& row : database_.run("SELECT run FROM runs")) known.insert(text(row[0]));
    database_.run("BEGIN");
    try {
        Database::Statement run_row(database_, "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
        for (const StoredRun& r : runs)
            if (known.insert(r.run).second)
                run_row.run(Row{r.run, r.task, r.preset, r.device, r.out_dir, r.started, r.asked, r.environment});
        Database::Statement row(database_, "INSERT INTO evaluations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
        for (const StoredEvaluation& e : evaluations) {
            if (!present.emplace(e.run, e.id).second) {
                ++added.present;
                continue;
            }
            row.run(Row{e.run, e.id, e.task, e.digest, e.outcome, e.stage, e.origin, e.device, value(e.median_ns),
                        value(e.estimate), e.when, e.evaluation, e.source});
            ++added.added;
        }
        database_.run("COMMIT");
    } catch (...) {
        try {
            database_.run("ROLLBACK");
        } catch (const Error&) {
            // What follows is the reason that matters.
        }
        throw;
    }
    if (added.added > 0) database_.run("CHECKPOINT");
    return added;
}

void check_store(const fs::path& path) {
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(path, ignored))) {
        try {
            Store(path, Access::read, {.seconds = 0});
        } catch (const StoreLocked&) {
            // Whoever holds it is about to finish, or is waited for when this run has something to add.
        }
        if (::access(path.c_str(), W_OK) != 0)
            throw StoreProblem(path, fmt::format("it cannot be written: {}", std::strerror(errno)), kAdvice);
    }
    check_folder(path);
}

fs::path main_store(const std::string& chosen) {
    if (!chosen.empty()) return chosen;
    const char* set = std::getenv("RECUDA_DB");
    return set != nullptr && *set != '\0' ? set : "results.duckdb";
}

}  // namespace recuda

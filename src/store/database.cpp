#include "store/database.h"

#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "store/duckdb_library.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPoll{20};
constexpr char kInUse[] = "another program uses it";

/// The mutex of a path; mutexes are never destroyed, so that a pointer to one stays good.
std::timed_mutex& mutex_of(const fs::path& path) {
    static std::mutex guard;
    static std::map<fs::path, std::timed_mutex> mutexes;
    std::error_code ignored;
    const fs::path real = fs::weakly_canonical(path, ignored);
    const std::scoped_lock lock(guard);
    return mutexes[real.empty() ? path : real];
}

bool is_missing(const fs::path& path) {
    std::error_code ignored;
    return !fs::exists(fs::symlink_status(path, ignored));
}

std::string first_line(const char* message) {
    return message == nullptr ? "unknown error" : std::string(split_lines(message).front());
}

bool says_locked(const std::string& message) { return message.find("Could not set lock on file") != std::string::npos; }

/// "another program uses it (PID 123)" from DuckDB's "Conflicting lock is held in PROGRAM (PID 123)…".
std::string holder(const std::string& message) {
    const size_t from = message.find("(PID "), to = message.find(')', from);
    if (from == std::string::npos || to == std::string::npos) return kInUse;
    return fmt::format("{} {}", kInUse, message.substr(from, to - from + 1));
}

/// DuckDB's words without its prefix.
std::string reason_of(const std::string& message) {
    constexpr std::string_view kPrefix = "IO Error: ";
    return message.starts_with(kPrefix) ? message.substr(kPrefix.size()) : message;
}

class Configuration {
 public:
    explicit Configuration(Access access) {
        const DuckDbLibrary& duckdb = duckdb_library();
        if (duckdb.create_config(&value_) != DuckDBSuccess) throw Error("DuckDB gives no configuration");
        set("threads", "1");
        set("autoinstall_known_extensions", "false");
        set("autoload_known_extensions", "false");
        // Small blocks: a run's store of some 20 candidates has 0.3 MB instead of 1.5 MB.
        set("default_block_size", "16384");
        if (access == Access::read) set("access_mode", "READ_ONLY");
    }
    Configuration(const Configuration&) = delete;
    ~Configuration() { duckdb_library().destroy_config(&value_); }
    duckdb_config value() const { return value_; }

 private:
    void set(const char* name, const char* option) {
        if (duckdb_library().set_config(value_, name, option) != DuckDBSuccess)
            throw Error("DuckDB {} does not know the option {}", duckdb_library().library_version(), name);
    }
    duckdb_config value_ = nullptr;
};

/// A result and its end.
struct Result {
    duckdb_result value{};
    ~Result() { duckdb_library().destroy_result(&value); }
};

Value cell(duckdb_result& result, idx_t column, idx_t row) {
    const DuckDbLibrary& duckdb = duckdb_library();
    if (duckdb.value_is_null(&result, column, row)) return {};
    switch (duckdb.column_type(&result, column)) {
        case DUCKDB_TYPE_DOUBLE:
            return duckdb.value_double(&result, column, row);
        case DUCKDB_TYPE_BIGINT:
        case DUCKDB_TYPE_INTEGER:
            return duckdb.value_int64(&result, column, row);
        default:
            break;
    }
    const duckdb_string text = duckdb.value_string(&result, column, row);
    std::string copy(text.data == nullptr ? "" : text.data, text.size);
    duckdb.free(text.data);
    return copy;
}

std::vector<Row> rows_of(duckdb_result& result) {
    const idx_t columns = duckdb_library().column_count(&result), count = duckdb_library().row_count(&result);
    std::vector<Row> rows(count, Row(columns));
    for (idx_t row = 0; row < count; ++row)
        for (idx_t column = 0; column < columns; ++column) rows[row][column] = cell(result, column, row);
    return rows;
}

}  // namespace

StoreProblem::StoreProblem(const fs::path& path, const std::string& why, const std::string& advice)
    : Error("cannot use the store {}: {}{}{}", shown(path), why, advice.empty() ? "" : "; ", advice),
      why_(why),
      advice_(advice) {}

std::string text(const Value& value) {
    const auto* found = std::get_if<std::string>(&value);
    return found == nullptr ? "" : *found;
}

std::optional<double> number(const Value& value) {
    if (const auto* found = std::get_if<double>(&value)) return *found;
    if (const auto* found = std::get_if<int64_t>(&value)) return static_cast<double>(*found);
    return std::nullopt;
}

std::string why_no_database(const fs::path& path) {
    std::error_code problem;
    if (fs::is_directory(path, problem)) return "it is a folder";
    if (!fs::is_regular_file(path, problem)) return problem ? problem.message() : "it is no file";
    if (fs::file_size(path, problem) == 0) return "it is empty";
    std::string begin(12, '\0');
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return std::strerror(errno);
    const size_t count = std::fread(begin.data(), 1, begin.size(), file);
    std::fclose(file);
    // Eight bytes of checksum, then the magic (https://duckdb.org/docs/stable/internals/storage).
    return count == begin.size() && begin.substr(8) == "DUCK" ? "" : "it is not a DuckDB file";
}

struct Database::Handles {
    fs::path path;
    std::unique_lock<std::timed_mutex> turn;
    duckdb_database database = nullptr;
    duckdb_connection connection = nullptr;

    ~Handles() {
        if (connection != nullptr) duckdb_library().disconnect(&connection);
        if (database != nullptr) duckdb_library().close(&database);
    }
    /// "" or why it did not open.
    std::string open(Access access) {
        const Configuration configuration(access);
        char* message = nullptr;
        if (duckdb_library().open_ext(path.c_str(), &database, configuration.value(), &message) == DuckDBSuccess)
            return duckdb_library().connect(database, &connection) == DuckDBSuccess ? "" : "DuckDB gives no connection";
        const std::string reason = first_line(message);
        duckdb_library().free(message);
        return reason;
    }
};

Database::Database(fs::path path, Access access, const LockWait& wait) : handles_(std::make_unique<Handles>()) {
    handles_->path = std::move(path);
    const Clock::time_point begun = Clock::now(), end = begun + milliseconds(static_cast<int64_t>(wait.seconds * 1000));
    handles_->turn = std::unique_lock(mutex_of(handles_->path), std::defer_lock);
    bool told = false;
    while (true) {
        std::string reason = kInUse;
        if (handles_->turn.owns_lock() || handles_->turn.try_lock_for(kPoll)) {
            if (const std::string why = why_no_database(handles_->path);
                !why.empty() && (access == Access::read || !is_missing(handles_->path)))
                throw StoreProblem(handles_->path, why, "name another store, or move this file away");
            const std::string message = handles_->open(access);
            if (message.empty()) return;
            if (!says_locked(message))
                throw StoreProblem(handles_->path, reason_of(message), "it may be damaged: move it away");
            reason = holder(message);
        }
        if (Clock::now() >= end || wait.stop.stop_requested())
            throw StoreLocked(handles_->path, reason, "close it there or try again later");
        if (!told && wait.notice && Clock::now() - begun > std::chrono::seconds(1)) {
            told = true;
            wait.notice(reason);
        }
        std::this_thread::sleep_for(kPoll);
    }
}

Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

struct Database::Statement::Handle {
    fs::path path;
    duckdb_prepared_statement statement = nullptr;
    ~Handle() { duckdb_library().destroy_prepare(&statement); }

    [[noreturn]] void fail(const char* message) const { throw StoreProblem(path, reason_of(first_line(message)), ""); }

    void bind(idx_t place, const Value& value) const {
        const DuckDbLibrary& duckdb = duckdb_library();
        duckdb_state state = DuckDBSuccess;
        if (const auto* text = std::get_if<std::string>(&value)) {
            const std::string valid = valid_utf8(*text);
            state = duckdb.bind_varchar_length(statement, place, valid.data(), valid.size());
        } else if (const auto* whole = std::get_if<int64_t>(&value)) {
            state = duckdb.bind_int64(statement, place, *whole);
        } else if (const auto* real = std::get_if<double>(&value)) {
            state = duckdb.bind_double(statement, place, *real);
        } else {
            state = duckdb.bind_null(statement, place);
        }
        if (state != DuckDBSuccess) fail(duckdb.prepare_error(statement));
    }
};

Database::Statement::Statement(Database& database, const std::string& sql) : handle_(std::make_unique<Handle>()) {
    handle_->path = database.handles_->path;
    if (duckdb_library().prepare(database.handles_->connection, sql.c_str(), &handle_->statement) != DuckDBSuccess)
        handle_->fail(duckdb_library().prepare_error(handle_->statement));
}

Database::Statement::Statement(Statement&&) noexcept = default;
Database::Statement::~Statement() = default;

std::vector<Row> Database::Statement::run(std::span<const Value> values) {
    for (size_t i = 0; i < values.size(); ++i) handle_->bind(i + 1, values[i]);
    Result result;
    if (duckdb_library().execute_prepared(handle_->statement, &result.value) != DuckDBSuccess)
        handle_->fail(duckdb_library().result_error(&result.value));
    return rows_of(result.value);
}

std::vector<Row> Database::run(const std::string& sql, std::span<const Value> values) {
    return Statement(*this, sql).run(values);
}

}  // namespace recuda

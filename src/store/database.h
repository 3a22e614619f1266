// A DuckDB file, through DuckDB's C API: open, run statements, close.
//
// DuckDB itself lets one process write a file, or several read it, by a lock on the file; whoever comes too late waits
// here, so no lock file is left behind and other programs that use DuckDB are waited for as well. Those locks are a
// process's, not a thread's: a mutex for each path keeps the threads of this process apart.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"

namespace recuda {

struct DuckDbFound {
    std::string path, version;
};

/// Where DuckDB's library is; throws Error with what to do when it is missing.
DuckDbFound find_duckdb();

/// A file that cannot be used as a store. `why` is the reason alone: "it is empty", "another program uses it".
class StoreProblem : public Error {
 public:
    StoreProblem(const std::filesystem::path& path, const std::string& why, const std::string& advice);
    const std::string& why() const { return why_; }
    const std::string& advice() const { return advice_; }

 private:
    std::string why_, advice_;
};

/// The file is in use elsewhere and did not become free in time.
class StoreLocked : public StoreProblem {
 public:
    using StoreProblem::StoreProblem;
};

enum class Access { read, write };

/// How long to wait for a file that somebody else holds.
struct LockWait {
    double seconds = 10;
    std::stop_token stop;                            // gives up at once
    std::function<void(const std::string&)> notice;  // called once after a second, with who holds it
};

using Value = std::variant<std::monostate, int64_t, double, std::string>;
using Row = std::vector<Value>;

/// Text of a cell; "" for NULL.
std::string text(const Value& value);
std::optional<double> number(const Value& value);

class Database {
 public:
    /// `write` creates the file when it is missing; `read` leaves every byte of it as it is. Throws StoreProblem.
    Database(std::filesystem::path path, Access access, const LockWait& wait = {});
    Database(Database&&) noexcept;
    Database& operator=(Database&&) noexcept;
    ~Database();

    /// Runs one statement with `?` bound in order; throws StoreProblem with DuckDB's first line.
    std::vector<Row> run(const std::string& sql, std::span<const Value> values = {});
    std::vector<Row> run(const std::string& sql, std::initializer_list<Value> values) {
        return run(sql, std::span(values.begin(), values.size()));
    }

    /// A statement that is run for many rows.
    class Statement {
     public:
        Statement(Database& database, const std::string& sql);
        Statement(Statement&&) noexcept;
        ~Statement();
        std::vector<Row> run(std::span<const Value> values);

     private:
        struct Handle;
        std::unique_ptr<Handle> handle_;
    };

 private:
    struct Handles;
    std::unique_ptr<Handles> handles_;
};

/// What the first bytes of the file say: "" for a DuckDB file, else why it is none. Opens it for reading alone.
std::string why_no_database(const std::filesystem::path& path);

}  // namespace recuda

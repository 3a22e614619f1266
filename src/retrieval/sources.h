// Where documents of the kernel index come from: files of the catalogue, run folders and the main store. A source is
// what is read as a whole; it knows by its stamp whether it changed.
//
// What lies below artifacts/ was written by kernels' authors, models and other programs: links there are not followed,
// no name in a file is ever opened, long and binary files are left out.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "retrieval/document.h"

namespace recuda {

/// What the index is made of.
struct IndexPlaces {
    std::filesystem::path home;       // ops/, kernels/, docs/notes/
    std::filesystem::path artifacts;  // run folders below it; need not exist
    std::filesystem::path store;      // the main store; need not exist
};

/// The places of a program that runs here: home_folder(), artifacts/ and main_store(db).
IndexPlaces usual_places(const std::string& db = "");

struct TaskFacts {
    std::string op, family;
};

/// Tasks and ops of the catalogue.
struct KnownTasks {
    std::map<std::string, TaskFacts> tasks;
    std::map<std::string, std::string> summaries;  // of ops
};
KnownTasks known_tasks(const std::filesystem::path& home);

using TakeDocument = std::function<void(Document)>;

struct Source {
    std::string key;             // "home:ops/rmsnorm/seeds/warp.cu", "run:artifacts/runs/a", "store:/x/results.duckdb"
    std::filesystem::path file;  // whose size, time and digest tell a change
    std::string about;           // what else its documents depend on, as text
    /// Reads it and gives its documents; throws Error when that cannot be.
    std::function<void(const TakeDocument&)> read;
};

/// All of them, by key.
std::vector<Source> sources(const IndexPlaces& places, const std::shared_ptr<const KnownTasks>& known);

/// Those of run folders below a folder, and the one of a store.
std::vector<Source> run_sources(const std::filesystem::path& artifacts, const std::shared_ptr<const KnownTasks>& known);
Source store_source(const std::filesystem::path& store, const std::shared_ptr<const KnownTasks>& known);

}  // namespace recuda

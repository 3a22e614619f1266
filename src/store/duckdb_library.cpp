#include "store/duckdb_library.h"

#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "base/process.h"
#include "store/database.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> library_places() {
    const fs::path program = this_program(), installed = ".deps/duckdb/lib/libduckdb.so";
    std::vector<fs::path> places{program.parent_path() / "lib/libduckdb.so"};
    try {
        places.push_back(home_folder() / installed);
    } catch (const Error&) {
        // Without a catalogue there may still be a library above the program.
    }
    for (fs::path folder = program.parent_path(); folder != folder.parent_path(); folder = folder.parent_path())
        places.push_back(folder / installed);
    return places;
}

/// The path of the first that exists, else the plain name.
std::string library_path() {
    std::error_code ignored;
    for (const fs::path& place : library_places())
        if (fs::exists(place, ignored)) return place.native();
    return "libduckdb.so";
}

DuckDbLibrary open_library() {
    DuckDbLibrary opened{.path = library_path()};
    try {
        opened.library = DynamicLibrary(opened.path);
#define RECUDA_DUCKDB_LOOKUP(name) \
    opened.name = opened.library.function<std::remove_pointer_t<decltype(opened.name)>>("duckdb_" #name);
        RECUDA_DUCKDB_FUNCTIONS(RECUDA_DUCKDB_LOOKUP)
#undef RECUDA_DUCKDB_LOOKUP
    } catch (const Error& error) {
        throw Error("DuckDB's library is not usable: {}; ./setup installs it", error.what());
    }
    return opened;
}

}  // namespace

const DuckDbLibrary& duckdb_library() {
    static const DuckDbLibrary library = open_library();
    return library;
}

DuckDbFound find_duckdb() {
    const DuckDbLibrary& library = duckdb_library();
    return {.path = library.path, .version = library.library_version()};
}

}  // namespace recuda

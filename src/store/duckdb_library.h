// DuckDB's library, opened at run time: the functions that this program calls. <duckdb.h> is included here, and this
// header by .cpp files of the layer alone.
//
// The library is looked for in lib/ beside the program (a bundle), then as .deps/duckdb/lib below the home folder and
// below the folders above the program, then by the loader under its plain name.
#pragma once

#include <duckdb.h>
#include <string>

#include "base/dynamic_library.h"

namespace recuda {

// One row a function: its name in the library without the prefix `duckdb_`.
#define RECUDA_DUCKDB_FUNCTIONS(row)                                                                                  \
    row(library_version) row(create_config) row(set_config) row(destroy_config) row(open_ext) row(close) row(connect) \
        row(disconnect) row(free) row(prepare) row(prepare_error) row(destroy_prepare) row(bind_varchar_length)       \
            row(bind_int64) row(bind_double) row(bind_null) row(execute_prepared) row(result_error)                   \
                row(destroy_result) row(column_count) row(row_count) row(column_type) row(value_is_null)              \
                    row(value_int64) row(value_double) row(value_string)

struct DuckDbLibrary {
    DynamicLibrary library;
    std::string path;
#define RECUDA_DUCKDB_MEMBER(name) decltype(&::duckdb_##name) name = nullptr;
    RECUDA_DUCKDB_FUNCTIONS(RECUDA_DUCKDB_MEMBER)
#undef RECUDA_DUCKDB_MEMBER
};

/// The library, opened at the first call and for good. Throws Error with what to do when there is none.
const DuckDbLibrary& duckdb_library();

}  // namespace recuda

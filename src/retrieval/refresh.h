// Makes and renews the kernel index.
//
// Either writes a generation beside the one in use, which then takes its place (retrieval/generations.h): a build an
// empty one, a refresh a copy. So a process that is killed leaves the index as it was, readers are not disturbed, and
// two at once do their work in turn. The copy of an index of 100 000 documents takes a few tenths of a second.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "retrieval/sources.h"

namespace recuda {

struct IndexReport {
    struct Skipped {
        std::string path, why;
    };
    uint64_t documents = 0;  // in the index now
    uint64_t added = 0, changed = 0, removed = 0;
    uint64_t sources_read = 0, sources_unchanged = 0;
    std::vector<Skipped> skipped;  // sources that could not be read; what was found in them before stays
};

/// Makes the index anew. Throws Error for a folder that holds something else.
IndexReport build_index(const std::filesystem::path& folder, const IndexPlaces& places);

/// Reads what is new or changed by size, time and digest, and takes away what vanished. Builds where there is no index,
/// or one of another version. Throws Error for a damaged index and for a folder that holds something else.
IndexReport refresh_index(const std::filesystem::path& folder, const IndexPlaces& places);

/// Where the documents of the index are. Throws Error that says what to do where there is none or it is damaged.
std::filesystem::path index_database(const std::filesystem::path& folder);

}  // namespace recuda

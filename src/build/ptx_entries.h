// The entry points of a PTX text: names, parameters and what they demand of a launch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/binary.h"

namespace recuda {

struct PtxEntries {
    std::string version;         // ".version": "9.0"
    std::string target;          // ".target": "sm_90a"
    std::vector<Entry> entries;  // in the order of the text
    std::string problem;         // why this is not PTX, "line 3: …"; "" when it is
};

/// Reads headers of entries and the module's directives; bodies are only skipped over.
PtxEntries read_ptx_entries(std::string_view ptx);

}  // namespace recuda

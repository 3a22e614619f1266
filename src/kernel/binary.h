// What a build gives: PTX and cubin of one source for one target, with its entry points and resource usage.
//
// From here on nothing knows the language the kernel was written in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/report.h"

namespace recuda {

/// One parameter of an entry point, as PTX declares it: `.param .u64 .ptr .align 1 name`.
struct Parameter {
    std::string
        type;  // "u64", "f32", "b8" … ; an array parameter ("b8 x[128]", a struct or tensor map) has bytes > its type
    uint32_t bytes = 0;  // size in bytes
    uint32_t align = 0;  // alignment in bytes
    bool operator==(const Parameter&) const = default;
};

struct Resources {
    uint32_t registers = 0;     // a thread; 0 where no cubin was made
    uint32_t spill_bytes = 0;   // stores + loads to local memory that ptxas reports
    uint32_t shared_bytes = 0;  // static shared memory a block
    uint32_t local_bytes = 0;   // stack frame a thread
    uint32_t barriers = 0;
};

struct Entry {
    std::string name;                   // as in PTX
    std::vector<Parameter> parameters;  // in order
    Resources resources;
    uint32_t max_threads = 0;           // product of .maxntid, 0 where not stated
    Dim3 required_threads{0, 0, 0};     // .reqntid, 0 where not stated
    Dim3 cluster{0, 0, 0};              // .reqnctapercluster, 0 where not stated
    uint32_t dynamic_shared_bytes = 0;  // what the compiler wants at launch (Triton); 0: the launch decides
    uint32_t hidden_parameters = 0;     // trailing pointers that the launch fills with null (Triton's scratch)
    bool operator==(const Entry& other) const { return name == other.name && parameters == other.parameters; }
};

struct Binary {
    std::string target;  // "sm_90"
    std::string ptx;
    std::string cubin;  // empty where none was made
    std::string file;   // base name of the source: what reports call `file`
    std::vector<Entry> entries;
    std::string log;  // the compilers' words, bounded

    /// The entry of that name, or null.
    const Entry* find(std::string_view entry) const;
};

}  // namespace recuda

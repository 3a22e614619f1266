// What a device's check says of a fault in a kernel: the contract's report of the virtual GPU.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace recuda {

enum class Check {
    out_of_bounds,
    misaligned,
    uninitialised,
    shared_race,
    global_race,
    divergent_barrier,
    absent_lane,
    deadlock,
    runaway,
    illegal_instruction,
};

std::string_view name(Check check);

struct Dim3 {
    uint32_t x = 1, y = 1, z = 1;
    uint64_t volume() const { return uint64_t{x} * y * z; }
    bool operator==(const Dim3&) const = default;
};

/// The second access of a race, or the place where others wait.
struct OtherAccess {
    uint32_t line = 0;
    Dim3 block{0, 0, 0}, thread{0, 0, 0};
};

/// One report stands for all faults of one check at one line; the fields describe the first, `count` how many fired.
struct Report {
    Check check = Check::out_of_bounds;
    std::string message;  // one sentence for a person
    std::string file;     // base name of the source file as the user wrote it
    uint32_t line = 0;    // outermost inlined frame in that file, 1-based; of a .ptx its own line
    std::string kernel;   // entry name
    Dim3 block{0, 0, 0}, thread{0, 0, 0};
    std::string buffer;  // buffer or shared variable name; "shared" or "local" where unknown; "" where none applies
    int64_t byte_offset = 0;  // from the buffer's first byte; may be negative
    uint32_t bytes = 0;       // size of the access
    std::optional<OtherAccess> other;
    uint64_t count = 1;
};

nlohmann::json to_json(const Report& report);
Report report_from_json(const nlohmann::json& json);

}  // namespace recuda

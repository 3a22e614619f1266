// Where faults of a launch gather: one report for each (check, line), the first by block and thread, and how many there
// were.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/vgpu/machine.h"
#include "kernel/report.h"

namespace recuda::vgpu {

/// What a check says of an access; place, block and thread are added where it is raised.
struct Fault {
    Check check = Check::out_of_bounds;
    std::string message;
    std::string buffer;
    int64_t byte_offset = 0;
    uint32_t bytes = 0;
    std::optional<OtherAccess> other;
    std::optional<uint64_t> block;  // the thread's, where it is not of the block that raises this
};

class FaultLog {
 public:
    /// Adds a report or counts it with the one of its check and line. The lowest (block, thread) order is shown.
    void add(const Report& report, uint64_t block, uint32_t thread);
    void merge(const FaultLog& other);
    /// Leaves out what a race explains: reads of bytes that the other one was to write before, and loops that wait for
    /// blocks which a fault has stopped.
    void drop_followers();
    std::vector<Report> reports() const;
    bool empty() const { return entries_.empty(); }

 private:
    struct Entry {
        Report report;
        uint64_t block;
        uint32_t thread;
    };
    std::vector<Entry> entries_;
};

/// A C++ variable's name out of its mangled one where that is simple: `_ZZ3rmsE7partial` gives `partial`.
std::string plain_name(std::string_view mangled);

}  // namespace recuda::vgpu

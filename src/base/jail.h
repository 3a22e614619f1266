// The jail of processes that run untrusted text: what they may read and write, how much they may use, and which system
// calls are left.
//
// A candidate can name any file in an #include, and a Triton file is Python that runs while it is compiled. So the
// process that compiles gives its rights away first: Landlock (Linux 5.13) leaves the files below some folders, and
// where the kernel knows how also neither TCP nor signals to the outside; seccomp takes sockets, signals to others,
// debugging and namespaces; limits bound memory, files and core dumps. Nothing of it needs root. What the kernel lacks
// is left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace recuda {

struct Jail {
    std::vector<std::string> readable;  // folders and files that may be read and, below `executable`, run
    std::vector<std::string> writable;  // folders and files that may be read and written
    bool executable = false;            // programs in readable folders may be started
    uint64_t memory_bytes = uint64_t{8} << 30;
    uint64_t file_bytes = uint64_t{1} << 28;  // the largest file that may be written
};

/// What the kernel gave.
struct JailStrength {
    int landlock = 0;  // ABI version, 0: none
    bool seccomp = false;
};

/// Locks this process and its children in, for good. Throws Error when the kernel refuses what it says it can do.
JailStrength enter_jail(const Jail& jail);

/// The soft limit on CPU time: the process is killed (SIGXCPU) when it uses `seconds` more than it has used by now.
void limit_cpu(double seconds);

}  // namespace recuda

// Headers of the C and C++ standard libraries that kernels include by habit. nvcc takes them from the host; NVRTC has
// no host, so it gets these: what of them means anything on a device and that NVRTC does not know by itself.
#pragma once

#include <span>

namespace recuda {

struct StandardHeader {
    const char *name, *text;
};

/// All of them, by the names that #include gives them. They include each other and libcu++'s.
std::span<const StandardHeader> standard_headers();

}  // namespace recuda

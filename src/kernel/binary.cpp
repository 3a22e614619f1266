#include "kernel/binary.h"

namespace recuda {

const Entry* Binary::find(std::string_view entry) const {
    for (const Entry& one : entries)
        if (one.name == entry) return &one;
    return nullptr;
}

}  // namespace recuda

// The libFuzzer program around try_parser (targets.h).
#include <cstddef>
#include <cstdint>

#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    recuda::fuzz::try_parser({reinterpret_cast<const char*>(data), size});
    return 0;
}

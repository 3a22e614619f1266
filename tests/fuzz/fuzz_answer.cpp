// The libFuzzer program around try_answer (targets.h).
#include <cstddef>
#include <cstdint>

#include "targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    recuda::fuzz::try_answer({reinterpret_cast<const char*>(data), size});
    return 0;
}

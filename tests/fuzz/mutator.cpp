// libFuzzer's hook: half of the changes follow the structure of PTX (mutate.h), the others are libFuzzer's own, with
// its dictionary. The tail behind a NUL byte is changed now and then, by libFuzzer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "mutate.h"
#include "targets.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

size_t put(const std::string& result, uint8_t* data, size_t max_size) {
    const size_t size = std::min(result.size(), max_size);
    std::memcpy(data, result.data(), size);
    return size;
}

size_t change_tail(std::string_view text, std::string tail, uint8_t* data, size_t max_size) {
    constexpr size_t kMaxTail = 64;
    if (text.size() + 2 + kMaxTail > max_size) return LLVMFuzzerMutate(data, text.size(), max_size);
    size_t size = std::min(tail.size(), kMaxTail);
    tail.resize(kMaxTail);
    size = LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(tail.data()), size, kMaxTail);
    tail.resize(size);
    std::replace(tail.begin(), tail.end(), '\0', '\1');
    return put(std::string(text) + '\0' + tail, data, max_size);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
    const std::string input(reinterpret_cast<const char*>(data), size);
    const std::string text(recuda::fuzz::text_of(input));
    const std::string tail = input.substr(text.size());
    if (seed % 8 == 0) return change_tail(text, tail.empty() ? tail : tail.substr(1), data, max_size);
    if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
    return put(recuda::fuzz::mutate(text, text, seed, max_size - std::min(max_size, tail.size())) + tail, data,
               max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second,
                                            size_t second_size, uint8_t* out, size_t max_size, unsigned seed) {
    const std::string_view a = recuda::fuzz::text_of({reinterpret_cast<const char*>(first), first_size});
    const std::string_view b = recuda::fuzz::text_of({reinterpret_cast<const char*>(second), second_size});
    return put(recuda::fuzz::mutate(a, b, seed, max_size), out, max_size);
}

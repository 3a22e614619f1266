// Text that is kept as its beginning and its end while it is written, however much that is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace recuda {

class CutText {
 public:
    explicit CutText(uint64_t limit_bytes) : head_limit_(limit_bytes * 2 / 3), tail_limit_(limit_bytes - head_limit_) {}

    void append(std::string_view text);
    /// Valid UTF-8; where something was left out, a line between says how many bytes.
    std::string text() const;

 private:
    uint64_t head_limit_, tail_limit_, size_ = 0;
    std::string head_, tail_;  // tail_ holds up to twice its limit, so that it is cut seldom
};

}  // namespace recuda

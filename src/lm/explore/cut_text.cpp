#include "lm/explore/cut_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace recuda {

void CutText::append(std::string_view text) {
    size_ += text.size();
    const size_t to_head = std::min<size_t>(text.size(), head_limit_ - head_.size());
    head_.append(text.substr(0, to_head));
    text.remove_prefix(to_head);
    if (text.size() >= tail_limit_) {
        tail_.assign(text.substr(text.size() - tail_limit_));
        return;
    }
    tail_.append(text);
    if (tail_.size() > 2 * tail_limit_) tail_.erase(0, tail_.size() - tail_limit_);
}

std::string CutText::text() const {
    const std::string_view tail =
        std::string_view(tail_).substr(tail_.size() - std::min<size_t>(tail_.size(), tail_limit_));
    const uint64_t left_out = size_ - head_.size() - tail.size();
    if (left_out == 0) return valid_utf8(head_ + std::string(tail));
    return fmt::format("{}\n[… {} bytes left out …]\n{}", valid_utf8(head_), left_out, valid_utf8(tail));
}

}  // namespace recuda

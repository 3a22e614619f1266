// Lines as they are kept for a digest: blanks at their ends and empty ones are gone, but for what must stay as it is.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace recuda {

class StrippedLines {
 public:
    /// Text without line breaks whose blanks may go where the line ends behind them.
    void add(std::string_view text) { line_ += text; }

    /// Text that stays whatever stands around it, line breaks too.
    void add_fixed(std::string_view text) {
        line_ += text;
        fixed_ = line_.size();
    }

    bool is_blank() const { return fixed_ == 0 && line_.find_first_not_of(" \t\r") == std::string::npos; }

    bool ends_in_blank() const { return line_.empty() || line_.find_last_of(" \t\r\n") == line_.size() - 1; }

    bool ends_in(char c) const { return !line_.empty() && line_.back() == c; }

    void end_line() {
        if (!is_blank()) {
            const size_t last = line_.find_last_not_of(" \t\r");
            kept_ += line_.substr(0, std::max(fixed_, last == std::string::npos ? 0 : last + 1));
            kept_ += '\n';
        }
        line_.clear();
        fixed_ = 0;
    }

    std::string take() {
        end_line();
        return std::move(kept_);
    }

 private:
    std::string kept_, line_;
    size_t fixed_ = 0;  // so much of the line stays
};

}  // namespace recuda

// Names of one function's nested scopes, made unique.
//
// Names of the outermost scope stay as they are; those of a nested one get the scope's number. Registers and variables
// are declared before their use, so they are renamed while reading; a label may follow its use, so labels are renamed
// at the end.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace recuda::vgpu::ptx {

class Scopes {
 public:
    /// Unique names are kept in `names`.
    explicit Scopes(std::deque<std::string>& names) : names_(names), scopes_(1) {}

    void open();
    void close();
    uint32_t depth() const { return depth_; }
    uint32_t current() const { return current_; }

    /// Whether the present scope has a register or variable of that name, a range of that prefix, or a label.
    bool declares_here(std::string_view name) const;
    bool declares_range_here(std::string_view prefix) const;
    bool declares_label_here(std::string_view name) const;

    /// Declares and gives the unique name: of a register or variable, of a range (its unique prefix), of a label.
    std::string_view declare(std::string_view name);
    std::string_view declare_range(std::string_view prefix, uint32_t count);
    std::string_view declare_label(std::string_view name);

    /// The unique name of a register or variable, with what follows a '.' kept; the same text where no nested scope
    /// declares it.
    std::string_view resolve(std::string_view name);

    /// The unique name of a label used in `scope`; the same text where no nested scope has it. Only after the whole
    /// body.
    std::string_view resolve_label(std::string_view name, uint32_t scope);

 private:
    struct Scope {
        uint32_t parent = 0;
        std::unordered_set<std::string_view> names;
        std::unordered_map<std::string_view, uint32_t> ranges;  // counts; `a` and `a<2>` may stand side by side
        std::unordered_set<std::string_view> labels;
    };

    std::string_view range_of(const Scope& scope, std::string_view name) const;
    std::string_view keep(std::string name);

    std::deque<std::string>& names_;
    std::vector<Scope> scopes_;  // all that were opened; 0 is the body
    uint32_t current_ = 0, depth_ = 0;
};

}  // namespace recuda::vgpu::ptx

// Which line of the user's file an instruction of PTX belongs to, from the `.loc` before it.
//
// Two compilers, two habits. NVRTC writes `.loc 1 5 5, function_name …, inlined_at 1 9 5`: the call site 1 9 5 may
// itself have been given by an earlier `.loc 1 9 5, …, inlined_at 1 29 5`, whose outermost frame is 1 29 5. LLVM
// (Triton) writes no inlined_at but the whole chain in a comment: `.loc 2 170 27 // standard.py:170:27 @[ t.py:20:14
// ]`. In both the frame wanted is the outermost one that lies in the user's file. Files are numbered at the end of the
// text, so lines are resolved last.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

namespace recuda {

class SourceLines {
 public:
    using Position = std::tuple<uint32_t, uint32_t, uint32_t>;  // file, line, column

    /// Forgets call sites: a new function of this name begins.
    void begin_function(std::string_view name = {});

    /// A `.loc`: its position, the call site that it is inlined at or null, and the rest of its line, where a comment
    /// may name the callers; `function` is whatever names the inlined function. The frame is `current` from now on. The
    /// texts must outlive this.
    void locate(const Position& here, const Position* inlined_at, std::string_view rest_of_line,
                std::string_view function = {});

    /// Key of the present frame for the questions below; 0 for none.
    uint32_t current() const { return current_; }

    /// Finds the line of every frame; call once, when all `.file` directives (index → path) are known. `source_name` is
    /// the base name of the user's file; where no file has that name, the first is it.
    void resolve(const std::map<uint32_t, std::string_view>& files, std::string_view source_name);

    /// The line in the user's file, 0 where no frame lies in it.
    uint32_t line(uint32_t frame) const { return frames_[frame].source_line; }
    /// The user's file by its path; "" where `line` is 0.
    std::string_view file(uint32_t frame) const;
    /// How many frames of other files lie within the innermost one of the user's file: 0 for its own text, 1 for the
    /// body of a header's function that it calls.
    uint32_t depth_outside(uint32_t frame) const { return frames_[frame].depth_outside; }
    /// What names the functions of those frames, innermost first, "" where nothing does; where none of them lies in the
    /// user's file the last is the name of the function that is not inlined.
    std::vector<std::string_view> functions_outside(uint32_t frame) const;

 private:
    struct Frame {
        uint32_t file = 0;  // 0: named by `file_name`, from a comment
        std::string_view file_name;
        uint32_t line = 0;
        uint32_t caller = 0;  // frame, 0 for none; always smaller than the frame's own
        uint32_t source_line = 0, depth_outside = 0;
        std::string_view function, outermost;  // what names its own, and the one that is not inlined
    };

    uint32_t add(uint32_t file, std::string_view file_name, uint32_t line, uint32_t caller);
    uint32_t chain_of_comment(std::string_view comment);

    std::vector<Frame> frames_{1};
    std::map<Position, uint32_t> sites_;  // of this function: the frame last given for a position
    uint32_t current_ = 0;
    std::string_view outermost_;
    std::string_view user_path_;
};

}  // namespace recuda

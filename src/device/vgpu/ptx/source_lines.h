// Which line of the user's file a statement belongs to.
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

#include "device/vgpu/ptx/ptx.h"

namespace recuda::vgpu::ptx {

class Cursor;

class SourceLines {
 public:
    /// Forgets call sites: a new function begins.
    void begin_function();

    /// Reads what follows `.loc`. The frame it names is `current` from now on.
    void read_loc(Cursor& cursor);

    /// Key of the present frame for `resolve`; 0 for none.
    uint32_t current() const { return current_; }

    /// Finds the line of every frame; call once, when all of `module.files` is known.
    void resolve(const Module& module, std::string_view source_name);

    void apply(uint32_t frame, Place& place) const;

 private:
    struct Frame {
        uint32_t file = 0;  // 0: named by `file_name`, from a comment
        std::string_view file_name;
        uint32_t line = 0;
        uint32_t caller = 0;  // frame, 0 for none; always smaller than the frame's own
        uint32_t source_line = 0;
        std::string_view source_file;
    };
    using Position = std::tuple<uint32_t, uint32_t, uint32_t>;  // file, line, column

    uint32_t add(uint32_t file, std::string_view file_name, uint32_t line, uint32_t caller);
    uint32_t chain_of_comment(std::string_view comment);

    std::vector<Frame> frames_{1};
    std::map<Position, uint32_t> sites_;  // of this function: the frame last given for a position
    uint32_t current_ = 0;
};

}  // namespace recuda::vgpu::ptx

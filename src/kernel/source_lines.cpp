#include "kernel/source_lines.h"

#include <charconv>

namespace recuda {
namespace {

std::string_view base_name(std::string_view path) {
    const size_t slash = path.find_last_of("/\\");
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Takes ":number" off the end of `text`; false where none is there.
bool take_number(std::string_view& text, uint32_t& value) {
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return false;
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data() + colon + 1, end, value);
    if (result.ec != std::errc() || result.ptr != end) return false;
    text = text.substr(0, colon);
    return true;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == ']' || text.back() == '\r')) {
        text.remove_suffix(1);
    }
    return text;
}

}  // namespace

void SourceLines::begin_function(std::string_view name) {
    outermost_ = name;
    sites_.clear();
    current_ = 0;
}

uint32_t SourceLines::add(uint32_t file, std::string_view file_name, uint32_t line, uint32_t caller) {
    frames_.push_back({file, file_name, line, caller, 0, 0, {}, outermost_});
    return static_cast<uint32_t>(frames_.size() - 1);
}

void SourceLines::locate(const Position& here, const Position* inlined_at, std::string_view rest_of_line,
                         std::string_view function) {
    uint32_t caller = 0;
    if (inlined_at != nullptr) {
        uint32_t& frame = sites_[*inlined_at];
        if (frame == 0) frame = add(std::get<0>(*inlined_at), {}, std::get<1>(*inlined_at), 0);
        caller = frame;
    } else if (const size_t comment = rest_of_line.find("// "); comment != std::string_view::npos) {
        caller = chain_of_comment(rest_of_line.substr(comment + 3));
    }
    // Line 0 marks what a compiler cannot place: it stays with the line before.
    if (caller == 0 && std::get<1>(here) == 0 && current_ != 0) return;
    current_ = add(std::get<0>(here), {}, std::get<1>(here), caller);
    frames_[current_].function = function;
    sites_[here] = current_;
}

// Frames of "own:1:2 @[ caller:3:4 @[ outermost:5:6 ] ]" without the first, outermost first; the caller's frame or 0.
uint32_t SourceLines::chain_of_comment(std::string_view comment) {
    uint32_t caller = 0;
    for (size_t mark = comment.rfind("@["); mark != std::string_view::npos; mark = comment.rfind("@[")) {
        std::string_view site = trimmed(comment.substr(mark + 2));
        uint32_t line = 0, column = 0;
        if (!take_number(site, column) || !take_number(site, line)) return 0;
        caller = add(0, site, line, caller);
        comment = comment.substr(0, mark);
    }
    return caller;
}

void SourceLines::resolve(const std::map<uint32_t, std::string_view>& files, std::string_view source_name) {
    uint32_t user = 1;
    for (const auto& [index, path] : files) {
        if (!source_name.empty() && base_name(path) == base_name(source_name)) {
            user = index;
            break;
        }
    }
    const auto file = files.find(user);
    user_path_ = file == files.end() ? std::string_view() : file->second;
    for (size_t i = 1; i < frames_.size(); ++i) {
        Frame& frame = frames_[i];
        const Frame& caller = frames_[frame.caller];
        const bool in_user_file =
            frame.file == 0 ? base_name(frame.file_name) == base_name(user_path_) : frame.file == user;
        frame.depth_outside = in_user_file ? 0 : caller.depth_outside + 1;
        if (caller.source_line != 0) {
            frame.source_line = caller.source_line;
        } else if (in_user_file) {
            frame.source_line = frame.line;
        }
    }
}

std::vector<std::string_view> SourceLines::functions_outside(uint32_t frame) const {
    std::vector<std::string_view> functions;
    for (; frame != 0 && frames_[frame].depth_outside > 0; frame = frames_[frame].caller) {
        const Frame& one = frames_[frame];
        functions.push_back(one.caller == 0 && one.function.empty() ? one.outermost : one.function);
    }
    return functions;
}

std::string_view SourceLines::file(uint32_t frame) const {
    return frames_[frame].source_line == 0 ? std::string_view() : user_path_;
}

}  // namespace recuda

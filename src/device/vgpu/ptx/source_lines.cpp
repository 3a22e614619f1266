#include "device/vgpu/ptx/source_lines.h"

#include <optional>

#include "device/vgpu/ptx/cursor.h"

namespace recuda::vgpu::ptx {
namespace {

constexpr size_t kMaxComment = 8192;  // characters, so that a hostile line of many .loc costs no more than its length

}  // namespace

void read_loc(Cursor& cursor, SourceLines& lines) {
    const auto number = [&](std::string_view what) { return static_cast<uint32_t>(cursor.integer(what)); };
    const auto position = [&] {
        const uint32_t file = number("a file's number"), line = number("a line"), column = number("a column");
        return SourceLines::Position{file, line, column};
    };
    const SourceLines::Position here = position();
    const std::string_view rest = cursor.rest_of_line(kMaxComment);
    std::optional<SourceLines::Position> site;
    while (cursor.accept(',')) {
        const std::string_view attribute = cursor.word("function_name or inlined_at");
        if (attribute == "function_name") {
            cursor.word("a label");
            if (cursor.accept('+')) cursor.integer("an offset");
        } else if (attribute == "inlined_at") {
            site = position();
        } else {
            cursor.fail("'{}' after .loc", attribute);
        }
    }
    lines.locate(here, site ? &*site : nullptr, rest);
}

}  // namespace recuda::vgpu::ptx

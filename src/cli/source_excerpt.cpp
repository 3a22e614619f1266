#include "cli/source_excerpt.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "kernel/report.h"

namespace recuda {
namespace {

std::string line_text(const std::vector<std::string_view>& lines, uint32_t line) {
    if (line == 0 || line > lines.size()) return "";
    return fmt::format("{:>6} | {}\n", line, valid_utf8(lines[line - 1].substr(0, 200)));
}

std::string triple(const Dim3& dim) { return fmt::format("({},{},{})", dim.x, dim.y, dim.z); }

}  // namespace

std::string shown(const Report& report, std::string_view source) {
    const std::vector<std::string_view> lines = split_lines(source);
    std::string text = fmt::format("{}:{}: {}: {}\n", report.file, report.line, name(report.check), report.message);
    text += fmt::format("  in {} by thread {} of block {}{}\n", report.kernel, triple(report.thread),
                        triple(report.block), report.count > 1 ? fmt::format("; {} times in all", report.count) : "");
    text += line_text(lines, report.line);
    if (report.other) {
        text += fmt::format("  the other access: thread {} of block {}\n", triple(report.other->thread),
                            triple(report.other->block));
        text += line_text(lines, report.other->line);
    }
    return text;
}

}  // namespace recuda

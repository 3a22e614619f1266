#include "cli/source_excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "device/counters.h"
#include "kernel/report.h"

namespace recuda {
namespace {

constexpr size_t kHotLines = 6;

std::string line_text(const std::vector<std::string_view>& lines, uint32_t line) {
    if (line == 0 || line > lines.size()) return "";
    return fmt::format("{:>6} | {}\n", line, valid_utf8(lines[line - 1].substr(0, 200)));
}

std::string triple(const Dim3& dim) { return fmt::format("({},{},{})", dim.x, dim.y, dim.z); }

double each(uint64_t sum, uint64_t count) {
    return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
}

std::string traffic(const char* name, const Traffic& traffic) {
    if (traffic.requests == 0) return "";
    return fmt::format("  {}: {} bytes in {} requests, {:.1f} sectors of 32 bytes a request\n", name, traffic.bytes,
                       traffic.requests, each(traffic.sectors, traffic.requests));
}

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

std::string shown(const Counters& counters, std::string_view source) {
    std::string text = fmt::format("  {} blocks, {} threads, {} thread instructions ({:.1f} of 32 lanes active)\n",
                                   counters.blocks, counters.threads, counters.thread_instructions,
                                   each(counters.thread_instructions, counters.warp_instructions));
    text += traffic("global reads", counters.global_read) + traffic("global writes", counters.global_write) +
            traffic("local memory", counters.local);
    if (counters.shared_requests > 0)
        text += fmt::format("  shared memory: {} requests, {:.2f} wavefronts each (1 is free of bank conflicts)\n",
                            counters.shared_requests, each(counters.shared_wavefronts, counters.shared_requests));
    using Line = std::pair<uint32_t, LineCounters>;
    std::vector<Line> hot(counters.lines.begin(), counters.lines.end());
    std::sort(hot.begin(), hot.end(),
              [](const Line& a, const Line& b) { return a.second.thread_instructions > b.second.thread_instructions; });
    if (hot.size() > kHotLines) hot.resize(kHotLines);
    if (!hot.empty()) text += "  hot lines (share of thread instructions; bytes read, written; sectors a request):\n";
    const std::vector<std::string_view> lines = split_lines(source);
    for (const auto& [line, counted] : hot) {
        const Traffic &read = counted.global_read, &write = counted.global_write;
        text += fmt::format("  {:4.1f} %  {:>9} {:>9} {:4.1f} {}",
                            100 * each(counted.thread_instructions, counters.thread_instructions), read.bytes,
                            write.bytes, each(read.sectors + write.sectors, read.requests + write.requests),
                            line == 0 ? std::string("\n") : line_text(lines, line));
    }
    return text;
}

}  // namespace recuda

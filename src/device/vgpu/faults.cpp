#include "device/vgpu/faults.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include "base/text.h"

namespace recuda::vgpu {
namespace {

std::pair<uint32_t, uint32_t> lines(const Report& report) {
    return {report.line, report.other ? report.other->line : 0};
}

}  // namespace

void FaultLog::add(const Report& report, uint64_t block, uint32_t thread) {
    for (Entry& entry : entries_) {
        if (entry.report.check != report.check || entry.report.line != report.line) continue;
        const uint64_t count = entry.report.count + report.count;
        if (std::tuple(block, thread, lines(report)) < std::tuple(entry.block, entry.thread, lines(entry.report)))
            entry = {report, block, thread};
        entry.report.count = count;
        return;
    }
    entries_.push_back({report, block, thread});
}

void FaultLog::merge(const FaultLog& other) {
    for (const Entry& entry : other.entries_) add(entry.report, entry.block, entry.thread);
}

void FaultLog::drop_followers() {
    const auto races_at = [&](const Report& report) {
        return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
            const Report& race = entry.report;
            return race.check == Check::global_race && race.buffer == report.buffer &&
                   (race.line == report.line || (race.other && race.other->line == report.line));
        });
    };
    const bool runs_away = std::any_of(entries_.begin(), entries_.end(),
                                       [](const Entry& entry) { return entry.report.check != Check::runaway; });
    std::erase_if(entries_, [&](const Entry& entry) {
        return (entry.report.check == Check::uninitialised && races_at(entry.report)) ||
               (entry.report.check == Check::runaway && runs_away);
    });
}

std::vector<Report> FaultLog::reports() const {
    std::vector<Entry> sorted = entries_;
    std::sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) {
        return std::tuple(a.block, a.thread, a.report.line, a.report.check) <
               std::tuple(b.block, b.thread, b.report.line, b.report.check);
    });
    std::vector<Report> reports;
    for (const Entry& entry : sorted) reports.push_back(entry.report);
    return reports;
}

std::string plain_name(std::string_view mangled) {
    // `_ZZ` function `E` name, `_ZN` names `E`, `_ZL` name: the last <length><name> is the variable. `_0` and the like
    // may follow.
    if (!mangled.starts_with("_Z")) return one_line(mangled);
    std::string_view last;
    for (size_t at = 2; at < mangled.size();) {
        if (!std::isdigit(static_cast<unsigned char>(mangled[at]))) {
            ++at;
            continue;
        }
        const bool literal = mangled[at - 2] == 'L' && mangled[at - 1] != '_';  // `Li256E`, a template argument
        size_t length = 0;
        while (at < mangled.size() && std::isdigit(static_cast<unsigned char>(mangled[at])) && length < mangled.size())
            length = length * 10 + (mangled[at++] - '0');
        if (literal || length == 0 || length > mangled.size() - at) continue;
        last = mangled.substr(at, length);
        at += length;
    }
    return one_line(last.empty() ? mangled : last);
}

}  // namespace recuda::vgpu

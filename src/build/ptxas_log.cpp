#include "build/ptxas_log.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace recuda {
namespace {

/// The number before `unit`: "27" of "Used 27 registers, used 1 barriers" for "registers".
uint32_t number_before(std::string_view line, std::string_view unit) {
    const size_t at = line.find(unit);
    if (at == std::string_view::npos || at < 2) return 0;
    const size_t end = at - 1;
    const size_t space = line.find_last_of(" ,:", end - 1);
    uint32_t value = 0;
    const size_t first = space == std::string_view::npos ? 0 : space + 1;
    std::from_chars(line.data() + first, line.data() + end, value);
    return value;
}

std::string_view quoted(std::string_view line) {
    const size_t open = line.find('\'');
    const size_t close = line.find('\'', open + 1);
    return close == std::string_view::npos ? std::string_view() : line.substr(open + 1, close - open - 1);
}

bool is_resource_line(std::string_view line) {
    return line.starts_with("ptxas info") || line.starts_with("ptxas         .");
}

}  // namespace

void read_resources(std::string_view log, std::span<Entry> entries) {
    Resources* resources = nullptr;
    bool of_entry = false;  // functions that an entry calls have property lines of their own
    for (std::string_view line : split_lines(log)) {
        if (!is_resource_line(line)) continue;
        if (line.find("Compiling entry function") != std::string_view::npos) {
            const auto entry = std::ranges::find(entries, quoted(line), &Entry::name);
            resources = entry == entries.end() ? nullptr : &entry->resources;
        } else if (const size_t of = line.find("Function properties for "); of != std::string_view::npos) {
            const std::string_view name =
                trimmed(line.substr(of + std::string_view("Function properties for ").size()));
            of_entry = std::ranges::find(entries, name, &Entry::name) != entries.end();
        } else if (resources != nullptr && of_entry && line.find("stack frame") != std::string_view::npos) {
            resources->local_bytes = number_before(line, "bytes stack frame");
            resources->spill_bytes =
                number_before(line, "bytes spill stores") + number_before(line, "bytes spill loads");
        } else if (resources != nullptr && line.find("Used ") != std::string_view::npos) {
            resources->registers = number_before(line, "registers");
            resources->barriers = number_before(line, "barriers");
            resources->shared_bytes = number_before(line, "bytes smem");
        }
    }
}

std::string without_resources(std::string_view log) {
    std::string kept;
    for (std::string_view line : split_lines(log))
        if (!is_resource_line(line)) kept.append(line).push_back('\n');
    return std::string(trimmed(kept));
}

}  // namespace recuda

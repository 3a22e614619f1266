#include "kernel/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace recuda {
namespace {

constexpr size_t kMostLines = 16;

void add_lines(std::vector<uint32_t>& lines, const std::vector<uint32_t>& more) {
    lines.insert(lines.end(), more.begin(), more.end());
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    lines.resize(std::min(lines.size(), kMostLines));
}

Json widths(const std::map<uint32_t, uint64_t>& counts) {
    Json json = Json::object();
    for (const auto& [bytes, count] : counts) json[std::to_string(bytes)] = count;
    return json;
}

std::map<uint32_t, uint64_t> widths(const Json& json) {
    std::map<uint32_t, uint64_t> counts;
    for (const auto& [key, count] : json.items()) {
        uint32_t bytes = 0;
        if (std::from_chars(key.data(), key.data() + key.size(), bytes).ec != std::errc())
            throw Error("{} is no width of an access", key);
        counts[bytes] = count.get<uint64_t>();
    }
    return counts;
}

Json to_json(const SassFacts& sass) {
    return {{"tool", json_text(sass.tool)},
            {"problem", json_text(sass.problem)},
            {"instructions", sass.instructions},
            {"tensor_cores", sass.tensor_cores},
            {"global_loads", widths(sass.global_loads)},
            {"global_stores", widths(sass.global_stores)},
            {"local_loads", sass.local_loads},
            {"local_stores", sass.local_stores},
            {"clock_reads", sass.clock_reads}};
}

SassFacts sass_from_json(const Json& json) {
    SassFacts sass;
    json.at("tool").get_to(sass.tool);
    json.at("problem").get_to(sass.problem);
    json.at("instructions").get_to(sass.instructions);
    json.at("tensor_cores").get_to(sass.tensor_cores);
    sass.global_loads = widths(json.at("global_loads"));
    sass.global_stores = widths(json.at("global_stores"));
    json.at("local_loads").get_to(sass.local_loads);
    json.at("local_stores").get_to(sass.local_stores);
    json.at("clock_reads").get_to(sass.clock_reads);
    return sass;
}

/// What a person is told of a kind; "" where it is not worth a word. Widths are told apart.
std::string_view words(FactKind kind) {
    switch (kind) {
        case FactKind::tensor_core:
            return "tensor cores";
        case FactKind::half_accumulator:
            return "sums in half precision";
        case FactKind::half_arithmetic:
            return "half-precision arithmetic";
        case FactKind::double_arithmetic:
            return "double-precision arithmetic";
        case FactKind::local_memory:
            return "local memory";
        case FactKind::bulk_copy:
            return "bulk copies";
        case FactKind::float_atomic:
            return "adds floats by atomics";
        case FactKind::clock:
            return "reads the clock";
        case FactKind::global_timer:
            return "reads the global timer";
        case FactKind::grid_id:
            return "reads the launch's number";
        case FactKind::performance_counter:
            return "reads performance counters";
        case FactKind::sm_id:
            return "reads the SM's number";
        case FactKind::l2_residency:
            return "keeps data in the L2";
        case FactKind::cache_policy:
            return "cache policies";
        case FactKind::volatile_access:
            return "volatile accesses of global memory";
        case FactKind::system_scope:
            return "system scope";
        case FactKind::print:
            return "prints";
        default:
            return "";
    }
}

/// "16 bytes" → 16
unsigned long width_of(const Fact& fact) { return std::strtoul(fact.what.c_str(), nullptr, 10); }

std::string at_line(const Fact& fact) {
    return fact.lines.empty() ? "" : fmt::format(" (line {})", fact.lines.front());
}

}  // namespace

void SassFacts::add(const SassFacts& other) {
    if (problem.empty()) problem = other.problem;
    instructions += other.instructions;
    for (const auto& [opcode, count] : other.tensor_cores) tensor_cores[opcode] += count;
    for (const auto& [bytes, count] : other.global_loads) global_loads[bytes] += count;
    for (const auto& [bytes, count] : other.global_stores) global_stores[bytes] += count;
    local_loads += other.local_loads;
    local_stores += other.local_stores;
    clock_reads += other.clock_reads;
}

const Fact* Facts::find(FactKind kind) const {
    const auto found = std::find_if(ptx.begin(), ptx.end(), [&](const Fact& fact) { return fact.kind == kind; });
    return found == ptx.end() ? nullptr : &*found;
}

void Facts::add(const Facts& other) {
    for (const Fact& fact : other.ptx) {
        const auto same = std::find_if(ptx.begin(), ptx.end(), [&](const Fact& one) {
            return one.kind == fact.kind && one.what == fact.what && one.own == fact.own;
        });
        if (same == ptx.end()) {
            ptx.push_back(fact);
            add_lines(ptx.back().lines, {});
            continue;
        }
        same->count = std::max(same->count, fact.count);
        add_lines(same->lines, fact.lines);
    }
    std::stable_sort(ptx.begin(), ptx.end(), [](const Fact& a, const Fact& b) { return a.kind < b.kind; });
    if (!sass) sass = other.sass;
}

std::string shown(const Facts& facts) {
    std::vector<std::string> parts;
    for (const Fact& fact : facts.ptx) {
        const std::string_view said = words(fact.kind);
        if (said.empty() || !fact.own) continue;
        if (fact.kind == FactKind::tensor_core)
            parts.push_back(fmt::format("{} {}", said, fact.what));
        else if (parts.empty() || !parts.back().starts_with(said))
            parts.push_back(fmt::format("{}{}", said, at_line(fact)));
    }
    const auto widest = [&](FactKind kind, const char* what) {
        const Fact* last = nullptr;
        for (const Fact& fact : facts.ptx)
            if (fact.kind == kind && (last == nullptr || width_of(fact) > width_of(*last))) last = &fact;
        if (last != nullptr) parts.push_back(fmt::format("{} of up to {}", what, last->what));
    };
    widest(FactKind::global_load, "loads");
    widest(FactKind::global_store, "stores");
    if (facts.sass && facts.sass->problem.empty()) {
        parts.push_back(fmt::format("{} machine instructions", facts.sass->instructions));
        if (const uint64_t spills = facts.sass->local_loads + facts.sass->local_stores; spills > 0)
            parts.push_back(fmt::format("{} of them local memory", spills));
    }
    return joined(parts, "; ");
}

Json to_json(const Facts& facts) {
    Json ptx = Json::array();
    for (const Fact& fact : facts.ptx)
        ptx.push_back({{"kind", name(fact.kind)},
                       {"what", json_text(fact.what)},
                       {"count", fact.count},
                       {"lines", fact.lines},
                       {"own", fact.own}});
    return {{"ptx", ptx}, {"sass", facts.sass ? to_json(*facts.sass) : Json(nullptr)}};
}

Facts facts_from_json(const Json& json) {
    Facts facts;
    for (const Json& one : json.at("ptx")) {
        Fact fact{.kind = fact_kind_named(one.at("kind").get<std::string>()), .what = one.at("what")};
        one.at("count").get_to(fact.count);
        one.at("lines").get_to(fact.lines);
        one.at("own").get_to(fact.own);
        facts.ptx.push_back(std::move(fact));
    }
    if (!json.at("sass").is_null()) facts.sass = sass_from_json(json.at("sass"));
    return facts;
}

}  // namespace recuda

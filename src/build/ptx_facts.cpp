#include "build/ptx_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "base/text.h"
#include "build/ptx_instructions.h"
#include "build/timer_reads.h"

namespace recuda {
namespace {

using Parts = std::vector<std::string_view>;
using Tokens = std::vector<PtxToken>;

// The encoded L2 policy "evict last" that tensor copies are given as a number where no createpolicy makes it: the upper
// twelve bits of 0x14F0000000000000, as CUTLASS names it (cute/arch/copy_sm90_desc.hpp, TMA::CacheHintSm90).
constexpr uint64_t kEncodedEvictLast = 0x14f;

bool has(const Parts& parts, std::string_view part) {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
}

bool has_any(const Parts& parts, std::initializer_list<std::string_view> wanted) {
    return std::any_of(wanted.begin(), wanted.end(), [&](std::string_view part) { return has(parts, part); });
}

/// Size of an element in a load or store; 0 for what is no type.
uint32_t bytes_of(std::string_view type) {
    constexpr std::pair<std::string_view, uint32_t> kTypes[] = {
        {"b8", 1},  {"u8", 1},    {"s8", 1},  {"b16", 2}, {"u16", 2}, {"s16", 2},
        {"f16", 2}, {"bf16", 2},  {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4},
        {"b64", 8}, {"f16x2", 4}, {"u64", 8}, {"s64", 8}, {"f64", 8}, {"b128", 16}};
    for (const auto& [name, bytes] : kTypes)
        if (name == type) return bytes;
    return 0;
}

uint32_t access_bytes(const Parts& parts) {
    const uint32_t elements = has(parts, "v8") ? 8 : has(parts, "v4") ? 4 : has(parts, "v2") ? 2 : 1;
    return elements * bytes_of(parts.back());
}

bool is_half(std::string_view type) { return type == "f16" || type == "f16x2" || type == "bf16" || type == "bf16x2"; }
bool is_float(std::string_view type) { return is_half(type) || type == "f32" || type == "f64"; }

/// Types of a matrix instruction in their order: "f32", "bf16", "bf16", "f32".
Parts matrix_types(const Parts& parts) {
    constexpr std::array<std::string_view, 17> kTypes{"f64",  "f32",  "f16",  "bf16", "tf32", "s32",
                                                      "u8",   "s8",   "u4",   "s4",   "b1",   "e4m3",
                                                      "e5m2", "e2m1", "e3m2", "e2m3", "ue8m0"};
    Parts types;
    for (const std::string_view part : parts)
        if (std::find(kTypes.begin(), kTypes.end(), part) != kTypes.end()) types.push_back(part);
    return types;
}

std::string_view shape_of(const Parts& parts) {
    for (const std::string_view part : parts)
        if (part.size() > 3 && part[0] == 'm' && part.find('n') != std::string_view::npos &&
            part.find('k') != std::string_view::npos && part[1] >= '0' && part[1] <= '9')
            return part;
    return "";
}

uint64_t number_of(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    uint64_t value = 0;
    std::from_chars(text.data() + (hexadecimal ? 2 : 0), text.data() + text.size(), value, hexadecimal ? 16 : 10);
    return value;
}

/// One body's instructions turned into facts.
class Reader {
 public:
    Reader(Facts& facts, std::vector<uint32_t>& frames, std::vector<size_t>& seen)
        : facts_(facts), frames_(frames), seen_(seen) {}

    void read(const PtxInstruction& instruction) {
        at_ = &instruction;
        const Parts parts = split(instruction.opcode, '.');
        const std::string_view stem = parts.front();
        if (stem == "mma" || stem == "wmma" || stem == "wgmma" || stem == "tcgen05") matrix(parts);
        if (stem == "add" || stem == "sub" || stem == "mul" || stem == "fma" || stem == "div") arithmetic(parts);
        if (stem == "ld" || stem == "ldu" || stem == "st") access(parts);
        if (stem == "cp") copy(parts);
        if (stem == "atom" || stem == "red" || stem == "multimem") atomic(parts);
        policies(parts);
        single(parts);
        registers();
    }

 private:
    void note(FactKind kind, std::string what) {
        what = one_line(what, 120);
        size_t at = 0;
        while (at < facts_.ptx.size() && (facts_.ptx[at].kind != kind || facts_.ptx[at].what != what)) ++at;
        if (at == facts_.ptx.size()) facts_.ptx.push_back({.kind = kind, .what = std::move(what)});
        ++facts_.ptx[at].count;
        seen_.push_back(at);
        frames_.push_back(at_->frame);
    }

    void matrix(const Parts& parts) {
        if (!has_any(parts, {"mma", "mma_async"}) || has_any(parts, {"load", "store"})) return;
        const Parts types = matrix_types(parts);
        if (types.empty()) return note(FactKind::tensor_core, std::string(at_->opcode));
        const std::string_view sums = types.front(), a = types.size() > 2 ? types[1] : "f16",
                               b = types.size() > 2 ? types[2] : a;
        std::string inputs(a);
        if (a != b) inputs += fmt::format(" and {}", b);
        note(FactKind::tensor_core, fmt::format("{} {} {}, sums in {}", parts.front(), shape_of(parts), inputs, sums));
        if (sums == "f16") note(FactKind::half_accumulator, fmt::format("{} {}", parts.front(), shape_of(parts)));
    }

    /// The first type is that of the result; what else stands there rounds or saturates.
    void arithmetic(const Parts& parts) {
        const auto type = std::find_if(parts.begin(), parts.end(), is_float);
        if (type == parts.end()) return;
        if (is_half(*type)) note(FactKind::half_arithmetic, fmt::format("{} {}", parts.front(), *type));
        if (*type == "f64") note(FactKind::double_arithmetic, fmt::format("{} f64", parts.front()));
    }

    void access(const Parts& parts) {
        if (has(parts, "local")) return note(FactKind::local_memory, parts.front() == "st" ? "store" : "load");
        const bool elsewhere = has_any(
            parts, {"shared", "shared::cta", "shared::cluster", "param", "param::entry", "param::func", "const"});
        if (elsewhere) return;
        const bool global = has(parts, "global");
        note(parts.front() == "st" ? FactKind::global_store : FactKind::global_load,
             fmt::format("{} bytes{}", access_bytes(parts), global ? "" : ", generic address"));
        if (has(parts, "volatile") || has(parts, "mmio")) note(FactKind::volatile_access, std::string(at_->opcode));
    }

    void copy(const Parts& parts) {
        if (has(parts, "prefetch")) return;
        const bool bulk = has(parts, "bulk");
        if (has_any(parts, {"commit_group", "wait_group", "wait_all", "mbarrier"})) return;
        note(bulk ? FactKind::bulk_copy : FactKind::async_copy, std::string(at_->opcode));
        if (parts.size() > 1 && parts[1] == "reduce") atomic(parts);
    }

    void atomic(const Parts& parts) {
        const bool reduces = parts.front() != "multimem" || has_any(parts, {"red", "ld_reduce"});
        if (reduces && has(parts, "add") && is_float(parts.back()))
            note(FactKind::float_atomic, std::string(at_->opcode));
    }

    /// What is said to caches beside the access itself.
    void policies(const Parts& parts) {
        const std::string_view stem = parts.front();
        const bool made_by_hand = has(parts, "L2::cache_hint") && encoded_evict_last();
        if (has(parts, "L2::evict_last") || made_by_hand || (stem == "createpolicy" && has(parts, "cvt")))
            return note(FactKind::l2_residency, std::string(at_->opcode));
        const bool speaks = stem == "createpolicy" || stem == "prefetch" || stem == "prefetchu" || stem == "discard" ||
                            stem == "applypriority" || (stem == "cp" && has(parts, "prefetch"));
        const bool hinted = std::any_of(parts.begin(), parts.end(), [](std::string_view part) {
            return part.starts_with("L1::") || part.starts_with("L2::evict") || part == "L2::cache_hint";
        });
        if (speaks || hinted) note(FactKind::cache_policy, std::string(at_->opcode));
    }

    bool encoded_evict_last() {
        if (at_->operands.empty()) return false;
        const auto& last = at_->operands.back();
        return std::any_of(last.begin(), last.end(), [&](const PtxToken& token) {
            const bool number = token.text[0] >= '0' && token.text[0] <= '9';
            return (number && number_of(token.text) >> 52 == kEncodedEvictLast) ||
                   std::find(evict_last_.begin(), evict_last_.end(), token.text) != evict_last_.end();
        });
    }

    /// Instructions that are a fact by their name alone, and the moves that make a policy.
    void single(const Parts& parts) {
        const std::string_view stem = parts.front();
        constexpr std::pair<std::string_view, FactKind> kNamed[] = {
            {"nanosleep", FactKind::sleep},  {"griddepcontrol", FactKind::dependent_launch},
            {"trap", FactKind::trap},        {"setmaxnreg", FactKind::register_reallocation},
            {"brkpt", FactKind::breakpoint}, {"pmevent", FactKind::performance_counter}};
        for (const auto& [name, kind] : kNamed)
            if (stem == name) note(kind, std::string(at_->opcode));
        const bool fences = stem == "membar" || stem == "fence";
        if ((fences || stem == "ld" || stem == "st" || stem == "atom" || stem == "red") && has(parts, "sys"))
            note(FactKind::system_scope, std::string(at_->opcode));
        if (stem == "call")
            for (const auto& operand : at_->operands)
                for (const PtxToken& token : operand) {
                    if (token.is("vprintf")) note(FactKind::print, "printf");
                    if (token.is("__assertfail")) note(FactKind::trap, "assert");
                }
        if (stem == "mov" && at_->operands.size() == 2 &&
            number_of(at_->operands[1].front().text) >> 52 == kEncodedEvictLast)
            evict_last_.push_back(at_->operands[0].front().text);
    }

    void registers() {
        for (size_t i = 1; i < at_->operands.size(); ++i)
            for (const PtxToken& token : at_->operands[i]) {
                if (!token.text.starts_with('%')) continue;
                const std::string_view name = token.text.substr(1);
                const auto read = [&](FactKind kind) { note(kind, fmt::format("{} {}", at_->opcode, token.text)); };
                if (name == "clock" || name == "clock_hi" || name == "clock64") read(FactKind::clock);
                if (name.starts_with("globaltimer")) read(FactKind::global_timer);
                if (name == "gridid" || name == "current_graph_exec") read(FactKind::grid_id);
                if (name == "smid" || name == "nsmid" || name == "warpid" || name == "nwarpid") read(FactKind::sm_id);
                if (name.size() > 2 && name.starts_with("pm") && name[2] >= '0' && name[2] <= '7')
                    read(FactKind::performance_counter);
            }
    }

    Facts& facts_;
    std::vector<uint32_t>& frames_;  // beside `seen_`, the frame of each
    std::vector<size_t>& seen_;      // facts in the order of the instructions
    const PtxInstruction* at_ = nullptr;
    std::vector<std::string_view> evict_last_;  // registers that hold the encoded policy
};

/// The '{' of the function whose `.entry` or `.func` stands at `at`, or `tokens.size()` where it has no body.
size_t body_of(const Tokens& tokens, size_t at) {
    while (at < tokens.size() && !tokens[at].is(";") && !tokens[at].is("{"))
        at = tokens[at].is("(") ? behind_bracket(tokens, at) : at + 1;
    return at < tokens.size() && tokens[at].is("{") ? at : tokens.size();
}

std::map<uint32_t, std::string_view> files_of(const Tokens& tokens) {
    std::map<uint32_t, std::string_view> files;
    for (size_t i = 0; i + 2 < tokens.size(); ++i)
        if (tokens[i].is(".file") && tokens[i + 2].kind == PtxToken::Kind::string && tokens[i + 2].text.size() >= 2)
            files[static_cast<uint32_t>(number_of(tokens[i + 1].text))] =
                tokens[i + 2].text.substr(1, tokens[i + 2].text.size() - 2);
    return files;
}

bool tells_time(FactKind kind) {
    return kind == FactKind::clock || kind == FactKind::global_timer || kind == FactKind::performance_counter;
}

/// `.func (.param .b32 result) NAME (…)`, `.entry NAME(…)`.
std::string_view name_behind(const Tokens& tokens, size_t at) {
    if (++at < tokens.size() && tokens[at].is("(")) at = behind_bracket(tokens, at);
    return at < tokens.size() ? tokens[at].text : std::string_view();
}

}  // namespace

Facts ptx_facts(std::string_view ptx, std::string_view file) {
    const Tokens tokens = ptx_tokens(ptx);
    Facts facts;
    SourceLines lines;
    std::vector<uint32_t> frames;
    std::vector<size_t> seen;
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (!tokens[i].is(".entry") && !tokens[i].is(".func")) continue;
        const size_t open = body_of(tokens, i);
        if (open == tokens.size()) continue;
        const size_t behind = behind_bracket(tokens, open);
        lines.begin_function(name_behind(tokens, i));
        Reader reader(facts, frames, seen);
        for (const PtxInstruction& instruction : ptx_instructions(tokens, open + 1, behind - 1, ptx, &lines))
            if (!instruction.opcode.empty()) reader.read(instruction);
        i = behind - 1;
    }
    lines.resolve(files_of(tokens), file);
    std::map<std::string_view, std::string> strings;
    const auto is_own = [&](size_t i) {
        if (!tells_time(facts.ptx[seen[i]].kind)) return lines.depth_outside(frames[i]) <= 1;
        if (strings.empty()) strings = debug_strings(tokens);
        std::vector<std::string> functions;
        for (const std::string_view label : lines.functions_outside(frames[i])) {
            const auto found = strings.find(label);
            functions.emplace_back(found == strings.end() ? std::string(label) : found->second);
        }
        return !is_back_off(functions);
    };
    for (Fact& fact : facts.ptx) fact.own = false;
    for (size_t i = 0; i < seen.size(); ++i) facts.ptx[seen[i]].own |= is_own(i);
    for (size_t i = 0; i < seen.size(); ++i) {
        Fact& fact = facts.ptx[seen[i]];
        const uint32_t line = lines.line(frames[i]);
        if (line != 0 && (is_own(i) || !fact.own)) fact.lines.push_back(line);
    }
    Facts sorted;
    sorted.add(facts);
    return sorted;
}

}  // namespace recuda

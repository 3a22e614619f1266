#include "build/ptx_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "build/ptx_instructions.h"

namespace recuda {
namespace {

using Tokens = std::span<const PtxToken>;
using Names = std::set<std::string_view>;

/// The device runtime's functions; those of cooperative groups (cudaCG…) launch nothing.
bool is_launch_function(std::string_view name) {
    return (name.starts_with("cuda") && !name.starts_with("cudaCG")) || name.starts_with("__cudaCDP");
}

/// Names that compilers give to texts: NVRTC's for printf, __func__ and assert, Triton's for its printf and assert.
bool is_compiler_text(std::string_view name) {
    return name.starts_with("$str") || name.starts_with("__unnamed") || name.starts_with("__func__") ||
           name.starts_with("__FUNCTION__") || name.starts_with("__PRETTY_FUNCTION__") ||
           name.find("__func__") != std::string_view::npos || name.starts_with("assertFunc_") ||
           name.starts_with("assertFile_") || name.starts_with("assertMessage_") || name.starts_with("printfFormat_");
}

/// Where addresses of global variables go in one module.
class Flow {
 public:
    void declare(std::string_view name) { globals_.insert(name); }
    void refer(std::string_view from, std::string_view to) { refers_[from].insert(to); }

    bool empty() const { return globals_.empty(); }
    bool knows(std::string_view name) const { return globals_.contains(name); }

    /// Follows a function's instructions until nothing new is learned. Returns the first offence or "".
    std::string follow(const std::vector<PtxInstruction>& body) {
        held_.clear();
        std::unordered_map<std::string_view, std::vector<size_t>> readers;  // of a register
        for (size_t i = 0; i < body.size(); ++i)
            for (size_t operand = 1; operand < body[i].operands.size(); ++operand)
                for (const PtxToken& token : body[i].operands[operand]) readers[token.text].push_back(i);
        std::vector<size_t> pending(body.size());
        std::iota(pending.rbegin(), pending.rend(), size_t{0});
        std::vector<bool> queued(body.size(), true);
        while (!pending.empty()) {
            const size_t at = pending.back();
            pending.pop_back();
            queued[at] = false;
            for (const std::string_view learned : step(body[at]))
                for (const size_t reader : readers[learned]) {
                    if (queued[reader]) continue;
                    queued[reader] = true;
                    pending.push_back(reader);
                }
        }
        for (const PtxInstruction& instruction : body)
            if (std::string why = offence(instruction); !why.empty()) return why;
        return "";
    }

 private:
    /// The variables whose addresses the operand holds, itself or in its registers.
    Names held_by(Tokens operand) const {
        Names names;
        for (const PtxToken& token : operand) {
            if (token.kind != PtxToken::Kind::word) continue;
            if (globals_.contains(token.text)) names.insert(token.text);
            if (const auto held = held_.find(token.text); held != held_.end())
                names.insert(held->second.begin(), held->second.end());
        }
        return names;
    }

    enum class Effect { computes, loads, writes, copies, calls };

    /// What an instruction does to memory. Those that only touch caches or order accesses compute nothing either.
    static Effect effect_of(std::string_view opcode) {
        const auto starts = [&](std::initializer_list<std::string_view> stems) {
            return std::ranges::any_of(stems, [&](std::string_view stem) { return opcode.starts_with(stem); });
        };
        if (starts({"ld.", "ldu.", "tex.", "suld.", "prefetch", "applypriority"})) return Effect::loads;
        if (starts({"cp.async", "cp.reduce"})) return Effect::copies;
        if (starts({"call"})) return Effect::calls;
        const bool writes = starts({"st.", "atom.", "red.", "multimem", "stmatrix", "sust.", "sured.", "discard",
                                    "mbarrier", "tensormap", "wmma.store"});
        return writes ? Effect::writes : Effect::computes;
    }

    /// The registers of which it is now known that they hold more.
    std::vector<std::string_view> step(const PtxInstruction& instruction) {
        const Effect effect = effect_of(instruction.opcode);
        if (instruction.operands.empty() || (effect != Effect::computes && effect != Effect::loads)) return {};
        Names names;
        for (size_t i = 1; i < instruction.operands.size(); ++i) names.merge(held_by(instruction.operands[i]));
        if (effect == Effect::loads) {  // what a table of addresses holds
            Names pointed;
            for (std::string_view name : names)
                if (const auto refers = refers_.find(name); refers != refers_.end())
                    pointed.insert(refers->second.begin(), refers->second.end());
            names = std::move(pointed);
        }
        if (names.empty()) return {};
        std::vector<std::string_view> learned;
        for (const PtxToken& token : instruction.operands[0]) {
            if (token.kind != PtxToken::Kind::word) continue;
            Names& held = held_[token.text];
            const size_t before = held.size();
            held.insert(names.begin(), names.end());
            if (held.size() != before) learned.push_back(token.text);
        }
        return learned;
    }

    std::string offence(const PtxInstruction& instruction) const {
        const auto says = [&](const Names& names, std::string_view what) {
            return names.empty() ? std::string()
                                 : fmt::format("line {} of the PTX {} '{}'", instruction.line, what,
                                               one_line(*names.begin(), 200));
        };
        const Effect effect = effect_of(instruction.opcode);
        if (effect == Effect::computes || effect == Effect::loads) return "";
        if (effect == Effect::calls) return call_offence(instruction, says);
        for (size_t i = 0; i < instruction.operands.size(); ++i) {
            const bool address = instruction.operands[i].front().is("[");
            if (effect == Effect::copies && i > 0 && address) continue;  // a source
            Names names = held_by(instruction.operands[i]);
            if (!address) std::erase_if(names, is_compiler_text);
            if (std::string why = says(names, address ? "writes to" : "lets go of the address of"); !why.empty())
                return why;
        }
        return "";
    }

    template <typename Says>
    std::string call_offence(const PtxInstruction& instruction, const Says& says) const {
        for (Tokens operand : instruction.operands) {
            Names names = held_by(operand);
            std::erase_if(names, is_compiler_text);
            if (std::string why = says(names, "passes on the address of"); !why.empty()) return why;
        }
        return "";
    }

    Names globals_;
    std::map<std::string_view, Names> refers_;
    std::unordered_map<std::string_view, Names> held_;
};

class Screen {
 public:
    explicit Screen(std::string_view ptx) : tokens_(ptx_tokens(ptx)) {}

    std::string run() {
        declarations();
        if (!why_.empty() || flow_.empty()) return why_;
        for (const auto& [open, end] : bodies_)
            if (std::string why = flow_.follow(ptx_instructions(tokens_, open + 1, end - 1)); !why.empty())
                return fmt::format("a variable in device memory that outlives the launch is refused: {}", why);
        return "";
    }

 private:
    /// Module level: bodies, variables, functions of others.
    void declarations() {
        size_t first = 0;
        for (size_t i = 0; i < tokens_.size() && why_.empty();) {
            if (tokens_[i].is(";")) {
                statement(first, i);
                first = ++i;
            } else if (tokens_[i].is("{") || tokens_[i].is("(") || tokens_[i].is("[")) {
                const size_t open = i;
                i = behind_bracket(tokens_, open);
                if (!tokens_[open].is("{") || is_initialiser(open)) continue;
                if (!is_section(first, open)) body(open, i);
                first = i;
            } else {
                ++i;
            }
        }
    }

    bool is_initialiser(size_t open) const { return open > 0 && tokens_[open - 1].is("="); }

    /// Debugging data: `.section .debug_info { … }`, behind directives that no ';' ends.
    bool is_section(size_t first, size_t open) const {
        for (size_t i = open; i-- > first;) {
            if (tokens_[i].is(".entry") || tokens_[i].is(".func")) return false;
            if (tokens_[i].is(".section")) return true;
        }
        return false;
    }

    void body(size_t open, size_t end) {
        bodies_.emplace_back(open, end);
        for (size_t i = open; i < end; ++i)
            if (tokens_[i].is(".global")) return refuse_declared(tokens_[i].line);
    }

    void refuse_declared(uint32_t line) {
        why_ = fmt::format("a variable in device memory that inline assembly declares is refused: line {} of the PTX",
                           line);
    }

    void statement(size_t first, size_t end) {
        Tokens tokens = Tokens(tokens_).subspan(first, end - first);
        const auto has = [&](std::string_view word) {
            return std::ranges::any_of(tokens, [&](const PtxToken& t) { return t.is(word); });
        };
        if (has(".extern") && has(".func")) return external_function(tokens);
        // Constant memory may be written too, by its generic address.
        if (!has(".global") && !has(".const")) return;
        if (has(".global") && !bodies_.empty()) return refuse_declared(tokens.back().line);
        tokens = tokens.subspan(static_cast<size_t>(
            std::ranges::find_if(tokens, [](const PtxToken& t) { return t.is(".global") || t.is(".const"); }) -
            tokens.begin()));
        variable(tokens, has(".managed") || has("managed"));
    }

    /// `.extern .func (.param .b32 r) NAME (…)`.
    void external_function(Tokens tokens) {
        for (const PtxToken& token : tokens) {
            if (token.kind != PtxToken::Kind::word) continue;
            if (is_launch_function(token.text))
                why_ =
                    fmt::format("a launch from the device is refused: the kernel calls {}", one_line(token.text, 200));
            if (token.is("malloc"))
                why_ = "memory of the device's heap is refused: it would outlive the launch: the kernel calls malloc";
        }
    }

    /// `.global .align 4 .b8 NAME[16] = {…}`.
    void variable(Tokens tokens, bool managed) {
        std::string_view name;
        bool initialiser = false;
        for (const PtxToken& token : tokens) {
            if (token.is("=")) initialiser = true;
            const bool identifier = token.kind == PtxToken::Kind::word && !token.text.starts_with('.') &&
                                    !(token.text[0] >= '0' && token.text[0] <= '9');
            if (!identifier || token.is("generic")) continue;
            if (initialiser)
                flow_.refer(name, token.text);
            else if (name.empty())
                name = token.text;
        }
        if (managed)
            why_ = fmt::format("managed variable '{}' is refused: it would outlive the launch", one_line(name, 200));
        flow_.declare(name);
    }

    std::vector<PtxToken> tokens_;
    std::vector<std::pair<size_t, size_t>> bodies_;
    Flow flow_;
    std::string why_;
};

}  // namespace

std::string screen_ptx(std::string_view ptx) { return Screen(ptx).run(); }

}  // namespace recuda

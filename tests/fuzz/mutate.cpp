#include "mutate.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace recuda::fuzz {
namespace {

/// A piece of the text: [begin, end).
struct Span {
    size_t begin, end;
    size_t size() const { return end - begin; }
};

constexpr std::array<std::string_view, 31> kModifiers{
    ".u8",  ".s8",     ".b16",    ".u16",    ".s16",  ".b32", ".u32",  ".s32",  ".b64", ".u64", ".s64",
    ".f16", ".f16x2",  ".bf16",   ".bf16x2", ".f32",  ".f64", ".b128", ".pred", ".v2",  ".v4",  ".sat",
    ".ftz", ".global", ".shared", ".local",  ".wide", ".rn",  ".rz",   ".lo",   ".hi"};

constexpr std::array<std::string_view, 22> kImmediates{"0",
                                                       "1",
                                                       "-1",
                                                       "2",
                                                       "3",
                                                       "4",
                                                       "16",
                                                       "31",
                                                       "32",
                                                       "33",
                                                       "63",
                                                       "64",
                                                       "255",
                                                       "1024",
                                                       "4096",
                                                       "65535",
                                                       "65536",
                                                       "2147483647",
                                                       "2147483648",
                                                       "4294967295",
                                                       "0x7ff0000000000000",
                                                       "18446744073709551615"};

constexpr std::array<std::string_view, 30> kStatements{
    "bar.sync 0;",
    "ret;",
    "exit;",
    "trap;",
    "bra.uni AGAIN;",
    "AGAIN:",
    "{",
    "}",
    ".reg .b32 %x<8>;",
    ".reg .pred %y<4>;",
    ".shared .align 16 .b8 pool[64];",
    ".local .align 8 .b8 stack[32];",
    "mov.u32 %r1, %tid.x;",
    "mov.u64 %rd1, pool;",
    "setp.lt.u32 %p1, %r1, 16;",
    "@%p1 bra AGAIN;",
    "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];",
    "st.shared.u32 [%rd1+4], %r1;",
    "atom.global.add.u32 %r1, [%rd1], 1;",
    "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;",
    "vote.sync.ballot.b32 %r1, %p1, 0xffffffff;",
    "cp.async.ca.shared.global [%r1], [%rd1], 16;",
    "cp.async.wait_all;",
    "mbarrier.init.shared.b64 [%rd1], 1;",
    "barrier.cluster.arrive;",
    "barrier.cluster.wait;",
    "fence.acq_rel.gpu;",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];",
    "cvt.rn.f16.f32 %rs1, %f1;",
    "mov.b64 {%r1, %r2}, %rd1;"};

bool in_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           c == '%';
}

/// Pieces that end behind a ';', a brace or the ':' of a label.
std::vector<Span> statements_of(std::string_view text) {
    std::vector<Span> spans;
    size_t begin = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool label = text[i] == ':' && i + 1 < text.size() && text[i + 1] != ':' && i > 0 && text[i - 1] != ':';
        if (text[i] != ';' && text[i] != '{' && text[i] != '}' && !label) continue;
        spans.push_back({begin, i + 1});
        begin = i + 1;
    }
    if (begin < text.size()) spans.push_back({begin, text.size()});
    return spans;
}

enum class Kind { modifier, name, number };

/// All words of one kind: ".f32", "%r1", "0x10".
std::vector<Span> words_of(std::string_view text, Kind kind) {
    std::vector<Span> spans;
    for (size_t i = 0; i < text.size();) {
        const bool dot = text[i] == '.' && i + 1 < text.size() && in_word(text[i + 1]);
        if (!dot && !in_word(text[i])) {
            ++i;
            continue;
        }
        size_t end = i + 1;
        while (end < text.size() && in_word(text[end])) ++end;
        const Kind found = dot ? Kind::modifier : text[i] >= '0' && text[i] <= '9' ? Kind::number : Kind::name;
        if (found == kind) spans.push_back({i, end});
        i = end;
    }
    return spans;
}

class Mutation {
 public:
    Mutation(std::string_view text, std::string_view other, uint32_t seed)
        : text_(text), other_(other), random_(seed) {}

    std::string run() {
        for (size_t left = 1 + below(4); left > 0; --left) change();
        return std::move(text_);
    }

 private:
    size_t below(size_t count) { return count == 0 ? 0 : random_() % count; }

    void change() {
        switch (below(10)) {
            case 0:
                return repeat_statement();
            case 1:
                return remove_statement();
            case 2:
                return swap_statements();
            case 3:
                return insert(kStatements[below(kStatements.size())]);
            case 4:
                return insert(any(other_, statements_of(other_)));
            case 5:
                return replace(Kind::modifier, kModifiers[below(kModifiers.size())]);
            case 6:
                return replace(Kind::number, kImmediates[below(kImmediates.size())]);
            case 7:
                return replace(Kind::modifier, any(text_, words_of(text_, Kind::modifier)));
            case 8:
                return replace(Kind::name, any(text_, words_of(text_, below(4) == 0 ? Kind::number : Kind::name)));
            default:
                return change_modifiers();
        }
    }

    std::string any(std::string_view text, const std::vector<Span>& spans) {
        if (spans.empty()) return {};
        const Span chosen = spans[below(spans.size())];
        return std::string(text.substr(chosen.begin, chosen.size()));
    }

    void repeat_statement() { insert(any(text_, statements_of(text_))); }

    void insert(std::string_view statement) {
        const std::vector<Span> statements = statements_of(text_);
        const size_t at = statements.empty() ? 0 : statements[below(statements.size())].end;
        text_.insert(at, "\n" + std::string(statement));
    }

    void remove_statement() {
        const std::vector<Span> statements = statements_of(text_);
        if (statements.size() < 2) return;
        const Span chosen = statements[below(statements.size())];
        text_.erase(chosen.begin, chosen.size());
    }

    void swap_statements() {
        const std::vector<Span> statements = statements_of(text_);
        if (statements.size() < 2) return;
        const size_t first = below(statements.size() - 1);
        const Span a = statements[first],
                   b = statements[first + 1 + below(std::min<size_t>(4, statements.size() - 1 - first))];
        const std::string moved = text_.substr(a.begin, a.size());
        text_.insert(b.end, moved);
        text_.erase(a.begin, a.size());
    }

    void replace(Kind kind, std::string_view by) {
        const std::vector<Span> words = words_of(text_, kind);
        if (words.empty() || by.empty()) return;
        const Span chosen = words[below(words.size())];
        text_.replace(chosen.begin, chosen.size(), by);
    }

    /// Removes or repeats a modifier.
    void change_modifiers() {
        const std::vector<Span> words = words_of(text_, Kind::modifier);
        if (words.empty()) return;
        const Span chosen = words[below(words.size())];
        if (below(2) == 0)
            text_.erase(chosen.begin, chosen.size());
        else
            text_.insert(chosen.end, text_.substr(chosen.begin, chosen.size()));
    }

    std::string text_;
    std::string_view other_;
    std::minstd_rand random_;
};

}  // namespace

std::string mutate(std::string_view text, std::string_view other, uint32_t seed, size_t max_size) {
    std::string changed = Mutation(text, other, seed).run();
    if (changed.size() > max_size) changed.resize(max_size);
    return changed;
}

}  // namespace recuda::fuzz

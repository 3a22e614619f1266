#include "build/ptx_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "build/ptx_text.h"

namespace recuda {
namespace {

using Tokens = std::vector<PtxToken>;

constexpr uint64_t kMaxParameterBytes = 32764;  // of a kernel, from sm_70 on

/// A scan over the module level of a PTX text. It stops at the first thing that cannot stand there.
class Scan {
 public:
    explicit Scan(std::string_view ptx) : tokens_(ptx_tokens(ptx)) {}

    PtxEntries run() {
        while (result_.problem.empty() && at_ < tokens_.size()) directive();
        if (result_.problem.empty() && result_.version.empty()) fail("there is no .version");
        if (result_.problem.empty() && result_.target.empty()) fail("there is no .target");
        return std::move(result_);
    }

 private:
    bool here(std::string_view text) const { return at_ < tokens_.size() && tokens_[at_].is(text); }
    bool word_here() const { return at_ < tokens_.size() && tokens_[at_].kind == PtxToken::Kind::word; }
    std::string_view take() { return at_ < tokens_.size() ? tokens_[at_++].text : std::string_view(); }
    bool take_if(std::string_view text) {
        if (!here(text)) return false;
        ++at_;
        return true;
    }

    uint32_t number() {
        const std::string_view text = take();
        const bool hexadecimal = text.starts_with("0x");
        uint32_t value = 0;
        const char* first = text.data() + (hexadecimal ? 2 : 0);
        if (std::from_chars(first, text.data() + text.size(), value, hexadecimal ? 16 : 10).ec != std::errc())
            fail(fmt::format("'{}' is not a number", text));
        return value;
    }

    void fail(std::string_view what) {
        if (!result_.problem.empty()) return;
        const uint32_t line = tokens_.empty() ? 1 : tokens_[at_ > 0 ? at_ - 1 : 0].line;
        result_.problem = fmt::format("line {}: {}", line, one_line(what));
    }

    void directive() {
        if (take_if(";") || skip_linkage()) return;
        if (take_if(".version"))
            result_.version = take();
        else if (result_.version.empty()) {
            ++at_;
            fail("this is not PTX: a .version directive comes first");
        } else if (take_if(".target"))
            targets();
        else if (take_if(".address_size"))
            number();
        else if (take_if(".entry"))
            entry();
        else if (take_if(".func"))
            skip_function();
        else if (take_if(".file") || take_if(".loc"))
            skip_line();
        else if (take_if(".section"))
            skip_section();
        else if (here(".alias") || here(".pragma") || is_variable())
            skip_to_semicolon();
        else {
            const std::string_view what = take();
            fail(fmt::format("'{}' cannot stand here", what));
        }
    }

    bool skip_linkage() {
        return take_if(".visible") || take_if(".extern") || take_if(".weak") || take_if(".common") ||
               take_if(".blocksareclusters");
    }

    bool is_variable() const {
        for (std::string_view space : {".global", ".const", ".shared", ".tex", ".texref", ".samplerref", ".surfref"})
            if (here(space)) return true;
        return false;
    }

    void targets() {
        result_.target = take();
        if (!result_.target.starts_with("sm_")) fail(fmt::format("'{}' is not a target", result_.target));
        while (take_if(",")) take();
    }

    void skip_to_semicolon() {
        while (at_ < tokens_.size() && !here(";"))
            at_ = here("{") || here("[") ? behind_bracket(tokens_, at_) : at_ + 1;
        if (!take_if(";")) fail("a ';' is missing");
    }

    void skip_line() {
        const uint32_t line = tokens_[at_ - 1].line;
        while (at_ < tokens_.size() && tokens_[at_].line == line) ++at_;
    }

    void skip_section() {
        while (at_ < tokens_.size() && !here("{")) ++at_;
        block();
    }

    void block() {
        const size_t open = at_;
        at_ = behind_bracket(tokens_, at_);
        if (open == at_ || !tokens_[at_ - 1].is("}")) fail("a '}' is missing");
    }

    void skip_function() {
        while (at_ < tokens_.size() && !here("{") && !here(";"))
            at_ = here("(") ? behind_bracket(tokens_, at_) : at_ + 1;
        if (here("{"))
            block();
        else if (!take_if(";"))
            fail("a function without a body");
    }

    void entry() {
        if (!word_here()) return fail("an entry without a name");
        Entry entry;
        entry.name = take();
        if (take_if("(")) {
            while (at_ < tokens_.size() && !here(")") && result_.problem.empty()) {
                entry.parameters.push_back(parameter());
                if (!take_if(",") && !here(")")) fail("a ',' or ')' is missing among the parameters");
            }
            take_if(")");
        }
        demands(entry);
        if (here("{")) {
            block();
            result_.entries.push_back(std::move(entry));
        } else if (!take_if(";")) {
            fail(fmt::format("entry {} has no body", entry.name));
        }
    }

    /// `.param .align 8 .b8 name[64]` or `.param .u64 .ptr .global .align 16 name`, where the alignment is the
    /// pointee's.
    Parameter parameter() {
        if (!take_if(".param")) fail(fmt::format("'{}' is not a parameter", take()));
        Parameter parameter;
        bool pointer = false;
        uint32_t element = 0;
        while (word_here() && tokens_[at_].text.starts_with('.')) {
            const std::string_view word = take().substr(1);
            if (word == "align") {
                const uint32_t align = number();
                if (!pointer) parameter.align = align;
            } else if (word == "ptr") {
                pointer = true;
            } else if (!pointer) {
                parameter.type = word;
                element = bytes_of(word);
            }
        }
        take();  // its name
        parameter.bytes = element;
        if (take_if("[")) {
            const uint64_t bytes = uint64_t{element} * number();
            if (bytes > kMaxParameterBytes) fail(fmt::format("a parameter of {} bytes", bytes));
            parameter.bytes = static_cast<uint32_t>(std::min(bytes, kMaxParameterBytes));
            if (!take_if("]")) fail("a ']' is missing");
        }
        if (element == 0) fail(fmt::format("'{}' is not a type of a parameter", parameter.type));
        if (parameter.align == 0) parameter.align = element;
        return parameter;
    }

    /// Size of a fundamental type; 0 for what is none.
    static uint32_t bytes_of(std::string_view type) {
        constexpr std::pair<std::string_view, uint32_t> kTypes[] = {
            {"u8", 1},  {"s8", 1},    {"b8", 1},    {"u16", 2},    {"s16", 2},        {"b16", 2},    {"f16", 2},
            {"u32", 4}, {"s32", 4},   {"b32", 4},   {"f32", 4},    {"u64", 8},        {"s64", 8},    {"b64", 8},
            {"f64", 8}, {"b128", 16}, {"f16x2", 4}, {"texref", 8}, {"samplerref", 8}, {"surfref", 8}};
        for (const auto& [name, bytes] : kTypes)
            if (name == type) return bytes;
        return 0;
    }

    void demands(Entry& entry) {
        while (word_here() && result_.problem.empty()) {
            const std::string_view what = take();
            if (what == ".maxntid")
                entry.max_threads = static_cast<uint32_t>(dimensions().volume());
            else if (what == ".reqntid")
                entry.required_threads = dimensions();
            else if (what == ".reqnctapercluster")
                entry.cluster = dimensions();
            else if (what == ".maxnreg" || what == ".minnctapersm" || what == ".maxnctapersm" ||
                     what == ".maxclusterrank")
                number();
            else if (what == ".noreturn" || what == ".explicitcluster" || what == ".blocksareclusters")
                continue;
            else if (what == ".pragma" || what == ".abi_preserve" || what == ".abi_preserve_control")
                skip_to_semicolon();
            else
                fail(fmt::format("'{}' cannot stand in the head of an entry", what));
        }
    }

    Dim3 dimensions() {
        Dim3 dimensions;
        dimensions.x = number();
        if (take_if(",")) dimensions.y = number();
        if (take_if(",")) dimensions.z = number();
        return dimensions;
    }

    Tokens tokens_;
    size_t at_ = 0;
    PtxEntries result_;
};

}  // namespace

PtxEntries read_ptx_entries(std::string_view ptx) { return Scan(ptx).run(); }

}  // namespace recuda

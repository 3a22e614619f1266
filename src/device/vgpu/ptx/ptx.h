// PTX as text becomes this tree: functions, variables and statements, nothing resolved yet.
//
// Source: PTX ISA 9.0, chapters 4 (syntax), 5 (state spaces, types, variables), 11 (directives).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recuda::vgpu::ptx {

/// Fundamental types of section 5.2 and the packed and alternate formats of 5.2.3, as far as variables and registers
/// carry them.
enum class Type : uint8_t {
    none,
    pred,
    b8,
    b16,
    b32,
    b64,
    b128,
    u8,
    u16,
    u32,
    u64,
    s8,
    s16,
    s32,
    s64,
    f16,
    f16x2,
    bf16,
    bf16x2,
    f32,
    f64,
    tf32,
    e4m3,
    e5m2
};
uint32_t size_bytes(Type type);  // 0 for none and pred

/// The type that a modifier names ("u32", "bf16x2", …), none where it is not a fundamental type.
Type type_named(std::string_view name);

enum class Space : uint8_t { none, reg, param, local, shared, global, constant };

/// Where a statement came from: `line` of the .ptx; `source_line` of the outermost inlined frame in the user's file, 0
/// where no frame lies in it (a function of a header that was called, not inlined: look at the caller) or nothing is
/// known. Inlining is read from `inlined_at` (NVRTC) and from the chain `a.py:1:2 @[ b.py:3:4 ]` that LLVM prints as
/// the comment of a .loc (Triton).
struct Place {
    uint32_t line = 0;
    uint32_t source_line = 0;
    std::string_view source_file;
};

/// One operand. `vector` holds the elements of {a, b, c, d}; an address keeps base and offset; a call keeps its
/// parenthesised lists in vectors: `call (r), f, (a, b), proto` has the operands vector, name, vector, name.
///
/// Names declared in a nested scope { … } are made unique in their function: `p` becomes `p@3`, the range `%r<2>`
/// becomes the range
/// `%r@3_<2>` and its `%r1` becomes `%r@3_1`, the label `DONE` becomes `DONE@3`. What stands before the @ is what the
/// user wrote.
struct Operand {
    enum class Kind : uint8_t { none, name, integer, floating, address, vector, sink } kind = Kind::none;
    std::string_view text;      // name: register, label, variable, special register (with .x), may carry a leading '!'
                                // stripped into negated
    bool negated = false;       // !%p
    bool minus = false;         // -%r, which vmad alone takes
    std::string_view selector;  // "b0" of %r.b0, "h31" of %r.h31: video instructions alone take it
    uint64_t bits = 0;          // integer: its value; floating: the IEEE bits
    bool is_double = false;     // floating: 0d… or a decimal literal (f64), else 0f… (f32)
    int64_t offset =
        0;  // address: [base + offset]; base in text ("" for an absolute immediate address); name: variable + offset
    std::vector<Operand> elements;  // vector, and the second half of `d|p` as elements[0] of a name or sink; what
                                    // follows the base in an address
                                    // ([map, {x, y}] has x and y)
};

struct Statement {
    std::vector<std::string_view>
        parts;      // "ld", "global", "v4", "u32": the opcode split at dots; "::" stays inside a part
    Operand guard;  // kind none: no guard
    std::vector<Operand> operands;
    Place place;
    std::string_view opcode() const { return parts.front(); }
    bool has(std::string_view modifier) const;
    std::string text() const;  // "ld.global.v4.u32"
};

struct Variable {
    std::string_view name;
    Space space = Space::none;
    Type type = Type::none;
    uint32_t vector = 1;            // .v2, .v4
    uint32_t align = 0;             // bytes, natural alignment where not stated
    std::vector<uint64_t> extents;  // empty: a scalar; {0}: an unsized array (extern shared)
    bool is_extern = false;
    std::vector<uint8_t> initial;  // bytes; empty: none; shorter than size(): the rest is zero

    /// The address of `symbol` plus `addend` goes to byte `at`. With a mask (`0xff00(symbol)`) only those bits, shifted
    /// down to bit 0.
    struct Relocation {
        uint64_t at;
        std::string_view symbol;
        int64_t addend;
        bool generic;
        uint64_t mask = ~uint64_t{0};
    };
    std::vector<Relocation> relocations;
    uint64_t size() const;  // bytes; 0 for an unsized array
};

struct RegisterDeclaration {
    std::string_view prefix;  // "%r" of `.reg .b32 %r<10>`, or the whole name
    uint32_t count = 0;       // 0: a single register of that name
    Type type = Type::none;
    uint32_t vector = 1;
};

/// `label: .callprototype (returns) _ (parameters)`.
struct Prototype {
    std::string_view label;
    std::vector<Variable> returns, parameters;
};

/// A function. Parameters and returns in space reg are listed among `registers` too.
struct Function {
    std::string_view name;
    bool is_entry = false;
    bool has_body = false;
    std::vector<Variable> parameters, returns;
    std::vector<RegisterDeclaration> registers;
    std::vector<Variable> variables;  // .local, .shared, .param declared inside
    std::vector<Statement> body;
    std::map<std::string_view, uint32_t>
        labels;  // label → index of the statement it stands before; body.size() at the end
    std::map<std::string_view, std::vector<std::string_view>>
        branch_targets;  // .branchtargets label → labels; .calltargets label → functions
    std::vector<Prototype> prototypes;
    uint32_t max_threads[3] = {0, 0, 0}, required_threads[3] = {0, 0, 0}, required_cluster[3] = {0, 0, 0};
    Place place;
};

/// A whole module. Names are views into `text` and `names`, which the module owns.
struct Module {
    std::unique_ptr<const std::string> text;
    std::deque<std::string> names;  // the names made unique
    uint32_t version_major = 0, version_minor = 0;
    std::string_view target;                     // "sm_90a"
    std::vector<Variable> variables;             // module scope: .global, .const, .shared
    std::vector<Function> functions;             // a declaration that is defined later appears once, with its body
    std::map<uint32_t, std::string_view> files;  // .file index → path
    std::map<std::string_view, std::string_view> aliases;  // .alias name → function

    const Function* find(std::string_view name) const;  // follows an alias; null where unknown
};

/// Parses a module. Throws Error with "ptx line N: …" for text that is not PTX; bounded in memory and time by the
/// text's size. Statements whose opcode nobody knows parse all the same: decoding calls them unsupported. `source_name`
/// is the base name of the user's file (Binary::file), by which source lines are found; where no .file has that name,
/// file 1 is the user's.
Module parse(std::string text, std::string_view source_name = {});

}  // namespace recuda::vgpu::ptx

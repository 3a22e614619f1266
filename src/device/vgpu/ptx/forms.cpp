#include "device/vgpu/ptx/forms.h"

#include <fmt/core.h>

#include <array>
#include <unordered_map>

namespace recuda::vgpu::ptx {
namespace {

/// Operands, destination first, a letter each; a '?' behind one says that it may be missing:
///   t  of the instruction's type                w  an integer of twice its width where the opcode has .wide, else t
///   u  32 bits, no float                        b  32 bits of any type
///   p  a predicate                              c  compatible with the type, but of any width (loads and stores)
///   x  anything
/// Modifiers: those that may stand with it, types included; empty: any word of PTX.
/// Needed: of these one must stand there when the type is one of `for_types`.
struct Form {
    std::string_view opcode, operands, modifiers;
    std::string_view needed, for_types;
};

constexpr std::string_view kIntegers = " u16 s16 u32 s32 u64 s64 ";
constexpr std::string_view kFloats = " f32 f64 ";
constexpr std::string_view kRounded = " f16 f16x2 bf16 bf16x2 f32 f64 ";

constexpr Form kForms[] = {
    {"add", "ttt", " u16 s16 u32 s32 u64 s64 u16x2 s16x2 f16 f16x2 bf16 bf16x2 f32 f32x2 f64 sat ftz rn rz rm rp cc "},
    {"sub", "ttt", " u16 s16 u32 s32 u64 s64 f16 f16x2 bf16 bf16x2 f32 f32x2 f64 sat ftz rn rz rm rp cc "},
    {"addc", "ttt", " u32 s32 u64 s64 cc "},
    {"subc", "ttt", " u32 s32 u64 s64 cc "},
    {"mul", "wtt", " u16 s16 u32 s32 u64 s64 f16 f16x2 bf16 bf16x2 f32 f32x2 f64 lo hi wide sat ftz rn rz rm rp ",
     " lo hi wide ", kIntegers},
    {"mad", "wttw", " u16 s16 u32 s32 u64 s64 f32 f64 lo hi wide sat ftz rn rz rm rp cc ", " lo hi wide ", kIntegers},
    {"madc", "tttt", " u32 s32 u64 s64 lo hi cc ", " lo hi ", kIntegers},
    {"mul24", "ttt", " u32 s32 lo hi ", " lo hi ", kIntegers},
    {"mad24", "tttt", " u32 s32 lo hi sat ", " lo hi ", kIntegers},
    {"sad", "tttt", kIntegers},
    {"div", "ttt", " u16 s16 u32 s32 u64 s64 f32 f64 rn rz rm rp approx full ftz ", " rn rz rm rp approx full ",
     kFloats},
    {"rem", "ttt", kIntegers},
    {"abs", "tt", " s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 ftz "},
    {"neg", "tt", " s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 ftz "},
    {"min", "tttt?", " u16 s16 u32 s32 u64 s64 u16x2 s16x2 f16 f16x2 bf16 bf16x2 f32 f64 relu ftz NaN xorsign abs "},
    {"max", "tttt?", " u16 s16 u32 s32 u64 s64 u16x2 s16x2 f16 f16x2 bf16 bf16x2 f32 f64 relu ftz NaN xorsign abs "},
    {"popc", "ut", " b32 b64 "},
    {"clz", "ut", " b32 b64 "},
    {"bfind", "ut", " u32 s32 u64 s64 shiftamt "},
    {"brev", "tt", " b32 b64 "},
    {"bfe", "ttuu", " u32 s32 u64 s64 "},
    {"bfi", "tttuu", " b32 b64 "},
    {"fma", "tttt", " f16 f16x2 bf16 bf16x2 f32 f32x2 f64 rn rz rm rp ftz sat relu oob ", " rn rz rm rp ", kRounded},
    {"rcp", "tt", " f32 f64 approx ftz rn rz rm rp ", " approx rn rz rm rp ", kFloats},
    {"sqrt", "tt", " f32 f64 approx ftz rn rz rm rp ", " approx rn rz rm rp ", kFloats},
    {"rsqrt", "tt", " f32 f64 approx ftz ", " approx ", kFloats},
    {"sin", "tt", " f32 approx ftz ", " approx ", kFloats},
    {"cos", "tt", " f32 approx ftz ", " approx ", kFloats},
    {"lg2", "tt", " f32 approx ftz ", " approx ", kFloats},
    {"ex2", "tt", " f32 f16 f16x2 bf16 bf16x2 approx ftz ", " approx ", kRounded},
    {"tanh", "tt", " f32 f16 f16x2 bf16 bf16x2 approx ", " approx ", kRounded},
    {"copysign", "ttt", kFloats},
    {"testp", "pt", " f32 f64 finite infinite number notanumber normal subnormal "},
    {"and", "ttt", " pred b16 b32 b64 "},
    {"or", "ttt", " pred b16 b32 b64 "},
    {"xor", "ttt", " pred b16 b32 b64 "},
    {"not", "tt", " pred b16 b32 b64 "},
    {"cnot", "tt", " b16 b32 b64 "},
    {"shl", "ttu", " b16 b32 b64 "},
    {"shr", "ttu", " b16 b32 b64 u16 u32 u64 s16 s32 s64 "},
    {"shf", "bbbu", " l r clamp wrap b32 "},
    {"prmt", "bbbb", " b32 f4e b4e rc8 ecl ecr rc16 "},
    {"selp", "tttp", " b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64 "},
    {"setp", "pttp?", ""},
    {"mov", "tt", ""},
    {"ld", "cxx?x?", ""},
    {"st", "xcx?", ""},
    {"ret", "", " uni "},
    {"exit", "", " "},
    {"trap", "", " "},
    {"bra", "x", " uni "},
};

const Form* form_of(std::string_view opcode) {
    static const auto kByOpcode = [] {
        std::unordered_map<std::string_view, const Form*> rows;
        for (const Form& form : kForms) rows[form.opcode] = &form;
        return rows;
    }();
    const auto found = kByOpcode.find(opcode);
    return found == kByOpcode.end() ? nullptr : found->second;
}

bool has_word(std::string_view list, std::string_view word) {
    return list.find(fmt::format(" {} ", word)) != list.npos;
}

enum class Class : uint8_t { predicate, bits, integer, floating };

Class class_of(Type type) {
    if (type == Type::pred) return Class::predicate;
    if (type >= Type::b8 && type <= Type::b128) return Class::bits;
    if (type >= Type::u8 && type <= Type::s64) return Class::integer;
    return Class::floating;
}

/// Untyped bits go with everything of their width, signed with unsigned, a float only with its own format.
bool compatible(Type a, Type b) {
    const Class first = class_of(a), second = class_of(b);
    if (first == Class::predicate || second == Class::predicate) return first == second;
    if (first == Class::bits || second == Class::bits) return true;
    return first == second && (first == Class::integer || a == b);
}

Type widened(Type type) {
    switch (type) {
        case Type::u16:
            return Type::u32;
        case Type::s16:
            return Type::s32;
        case Type::u32:
            return Type::u64;
        case Type::s32:
            return Type::s64;
        default:
            return type;
    }
}

class Check {
 public:
    Check(const Form& form, const Statement& statement, const Registers& registers)
        : form_(form), statement_(statement), registers_(registers) {
        for (size_t i = 1; i < statement.parts.size(); ++i) {
            const Type type = type_named(statement.parts[i]);
            packed_ = packed_ || statement.parts[i].ends_with("x2");  // f32x2, s16x2: types that no register has
            if (type == Type::none) continue;
            type_ = type;
            ++types_;
        }
    }

    std::string run() {
        if (std::string why = modifiers(); !why.empty()) return why;
        if (std::string why = count(); !why.empty()) return why;
        if (types_ == 0 && !packed_ && form_.operands.find_first_of("twc") != std::string_view::npos)
            return "a type is missing";
        if (types_ > 1) return {};  // operands of mixed types follow other rules
        size_t operand = 0;
        for (const char letter : form_.operands) {
            if (letter == '?') continue;
            if (operand == statement_.operands.size()) break;
            if (std::string why = look(letter, statement_.operands[operand], operand == 0); !why.empty()) return why;
            ++operand;
        }
        return {};
    }

 private:
    std::string modifiers() const {
        for (size_t i = 1; !form_.modifiers.empty() && i < statement_.parts.size(); ++i) {
            if (!has_word(form_.modifiers, statement_.parts[i]))
                return fmt::format("'.{}' does not go with {}", statement_.parts[i], form_.opcode);
        }
        if (form_.needed.empty() || types_ != 1 || !has_word(form_.for_types, statement_.parts[type_at()])) return {};
        for (size_t i = 1; i < statement_.parts.size(); ++i)
            if (has_word(form_.needed, statement_.parts[i])) return {};
        return fmt::format("one of{}is missing", form_.needed);
    }

    size_t type_at() const {
        size_t at = statement_.parts.size() - 1;
        while (type_named(statement_.parts[at]) != type_) --at;
        return at;
    }

    std::string count() const {
        size_t most = 0, optional = 0;
        for (const char letter : form_.operands) (letter == '?' ? optional : most) += 1;
        const size_t given = statement_.operands.size();
        if (given >= most - optional && given <= most) return {};
        return fmt::format("{} operands, not {}", given, most - optional);
    }

    Type wanted(char letter) const {
        if (letter == 'p') return Type::pred;
        if (letter == 'u') return Type::u32;
        if (letter == 'b') return Type::b32;
        return letter == 'w' && statement_.has("wide") ? widened(type_) : type_;
    }

    std::string look(char letter, const Operand& operand, bool destination) const {
        using Kind = Operand::Kind;
        const Type type = wanted(letter);
        if (letter == 'x' || type == Type::none) return {};
        if (operand.kind == Kind::integer || operand.kind == Kind::floating) {
            if (destination) return "a constant cannot be written";
            return literal(operand, type);
        }
        if (letter == 'c' && operand.kind == Kind::vector) return elements(operand, type);
        if (operand.kind == Kind::sink && letter != 'p' && letter != 'c') return "'_' cannot stand here";
        if (operand.kind == Kind::address) return "an address cannot stand here";
        return operand.kind == Kind::name ? name(operand, type, letter == 'c') : std::string();
    }

    std::string elements(const Operand& list, Type type) const {
        for (const Operand& element : list.elements) {
            if (element.kind != Operand::Kind::name) continue;
            if (std::string why = name(element, type, true); !why.empty()) return why;
        }
        return {};
    }

    std::string literal(const Operand& operand, Type type) const {
        const bool floating = operand.kind == Operand::Kind::floating;
        const Class wanted = class_of(type);
        if (floating && (wanted == Class::integer || (wanted == Class::bits && size_bytes(type) < 4)))
            return "a float where an integer belongs";
        if (!floating && wanted == Class::floating) return "an integer where a float belongs";
        return {};
    }

    std::string name(const Operand& operand, Type type, bool any_width) const {
        const auto found = registers_.find(operand.text);
        if (!found) {
            const bool addresses = statement_.opcode() == "mov" || any_width;
            return addresses ? std::string() : fmt::format("'{}' is not a register", operand.text);
        }
        if (!found->is_scalar()) return {};
        const Type declared = found->declaration->type;
        const bool narrow = any_width && size_bytes(declared) < size_bytes(type);
        if (compatible(declared, type) && !narrow && (any_width || size_bytes(declared) == size_bytes(type))) return {};
        return fmt::format("register '{}' has another type than the instruction", operand.text);
    }

    const Form& form_;
    const Statement& statement_;
    const Registers& registers_;
    Type type_ = Type::none;
    uint32_t types_ = 0;
    bool packed_ = false;
};

}  // namespace

std::string form_error(const Statement& statement, const Registers& registers) {
    const Form* form = form_of(statement.opcode());
    return form == nullptr ? std::string() : Check(*form, statement, registers).run();
}

}  // namespace recuda::vgpu::ptx

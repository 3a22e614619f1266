// What stands behind the dots of an opcode, read part by part. What nobody has taken in the end makes the statement
// unsupported: a modifier is never passed over in silence.
#pragma once

#include <fmt/core.h>

#include <initializer_list>
#include <string_view>

#include "device/vgpu/decode.h"

namespace recuda::vgpu {

class Modifiers {
 public:
    /// The parser lets no opcode have more than 64 parts.
    explicit Modifiers(const ptx::Statement& statement) : statement_(statement) {}

    /// Takes the modifier if it is there.
    bool take(std::string_view name) {
        for (size_t i = 1; i < statement_.parts.size(); ++i) {
            if (statement_.parts[i] != name || (taken_ >> i & 1) != 0) continue;
            taken_ |= uint64_t{1} << i;
            return true;
        }
        return false;
    }

    /// Takes the last type that is left; `none` where there is none.
    ptx::Type type() {
        for (size_t i = statement_.parts.size(); i-- > 1;) {
            const ptx::Type type = ptx::type_named(statement_.parts[i]);
            if ((taken_ >> i & 1) != 0 || type == ptx::Type::none) continue;
            taken_ |= uint64_t{1} << i;
            return type;
        }
        return ptx::Type::none;
    }

    /// Throws Unsupported for what is left, or for a wrong number of operands.
    void finish(std::initializer_list<size_t> operands) const {
        for (size_t i = 1; i < statement_.parts.size(); ++i) {
            if ((taken_ >> i & 1) == 0)
                throw Unsupported(fmt::format("'.{}' of {}", statement_.parts[i], statement_.text()));
        }
        for (const size_t count : operands) {
            if (statement_.operands.size() == count) return;
        }
        throw Unsupported(fmt::format("{} with {} operands", statement_.text(), statement_.operands.size()));
    }

 private:
    const ptx::Statement& statement_;
    uint64_t taken_ = 0;
};

/// The rounding of an arithmetic instruction.
enum class Rounding : uint8_t { nearest, zero, minus, plus };

/// Takes .rn .rz .rm .rp; nearest even where none stands.
inline Rounding take_rounding(Modifiers& modifiers) {
    if (modifiers.take("rz")) return Rounding::zero;
    if (modifiers.take("rm")) return Rounding::minus;
    if (modifiers.take("rp")) return Rounding::plus;
    modifiers.take("rn");
    return Rounding::nearest;
}

/// Sets d and a, b, c, e of `in` from the statement's operands, as many as there are types.
inline void set_operands(Decoder& decoder, const ptx::Statement& statement, Instruction& in, ptx::Type d,
                         std::initializer_list<ptx::Type> sources) {
    if (statement.operands.size() < sources.size() + 1) throw Unsupported(statement.text() + " with too few operands");
    uint32_t* const slots[] = {&in.a, &in.b, &in.c, &in.e};
    size_t i = 0;
    for (const ptx::Type type : sources) {
        *slots[i] = decoder.source(statement.operands[i + 1], type);
        ++i;
    }
    in.d = decoder.destination(statement.operands[0], d);
}

/// The function declines: the opcode with this type belongs to another group.
[[noreturn]] inline void not_mine() { throw NotMine{}; }

[[noreturn]] inline void unsupported(const ptx::Statement& statement) { throw Unsupported(statement.text()); }

}  // namespace recuda::vgpu

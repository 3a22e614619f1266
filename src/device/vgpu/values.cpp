// Operands as offsets in the register file: registers as they are, everything else as a constant that a warp gets when
// it enters the function.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "device/vgpu/faults.h"
#include "device/vgpu/program.h"
#include "device/vgpu/special.h"

namespace recuda::vgpu {
namespace {

constexpr uint64_t kMaxSharedVariable = 1u << 20;

}  // namespace

uint32_t ProgramDecoder::add(Constant constant, ptx::Type type) {
    if (constant.kind == Constant::Kind::predicate) {
        constant.offset = take(0);
        code_.register_bytes += 4;
    } else {
        constant.bytes = std::max<uint32_t>(2, ptx::size_bytes(type));
        constant.offset = take(constant.bytes);
    }
    code_.constants.push_back(constant);
    return constant.offset;
}

uint32_t ProgramDecoder::constant(uint64_t bits, uint32_t bytes) {
    bytes = std::max(2u, bytes);
    if (bytes < 8) bits &= (uint64_t{1} << (8 * bytes)) - 1;
    const auto [entry, fresh] = values_.try_emplace({bits, bytes}, 0);
    if (fresh) {
        Constant constant{
            .kind = Constant::Kind::value, .offset = take(bytes), .bytes = static_cast<uint8_t>(bytes), .bits = bits};
        code_.constants.push_back(constant);
        entry->second = constant.offset;
    }
    return entry->second;
}

uint32_t ProgramDecoder::scratch(uint32_t bytes) { return take(std::max(2u, bytes)); }

const ptx::Variable* ProgramDecoder::variable_named(std::string_view name) const {
    if (const auto own = variables_.find(name); own != variables_.end()) return own->second;
    const auto found = program_.variable_index.find(name);
    return found == program_.variable_index.end() ? nullptr : &module_.variables[found->second];
}

uint32_t ProgramDecoder::shared_number(const ptx::Variable& variable) {
    const auto [entry, fresh] = program_.shared_index.try_emplace(&variable, program_.shared.size());
    if (!fresh) return entry->second;
    if (variable.size() > kMaxSharedVariable)
        throw Unsupported("a shared variable larger than any GPU's shared memory");
    program_.shared.push_back(
        {plain_name(variable.name), variable.size(), std::max(1u, variable.align), variable.size() == 0, 0});
    return entry->second;
}

uint32_t ProgramDecoder::global_number(const ptx::Variable& variable) {
    const auto [entry, fresh] = program_.global_index.try_emplace(variable.name, program_.globals.size());
    if (fresh) program_.globals.emplace_back(variable.name);
    return entry->second;
}

uint32_t ProgramDecoder::named_constant(const ptx::Operand& operand, uint32_t bytes) {
    if (operand.text == "WARP_SZ") return constant(kLanes, bytes);
    const ptx::Type type = bytes == 8 ? ptx::Type::u64 : bytes == 4 ? ptx::Type::u32 : ptx::Type::u16;
    Constant constant;
    constant.bits = operand.offset;
    if (const auto special = special_named(operand.text)) {
        constant.kind = Constant::Kind::special;
        constant.which = static_cast<uint32_t>(*special);
        if (*special == Special::reserved_tiles) program_.reserved_shared = true;
        return add(constant, type);
    }
    if (bytes < 4) throw Unsupported(fmt::format("'{}' as a {}-byte value", operand.text, bytes));
    if (const auto local = locals_.find(operand.text); local != locals_.end()) {
        constant.kind = Constant::Kind::local;
        constant.bits += local->second;
        return add(constant, type);
    }
    const ptx::Variable* variable = variable_named(operand.text);
    if (variable != nullptr && variable->space == ptx::Space::shared) {
        constant.kind = Constant::Kind::shared;
        constant.which = shared_number(*variable);
        return add(constant, type);
    }
    if (variable != nullptr && (variable->space == ptx::Space::global || variable->space == ptx::Space::constant)) {
        constant.kind = Constant::Kind::global;
        constant.which = global_number(*variable);
        return add(constant, type);
    }
    for (size_t i = 0; code_.source->is_entry && i < code_.source->parameters.size(); ++i) {
        if (code_.source->parameters[i].name != operand.text) continue;
        constant.bits += program_.parameters[i].first;  // of .param space: cvta makes it generic
        constant.kind = Constant::Kind::value;
        return add(constant, type);
    }
    const auto function = program_.function_index.find(operand.text);
    if (function != program_.function_index.end() && !module_.functions[function->second].is_entry) {
        callee(operand.text);
        return this->constant(kFunctionBase + 16 * uint64_t{function->second}, bytes);
    }
    throw Unsupported(fmt::format("'{}' is not known here", operand.text));
}

uint32_t ProgramDecoder::source(const ptx::Operand& operand, ptx::Type type) {
    using Kind = ptx::Operand::Kind;
    const uint32_t bytes = type == ptx::Type::pred ? 4 : std::max<uint32_t>(2, ptx::size_bytes(type));
    switch (operand.kind) {
        case Kind::integer:
            if (type == ptx::Type::pred) {
                Constant constant{.kind = Constant::Kind::predicate, .bits = operand.bits ? kFullMask : 0};
                return add(constant, type);
            }
            return constant(operand.bits, bytes);
        case Kind::floating:
            if (bytes == 8 && !operand.is_double)
                return constant(
                    std::bit_cast<uint64_t>(double{std::bit_cast<float>(static_cast<uint32_t>(operand.bits))}), 8);
            if (bytes == 4 && operand.is_double)
                return constant(std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(operand.bits))), 4);
            if (bytes < 4) throw Unsupported("a floating-point literal of 16 bits");
            return constant(operand.bits, bytes);
        case Kind::name: {
            if (type == ptx::Type::pred) return predicate(operand);
            if (!is_register(operand.text)) return named_constant(operand, bytes);
            const Register found = register_of(operand);
            if (found.type == ptx::Type::pred || std::max<uint32_t>(2, ptx::size_bytes(found.type)) != bytes)
                throw Unsupported(fmt::format("register '{}' has another width than the instruction", operand.text));
            return found.offset;
        }
        default:
            throw Unsupported("this form of operand");
    }
}

uint32_t ProgramDecoder::destination(const ptx::Operand& operand, ptx::Type type) {
    if (operand.kind == ptx::Operand::Kind::sink) {
        if (type != ptx::Type::pred) return scratch(ptx::size_bytes(type));
        const uint32_t offset = take(0);
        code_.register_bytes += 4;
        return offset;
    }
    if (operand.kind != ptx::Operand::Kind::name) throw Unsupported("this form of destination");
    const Register found = register_of(operand);
    if ((found.type == ptx::Type::pred) != (type == ptx::Type::pred) ||
        (type != ptx::Type::pred &&
         std::max<uint32_t>(2, ptx::size_bytes(found.type)) != std::max<uint32_t>(2, ptx::size_bytes(type))))
        throw Unsupported(fmt::format("register '{}' has another width than the instruction", operand.text));
    return found.offset;
}

uint32_t ProgramDecoder::predicate(const ptx::Operand& operand) {
    using Kind = ptx::Operand::Kind;
    if (operand.kind == Kind::none || operand.kind == Kind::integer) {
        Constant constant{.kind = Constant::Kind::predicate,
                          .bits = operand.kind == Kind::none || operand.bits ? kFullMask : 0};
        return add(constant, ptx::Type::pred);
    }
    if (operand.text == "%is_explicit_cluster") {
        Constant constant{.kind = Constant::Kind::special};
        constant.which = static_cast<uint32_t>(Special::is_explicit_cluster);
        return add(constant, ptx::Type::u32);
    }
    const Register found = register_of(operand);
    if (found.type != ptx::Type::pred) throw Unsupported(fmt::format("'{}' is not a predicate", operand.text));
    return found.offset;
}

}  // namespace recuda::vgpu

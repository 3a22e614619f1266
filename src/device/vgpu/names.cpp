// Names of one function: registers, constants and variables become offsets in the register file.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "device/vgpu/demand.h"
#include "device/vgpu/faults.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/program.h"
#include "device/vgpu/special.h"

namespace recuda::vgpu {
namespace {

constexpr uint32_t kMaxRegisterBytes = 16u << 20;  // of one activation of a warp
constexpr uint32_t kMaxLocalBytes = 512u << 10;    // a thread and activation
constexpr uint64_t kMaxSharedVariable = 1u << 20;

uint32_t register_bytes(ptx::Type type) {
    if (type == ptx::Type::pred) return 4;
    return std::max<uint32_t>(2, ptx::size_bytes(type)) * kLanes;
}

/// Splits `four.y` into the register and the element's number.
std::pair<std::string_view, uint32_t> element_of_vector(std::string_view name) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot + 2 != name.size()) return {name, 0};
    const size_t element = std::string_view("xyzwrgba").find(name.back());
    if (element == std::string_view::npos) return {name, 0};
    return {name.substr(0, dot), static_cast<uint32_t>(element % 4)};
}

}  // namespace

ProgramDecoder::ProgramDecoder(Program& program, FunctionCode& code, const ptx::Module& module)
    : program_(program), code_(code), module_(module) {
    declare();
    declare_variables();
}

ProgramDecoder::~ProgramDecoder() = default;

const Demand& ProgramDecoder::demand() {
    if (demand_ == nullptr) demand_ = std::make_unique<Demand>(*this);
    return *demand_;
}

uint32_t ProgramDecoder::take(uint32_t bytes_a_lane) {
    code_.register_bytes = (code_.register_bytes + 63) / 64 * 64;
    const uint32_t offset = code_.register_bytes;
    if (uint64_t{offset} + uint64_t{bytes_a_lane} * kLanes > kMaxRegisterBytes)
        throw Unsupported("more registers than the virtual GPU holds");
    code_.register_bytes += bytes_a_lane * kLanes;
    return offset;
}

void ProgramDecoder::declare() {
    for (const auto& group : code_.source->registers) {
        if (group.vector == 0 || group.vector > 4) throw Unsupported("vector registers of this size");
        vectors_ = vectors_ || group.vector != 1;
        if (registers_.contains(group.prefix)) continue;
        const uint32_t count = std::max(1u, group.count);
        const uint32_t bytes = register_bytes(group.type) * group.vector;
        if (count > kMaxRegisterBytes / bytes) throw Unsupported("more registers than the virtual GPU holds");
        const uint32_t offset = take(0);
        if (uint64_t{offset} + uint64_t{count} * bytes > kMaxRegisterBytes)
            throw Unsupported("more registers than the virtual GPU holds");
        code_.register_bytes += count * bytes;
        registers_[group.prefix] = {offset, bytes, group.count, group.type, group.vector};
    }
}

void ProgramDecoder::declare_variables() {
    const auto slot = [&](const ptx::Variable& variable) {
        if (variable.size() > kMaxParameterBytes) throw Unsupported("a parameter larger than the virtual GPU holds");
        const uint32_t bytes = std::max<uint32_t>(1, variable.size()), stride = (bytes + 15) / 16 * 16;
        return params_[variable.name] = {take(stride), stride, bytes};
    };
    if (!code_.source->is_entry) {
        for (const auto& variable : code_.source->parameters)
            if (variable.space != ptx::Space::reg) code_.parameters.push_back(slot(variable));
        for (const auto& variable : code_.source->returns)
            if (variable.space != ptx::Space::reg) code_.returns.push_back(slot(variable));
    }
    if (!code_.source->is_entry) {
        // A register lies in the file as a parameter's slot does: lane after lane.
        const auto in_register = [&](const std::vector<ptx::Variable>& variables, std::vector<ParamSlot>& slots) {
            for (size_t i = 0; i < variables.size(); ++i) {
                if (variables[i].space != ptx::Space::reg) continue;
                ptx::Operand name;
                name.text = variables[i].name;
                const uint32_t bytes = std::max(2u, ptx::size_bytes(variables[i].type));
                if (variables[i].type == ptx::Type::pred) throw Unsupported("a predicate as a parameter");
                slots.insert(slots.begin() + std::min(i, slots.size()), {register_of(name).offset, bytes, bytes});
            }
        };
        in_register(code_.source->parameters, code_.parameters);
        in_register(code_.source->returns, code_.returns);
    }
    for (const auto& variable : code_.source->variables) {
        if (variable.space == ptx::Space::param) {
            slot(variable);
        } else if (variable.space == ptx::Space::local) {
            const uint64_t align = std::max<uint64_t>(8, variable.align), size = variable.size();
            const uint64_t at = (code_.local_bytes + kLocalGap + align - 1) / align * align;
            if (at + size > kMaxLocalBytes) throw Unsupported("more local memory than the virtual GPU holds");
            code_.local_variables.emplace_back(at, size);
            code_.local_names.push_back(plain_name(variable.name));
            locals_[variable.name] = at;
            code_.local_bytes = at + size;
        }
    }
    if (code_.local_bytes > 0) code_.local_bytes = (code_.local_bytes + kLocalGap + 15) / 16 * 16;
}

const ProgramDecoder::Declared* ProgramDecoder::declared(std::string_view name, uint32_t* number) const {
    *number = 0;
    const auto exact = registers_.find(name);
    if (exact != registers_.end() && exact->second.count == 0) return &exact->second;
    size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
    // `%r1<10>` is legal too: the prefix may end in digits, so every split is tried, longest number first.
    for (size_t at = digits; at < name.size(); ++at) {
        const auto found = registers_.find(name.substr(0, at));
        if (found == registers_.end() || found->second.count == 0 || name.size() - at > 9) continue;
        uint32_t value = 0;
        for (const char c : name.substr(at)) value = value * 10 + (c - '0');
        if (value >= found->second.count) continue;
        *number = value;
        return &found->second;
    }
    return nullptr;
}

ptx::Operand ProgramDecoder::expanded(const ptx::Operand& operand) {
    ptx::Operand result = operand;
    for (ptx::Operand& element : result.elements) element = expanded(element);
    uint32_t number;
    const Declared* found = operand.kind == ptx::Operand::Kind::name ? declared(operand.text, &number) : nullptr;
    if (found == nullptr || found->vector == 1) return result;
    result.kind = ptx::Operand::Kind::vector;
    result.elements.clear();
    for (uint32_t i = 0; i < found->vector; ++i) {
        ptx::Operand element;
        element.kind = ptx::Operand::Kind::name;
        element.text = program_.names.emplace_back(fmt::format("{}.{}", operand.text, "xyzw"[i]));
        result.elements.push_back(element);
    }
    return result;
}

bool ProgramDecoder::is_register(std::string_view name) const {
    uint32_t number;
    const auto [vector, element] = element_of_vector(name);
    const Declared* found = declared(name, &number);
    if (found != nullptr) return found->vector == 1;
    return vector != name && (found = declared(vector, &number)) != nullptr && element < found->vector;
}

bool ProgramDecoder::is_predicate(std::string_view name) const {
    uint32_t number;
    const Declared* found = declared(name, &number);
    return found != nullptr && found->type == ptx::Type::pred;
}

Decoder::Register ProgramDecoder::register_of(const ptx::Operand& operand) {
    uint32_t number;
    const Declared* found = declared(operand.text, &number);
    if (found != nullptr && found->vector == 1) return {found->offset + number * found->stride, found->type};
    const auto [vector, element] = element_of_vector(operand.text);
    found = vector == operand.text ? nullptr : declared(vector, &number);
    if (found == nullptr || element >= found->vector)
        throw Unsupported(fmt::format("'{}' is not a register", operand.text));
    return {found->offset + number * found->stride + element * (found->stride / found->vector), found->type};
}

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

uint32_t ProgramDecoder::named_constant(const ptx::Operand& operand, uint32_t bytes) {
    if (operand.text == "WARP_SZ") return constant(kLanes, bytes);
    const ptx::Type type = bytes == 8 ? ptx::Type::u64 : bytes == 4 ? ptx::Type::u32 : ptx::Type::u16;
    Constant constant;
    constant.bits = operand.offset;
    if (const auto special = special_named(operand.text)) {
        constant.kind = Constant::Kind::special;
        constant.which = static_cast<uint32_t>(*special);
        return add(constant, type);
    }
    if (bytes < 4) throw Unsupported(fmt::format("'{}' as a {}-byte value", operand.text, bytes));
    if (const auto local = locals_.find(operand.text); local != locals_.end()) {
        constant.kind = Constant::Kind::local;
        constant.bits += local->second;
        return add(constant, type);
    }
    const auto find = [&](const std::vector<ptx::Variable>& variables, std::string_view name) -> const ptx::Variable* {
        for (const auto& variable : variables)
            if (variable.name == name) return &variable;
        return nullptr;
    };
    const ptx::Variable* variable = find(code_.source->variables, operand.text);
    if (variable == nullptr) variable = find(module_.variables, operand.text);
    if (variable != nullptr && variable->space == ptx::Space::shared) {
        const auto [entry, fresh] = shareds_.try_emplace(variable->name, 0);
        if (fresh) {
            const bool dynamic = variable->size() == 0;
            const std::string name = dynamic && variable->name.empty() ? "shared" : plain_name(variable->name);
            if (variable->size() > kMaxSharedVariable)
                throw Unsupported("a shared variable larger than any GPU's shared memory");
            const auto same =
                std::find_if(program_.shared.begin(), program_.shared.end(),
                             [&](const SharedVariable& other) { return other.mangled == variable->name; });
            entry->second = same - program_.shared.begin();
            if (same == program_.shared.end())
                program_.shared.push_back(
                    {name, std::string(variable->name), variable->size(), std::max(1u, variable->align), dynamic, 0});
        }
        constant.kind = Constant::Kind::shared;
        constant.which = entry->second;
        return add(constant, type);
    }
    if (variable != nullptr && (variable->space == ptx::Space::global || variable->space == ptx::Space::constant)) {
        constant.kind = Constant::Kind::global;
        const auto known = std::find(program_.globals.begin(), program_.globals.end(), variable->name);
        constant.which = known - program_.globals.begin();
        if (known == program_.globals.end()) program_.globals.emplace_back(variable->name);
        return add(constant, type);
    }
    for (size_t i = 0; code_.source->is_entry && i < code_.source->parameters.size(); ++i) {
        if (code_.source->parameters[i].name != operand.text) continue;
        constant.bits += program_.parameters[i].first;  // of .param space: cvta makes it generic
        constant.kind = Constant::Kind::value;
        return add(constant, type);
    }
    for (size_t i = 0; i < module_.functions.size(); ++i) {
        if (module_.functions[i].name != operand.text || module_.functions[i].is_entry) continue;
        callee(operand.text);
        return this->constant(kFunctionBase + 16 * i, bytes);
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
    const Register found = register_of(operand);
    if (found.type != ptx::Type::pred) throw Unsupported(fmt::format("'{}' is not a predicate", operand.text));
    return found.offset;
}

uint32_t ProgramDecoder::label(std::string_view name) {
    const auto found = code_.source->labels.find(name);
    if (found == code_.source->labels.end())
        throw Unsupported(fmt::format("'{}' is not a label of this function", name));
    return code_.first + std::min<uint32_t>(found->second, code_.source->body.size());
}

const Extra* ProgramDecoder::keep(std::unique_ptr<Extra> extra) {
    program_.extras.push_back(std::move(extra));
    return program_.extras.back().get();
}

const ParamSlot* ProgramDecoder::parameter(std::string_view name) const {
    const auto found = params_.find(name);
    return found == params_.end() ? nullptr : &found->second;
}

bool ProgramDecoder::entry_parameter(std::string_view name, int64_t at, uint32_t bytes, uint32_t lane_bytes,
                                     uint32_t* offset) {
    if (!code_.source->is_entry) return false;
    for (size_t i = 0; i < code_.source->parameters.size(); ++i) {
        if (code_.source->parameters[i].name != name) continue;
        const auto [start, size] = program_.parameters[i];
        if (at < 0 || at + bytes > size) throw Unsupported(fmt::format("a read past the end of parameter '{}'", name));
        for (const Constant& known : code_.constants)
            if (known.kind == Constant::Kind::parameter && known.bits == start + static_cast<uint64_t>(at) &&
                known.which == bytes && known.bytes == lane_bytes) {
                *offset = known.offset;
                return true;
            }
        Constant constant{.kind = Constant::Kind::parameter, .which = bytes, .bits = start + static_cast<uint64_t>(at)};
        constant.bytes = static_cast<uint8_t>(lane_bytes);
        constant.offset = take(constant.bytes);
        code_.constants.push_back(constant);
        *offset = constant.offset;
        return true;
    }
    return false;
}

const FunctionCode& ProgramDecoder::callee(std::string_view name) {
    const ptx::Function* function = module_.find(name);
    if (function == nullptr || !function->has_body)
        throw Unsupported(fmt::format("a call of '{}', which has no body here", name));
    for (const auto& known : program_.functions)
        if (known->source == function) return *known;
    auto code = std::make_unique<FunctionCode>();
    code->name = function->name;
    code->source = function;
    program_.functions.push_back(std::move(code));
    return *program_.functions.back();
}

void ProgramDecoder::indirect() {
    for (const auto& variable : module_.variables)
        for (const auto& relocation : variable.relocations) {
            const ptx::Function* function = module_.find(relocation.symbol);
            if (function != nullptr && function->has_body && !function->is_entry) callee(relocation.symbol);
        }
}

}  // namespace recuda::vgpu

// Names of one function: what registers, parameters, local variables, labels and called functions stand for.
#include <fmt/format.h>

#include <algorithm>

#include "device/vgpu/demand.h"
#include "device/vgpu/faults.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

constexpr uint32_t kMaxRegisterBytes = 16u << 20;  // of one activation of a warp
constexpr uint32_t kMaxLocalBytes = 512u << 10;    // a thread and activation

uint32_t register_bytes(ptx::Type type) {
    if (type == ptx::Type::pred) return 4;
    return std::max<uint32_t>(2, ptx::size_bytes(type)) * kLanes;
}

}  // namespace

ProgramDecoder::ProgramDecoder(Program& program, FunctionCode& code, const ptx::Module& module)
    : program_(program), code_(code), module_(module), registers_(*code.source) {
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
        vectors_ = vectors_ || group.vector != 1;
        const uint32_t count = std::max(1u, group.count);
        const uint32_t bytes = register_bytes(group.type) * group.vector;
        const uint32_t offset = take(0);
        if (count > (kMaxRegisterBytes - offset) / bytes)
            throw Unsupported("more registers than the virtual GPU holds");
        code_.register_bytes += count * bytes;
        register_offsets_[&group] = offset;
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
        variables_[variable.name] = &variable;
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

ptx::Operand ProgramDecoder::expanded(const ptx::Operand& operand) {
    ptx::Operand result = operand;
    for (ptx::Operand& element : result.elements) element = expanded(element);
    if (operand.kind != ptx::Operand::Kind::name) return result;
    const auto found = registers_.find(operand.text);
    if (!found || found->is_scalar()) return result;
    result.kind = ptx::Operand::Kind::vector;
    result.elements.clear();
    for (uint32_t i = 0; i < found->declaration->vector; ++i) {
        ptx::Operand element;
        element.kind = ptx::Operand::Kind::name;
        element.text = program_.names.emplace_back(fmt::format("{}.{}", operand.text, "xyzw"[i]));
        result.elements.push_back(element);
    }
    return result;
}

bool ProgramDecoder::is_register(std::string_view name) const {
    const auto found = registers_.find(name);
    return found && found->is_scalar();
}

bool ProgramDecoder::is_predicate(std::string_view name) const {
    const auto found = registers_.find(name);
    return found && found->declaration->type == ptx::Type::pred;
}

Decoder::Register ProgramDecoder::register_of(const ptx::Operand& operand) {
    const auto found = registers_.find(operand.text);
    if (!found || !found->is_scalar()) throw Unsupported(fmt::format("'{}' is not a register", operand.text));
    const uint32_t lane = register_bytes(found->declaration->type);
    const uint32_t number = found->number * found->declaration->vector + found->element.value_or(0);
    return {register_offsets_.at(found->declaration) + number * lane, found->declaration->type};
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
        if (at < 0 || bytes > size || static_cast<uint64_t>(at) > size - bytes)
            throw Unsupported(fmt::format("a read past the end of parameter '{}'", name));
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

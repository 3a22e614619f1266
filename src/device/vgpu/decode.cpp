#include "device/vgpu/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "device/vgpu/assignment.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

using Table = std::unordered_map<std::string_view, std::vector<DecodeFunction>>;

const Table& table() {
    static const Table rows = [] {
        Table joined;
        for (const auto group : {integer_rows(), bit_rows(), float_rows(), half_rows(), convert_rows(), select_rows(),
                                 move_rows(), memory_rows(), atomic_rows(), control_rows(), cluster_rows(),
                                 mbarrier_rows(), warp_rows(), matrix_rows()})
            for (const OpRow& row : group) joined[row.opcode].push_back(row.decode);
        return joined;
    }();
    return rows;
}

std::string place(const ptx::Statement& statement) {
    if (statement.place.source_line == 0) return fmt::format("ptx line {}", statement.place.line);
    return fmt::format("line {} (ptx line {})", statement.place.source_line, statement.place.line);
}

/// Writes the shape of control flow into the program: where an instruction may go.
void note_flow(ProgramDecoder& decoder, const ptx::Statement& statement, const Instruction& in) {
    Program& program = decoder.program();
    const std::string_view opcode = statement.opcode();
    const bool always = statement.guard.kind == ptx::Operand::Kind::none;
    if (opcode == "bra" && !statement.operands.empty()) {
        program.jumps[in.index] = {decoder.label(statement.operands[0].text)};
        program.ends[in.index] = always;
    } else if (opcode == "brx") {
        std::vector<uint32_t>& targets = program.jumps[in.index];
        if (statement.operands.size() > 1) {
            const auto list = decoder.function().branch_targets.find(statement.operands[1].text);
            if (list != decoder.function().branch_targets.end())
                for (const auto label : list->second) targets.push_back(decoder.label(label));
        }
        program.ends[in.index] = always;
    } else if (opcode == "ret" || opcode == "exit" || opcode == "trap") {
        program.ends[in.index] = always;
    }
}

bool is_video_operand(const ptx::Operand& operand) {
    return operand.minus || !operand.selector.empty() || std::ranges::any_of(operand.elements, is_video_operand);
}

/// Selectors and minus signs are of video instructions, whose names begin with v; others would pass over them.
void refuse_video_operands(const ptx::Statement& statement) {
    if (!statement.opcode().starts_with('v') && std::ranges::any_of(statement.operands, is_video_operand))
        throw Unsupported(
            fmt::format("unsupported: {} at {}: a selected or negated operand", statement.text(), place(statement)));
}

}  // namespace

void ProgramDecoder::decode_statement(const ptx::Statement& statement, Instruction& in) {
    const auto name = [&] { return one_line(statement.text(), 100); };
    const auto rows = table().find(statement.opcode());
    if (rows == table().end()) throw Unsupported(fmt::format("unsupported: {} at {}", name(), place(statement)));
    refuse_video_operands(statement);
    try {
        for (const DecodeFunction decode : rows->second) {
            try {
                decode(*this, statement, in);
                return;
            } catch (const NotMine&) {
            }
        }
    } catch (const Unsupported& error) {
        throw Unsupported(fmt::format("unsupported: {} at {}: {}", name(), place(statement), one_line(error.what())));
    }
    throw Unsupported(fmt::format("unsupported: {} at {}", name(), place(statement)));
}

void ProgramDecoder::run() {
    const auto& body = code_.source->body;
    code_.first = program_.code.size();
    code_.count = body.size() + 1;
    program_.code.resize(code_.first + code_.count);
    program_.ends.resize(program_.code.size());
    static const ptx::Statement kReturn = [] {
        ptx::Statement statement;
        statement.parts = {"ret"};
        return statement;
    }();
    for (size_t i = 0; i <= body.size(); ++i) {
        ptx::Statement implied = kReturn;
        if (i == body.size() && i > 0) implied.place = body.back().place;
        const ptx::Statement& statement = i < body.size() ? body[i] : implied;
        Instruction in;
        in.index = code_.first + i;
        in.ptx_line = statement.place.line;
        in.source_line = statement.place.source_line;
        if (statement.guard.kind != ptx::Operand::Kind::none) {
            in.guard = predicate(statement.guard);
            in.guard_negated = statement.guard.negated;
        }
        if (vectors_) {
            ptx::Statement plain = statement;
            for (ptx::Operand& operand : plain.operands) operand = expanded(operand);
            decode_statement(plain, in);
        } else {
            decode_statement(statement, in);
        }
        program_.code[in.index] = in;
        note_flow(*this, statement, in);
    }
    track_assignments(*this);
}

std::unique_ptr<Program> decode(const ptx::Module& module, const ptx::Function& entry, bool ptx_lines) {
    auto program = std::make_unique<Program>();
    program->ptx_lines = ptx_lines;
    program->module = &module;
    for (uint32_t i = 0; i < module.variables.size(); ++i)
        program->variable_index.try_emplace(module.variables[i].name, i);
    for (uint32_t i = 0; i < module.functions.size(); ++i)
        program->function_index.try_emplace(module.functions[i].name, i);
    uint64_t at = 0;
    for (const auto& parameter : entry.parameters) {
        const uint64_t align = std::clamp<uint64_t>(parameter.align, 1, 128), size = parameter.size();
        at = (at + align - 1) / align * align;
        if (at + size > kMaxParameterBytes) throw Unsupported("unsupported: more parameters than a launch can have");
        program->parameters.emplace_back(at, size);
        at += size;
    }
    program->parameter_bytes = at;
    auto code = std::make_unique<FunctionCode>();
    code->name = entry.name;
    code->source = &entry;
    program->entry = code.get();
    program->functions.push_back(std::move(code));
    for (size_t i = 0; i < program->functions.size(); ++i) {
        if (program->functions.size() > 4096)
            throw Unsupported("unsupported: more functions than the virtual GPU holds");
        try {
            ProgramDecoder(*program, *program->functions[i], module).run();
        } catch (const Unsupported& error) {
            const std::string_view what = error.what();
            if (what.starts_with("unsupported: ")) throw;
            throw Unsupported(fmt::format("unsupported: function {}: {}", one_line(program->functions[i]->name, 100),
                                          one_line(what)));
        }
    }
    lay_out_shared(*program);
    if (program->functions.size() == 1) program->writes = writes_of(module, entry);
    return program;
}

}  // namespace recuda::vgpu

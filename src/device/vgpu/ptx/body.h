// The body of a function: declarations, labels and statements, in nested scopes.
#pragma once

#include "device/vgpu/ptx/cursor.h"
#include "device/vgpu/ptx/operands.h"
#include "device/vgpu/ptx/ptx.h"
#include "device/vgpu/ptx/scopes.h"
#include "device/vgpu/ptx/source_lines.h"

namespace recuda::vgpu::ptx {

class BodyReader {
 public:
    /// Reads into `function`, whose signature is known. `frames` gets the key into `lines` of every statement.
    BodyReader(Cursor& cursor, Module& module, Function& function, SourceLines& lines, std::vector<uint32_t>& frames)
        : cursor_(cursor),
          function_(function),
          lines_(lines),
          frames_(frames),
          scopes_(module.names),
          operands_(cursor, scopes_) {}

    /// From behind the opening brace to behind the closing one.
    void read(uint64_t& initial_bytes);

 private:
    void directive(std::string_view name, uint64_t& initial_bytes);
    std::string_view declare(std::string_view name);
    void declare_registers(std::vector<RegisterDeclaration> declarations);
    void word_at_start();
    void label(std::string_view name);
    void label_directive(std::string_view label, std::string_view name);
    void statement(std::string_view opcode);
    void read_parts(Statement& statement, std::string_view opcode);
    void resolve_labels();
    void resolve_labels(Operand& operand, uint32_t scope);

    Cursor& cursor_;
    Function& function_;
    SourceLines& lines_;
    std::vector<uint32_t>& frames_;
    Scopes scopes_;
    OperandReader operands_;
    Operand guard_;
    std::vector<uint32_t> statement_scopes_;
    std::vector<std::pair<std::string_view, uint32_t>> target_lists_;  // key of branch_targets, scope
};

}  // namespace recuda::vgpu::ptx

// Operands of a statement: every form of PTX ISA 9.0, chapter 6.
#pragma once

#include <string_view>
#include <vector>

#include "device/vgpu/ptx/cursor.h"
#include "device/vgpu/ptx/ptx.h"
#include "device/vgpu/ptx/scopes.h"

namespace recuda::vgpu::ptx {

class OperandReader {
 public:
    OperandReader(Cursor& cursor, Scopes& scopes) : cursor_(cursor), scopes_(scopes) {}

    /// Operands up to the ';', which is taken. In a call `(a, b)` is a list, elsewhere parentheses belong to an
    /// expression.
    std::vector<Operand> read_all(bool is_call);

    /// The name of a guard, behind its '@'.
    Operand read_guard();

    /// A name with its component ("%tid.x", "four.z") or nothing, as it stands.
    std::string_view accept_name();

 private:
    Operand operand(bool is_call, int depth);
    Operand name(std::string_view text);
    Operand address(int depth);
    Operand list(char open, char close, int depth);
    Operand constant();
    void base(Operand& operand);

    Cursor& cursor_;
    Scopes& scopes_;
};

}  // namespace recuda::vgpu::ptx

// Which bytes of a function's registers anything looks at.
//
// Compilers widen loads: where neighbouring elements are read, gaps and tails are read with them in one vector, as far
// as the alignment allows, and nobody uses those elements. They are no access that the program makes. A backward
// analysis over all statements, blind to control flow and so on the safe side, says which bytes are used.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "device/vgpu/ptx/ptx.h"

namespace recuda::vgpu {

class ProgramDecoder;

/// Whether operand 0 of the statement (and the second half of `d|p`) is written and not read.
bool has_destination(const ptx::Statement& statement);

/// Bytes in use by the offset of the register: bit i for byte i of a lane. A register that is missing is not used.
class Demand {
 public:
    /// Of the function that the decoder decodes.
    explicit Demand(ProgramDecoder& decoder);

    /// Bytes of a load's element in use, when `bytes` of memory fill this operand's register.
    uint32_t of(const ptx::Operand& operand, uint32_t bytes) const;
    /// Whether nothing looks at a result, of one register or several.
    bool unread(const ptx::Operand& result) const;

 private:
    using Operand = ptx::Operand;
    void index_definitions();
    void look_again(uint32_t offset);
    void visit(const ptx::Statement& statement);
    bool visit_special(const ptx::Statement& statement, uint32_t wanted);
    bool visit_move(const ptx::Statement& statement, uint32_t wanted);
    bool visit_bits(const ptx::Statement& statement, uint32_t wanted);
    void use(const Operand& operand, uint32_t bytes);
    void use_all(const Operand& operand) { use(operand, ~0u); }
    uint32_t known(const Operand& operand) const;
    uint32_t width(const Operand& operand) const;

    ProgramDecoder& decoder_;
    std::unordered_map<uint32_t, uint32_t> bytes_;
    std::unordered_map<uint32_t, std::vector<uint32_t>> definitions_;  // register → statements that write it
    std::vector<uint32_t> pending_;                                    // statements to visit again
    std::vector<bool> queued_;
    bool everything_ = false;
};

}  // namespace recuda::vgpu

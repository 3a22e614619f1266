// From a parsed statement to a pre-decoded instruction. One row a PTX opcode, one file a group of rows (ops/*.cpp):
// adding an instruction is one row, one function and one test.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "device/vgpu/machine.h"
#include "device/vgpu/ptx/ptx.h"

namespace recuda::vgpu {

/// Thrown while decoding: this opcode, modifier or operand form is not implemented. Becomes the outcome `unsupported`.
class Unsupported : public std::runtime_error {
 public:
    using std::runtime_error::runtime_error;
};

/// Resolves names of one function: registers and constants to offsets, labels to statement numbers, variables to
/// addresses.
class Decoder {
 public:
    virtual ~Decoder() = default;

    /// Offset and declared type of a register; throws Error for an unknown name.
    struct Register {
        uint32_t offset;
        ptx::Type type;
    };
    virtual Register register_of(const ptx::Operand& operand) = 0;

    /// Offset of a source operand read as `type`: a register of at least that width, a broadcast constant, the address
    /// of a variable, or a special register that is the same for the whole launch. A narrower type may be read from a
    /// wider register's low bits only where the caller says so (ld, st, cvt): then `register_of` is the call to use.
    virtual uint32_t source(const ptx::Operand& operand, ptx::Type type) = 0;

    /// Offset of a destination register whose width must be that of `type`; `_` gives a scratch register.
    virtual uint32_t destination(const ptx::Operand& operand, ptx::Type type) = 0;

    /// Offset of a predicate; the constant true for none. A negated source predicate (`!%p`) is not resolved here: see
    /// `negated`.
    virtual uint32_t predicate(const ptx::Operand& operand) = 0;

    /// Offset of a fresh scratch register of `bytes` a lane, private to this function.
    virtual uint32_t scratch(uint32_t bytes) = 0;

    /// Offset of a broadcast constant of `bytes` a lane.
    virtual uint32_t constant(uint64_t bits, uint32_t bytes) = 0;

    /// Offset of the function's carry flag (CC.CF, one mask), which add.cc and its like hand on.
    uint32_t carry() {
        if (carry_ == kNone) carry_ = scratch(sizeof(Mask));
        return carry_;
    }

    virtual uint32_t label(std::string_view name) = 0;  // statement number

    /// Takes ownership of what an instruction needs beyond its operands.
    virtual const Extra* keep(std::unique_ptr<Extra> extra) = 0;

    virtual const ptx::Module& module() const = 0;
    virtual const ptx::Function& function() const = 0;

 private:
    static constexpr uint32_t kNone = 0xffffffffu;
    uint32_t carry_ = kNone;
};

/// Decodes one statement into `in` (run, operands, mix …); guard, lines and index are filled in by the caller. Throws
/// Unsupported.
using DecodeFunction = void (*)(Decoder& decoder, const ptx::Statement& statement, Instruction& in);

struct OpRow {
    std::string_view opcode;  // "add"
    DecodeFunction decode;
};

// The groups. decode.cpp joins them into one table.
std::span<const OpRow>
integer_rows();  // add sub mul mad div rem neg abs min max sad for s/u 16…64; carry chains; mul24 …; dp4a
std::span<const OpRow>
bit_rows();  // and or xor not cnot lop3 shl shr shf prmt bfe bfi popc clz brev bmsk fns bfind szext
std::span<const OpRow> float_rows();    // f32 f64: add … fma div rcp sqrt rsqrt ex2 lg2 sin cos tanh testp copysign
std::span<const OpRow> half_rows();     // f16 f16x2 bf16 bf16x2 forms
std::span<const OpRow> convert_rows();  // cvt, cvt.pack
std::span<const OpRow> select_rows();   // setp set selp slct
std::span<const OpRow> move_rows();     // mov (vectors and packing too), cvta, isspacep, special registers
std::span<const OpRow> memory_rows();   // ld ldu st prefetch, cp.async, fences …
std::span<const OpRow> atomic_rows();   // atom red
std::span<const OpRow> control_rows();  // bra brx call ret exit trap bar barrier …
std::span<const OpRow> cluster_rows();  // barrier.cluster mapa getctarank
std::span<const OpRow> mbarrier_rows();
std::span<const OpRow> tensor_map_rows();  // tensormap, and what other GPUs or launches are needed for
std::span<const OpRow> warp_rows();        // shfl vote match activemask redux elect bar.warp
std::span<const OpRow> matrix_rows();      // ldmatrix stmatrix mma wmma

/// add, mul, min and the like exist for integers, floats and halves: the table maps an opcode to several rows, and a
/// row's function declines a statement of another group's type by returning from `matches`. To keep rows simple, an
/// opcode that several groups share has one row in each, tried in the order above; a function throws NotMine when the
/// type is not its own.
struct NotMine {};

}  // namespace recuda::vgpu

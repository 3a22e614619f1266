// The machine that instructions act on: a warp's registers as lanes, and the pre-decoded instruction.
//
// A register is 32 lanes side by side (16-bit: 64 bytes, 32-bit: 128, 64-bit: 256, 128-bit: 512) at a byte offset of
// the warp's register file; a predicate is one 32-bit mask. Constants of a function lie in the same file behind the
// registers, so every operand is an offset and every handler one loop over lanes that the host compiler vectorises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace recuda::vgpu {

inline constexpr uint32_t kLanes = 32;
using Mask = uint32_t;
inline constexpr Mask kFullMask = 0xffffffffu;

struct Warp;
struct Instruction;

/// Runs one instruction for the lanes of `active` (guard already applied, never 0). Control flow, waiting and faults
/// are told to the warp.
using Handler = void (*)(Warp& warp, const Instruction& in, Mask active);

/// Kinds for the instruction mix of the counters.
enum class Mix : uint8_t {
    integer,
    floating,
    half,
    fma,
    convert,
    compare,
    move,
    branch,
    memory,
    shared,
    atomic,
    barrier,
    warp,
    special,
    tensor
};

/// What an instruction needs beyond operands (vector registers of a load, a call's target): made by the decoder, owned
/// by the function.
struct Extra {
    virtual ~Extra() = default;
};

struct Instruction {
    Handler run = nullptr;
    uint32_t d = 0, a = 0, b = 0, c = 0,
             e = 0;             // byte offsets into the register file (registers, predicates and constants alike)
    uint32_t guard = kNoGuard;  // offset of the guard's predicate
    bool guard_negated = false;
    bool guard_tracked = false;  // its predicate may be undefined (assignment.h)
    bool unread = false;         // an atomic or a test whose result nothing uses
    bool read_only = false;      // a load of what the launch must not write
    Mix mix = Mix::integer;
    uint8_t mode = 0;       // free for the handler (rounding, comparison, …)
    uint8_t width = 0;      // free for the handler (bytes)
    int64_t immediate = 0;  // free for the handler (address offset, branch target, …)
    const Extra* extra = nullptr;
    uint32_t ptx_line = 0, source_line = 0;
    uint32_t index = 0;  // position in its function: key of per-instruction caches and counters

    static constexpr uint32_t kNoGuard = 0xffffffffu;
};

/// The register file alone, as arithmetic sees a warp. `Warp` (warp.h) derives from it.
struct RegisterFile {
    std::byte* registers = nullptr;

    template <typename T>
    T* lanes(uint32_t offset) {
        return reinterpret_cast<T*>(registers + offset);
    }
    Mask& predicate(uint32_t offset) { return *reinterpret_cast<Mask*>(registers + offset); }
    RegisterFile& file() { return *this; }
};

}  // namespace recuda::vgpu

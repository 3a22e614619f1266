// Parts of the memory instructions that have files of their own.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "device/vgpu/decode.h"
#include "device/vgpu/memory/gather.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {

/// Registers of a vector, element by element.
struct Vector : Extra {
    std::vector<uint32_t> offsets;
    std::vector<Piece> pieces;  // of a load, where not all of its bytes are used
};

/// 128 bits as two halves.
struct Wide {
    uint64_t low, high;
};

/// Loads of a signed type fill a wider register with its sign.
bool is_signed(ptx::Type type);

/// Offset and bytes a lane of an element's register; a load's sink gets a scratch register, a store's literal a
/// constant.
std::pair<uint32_t, uint32_t> element_register(ProgramDecoder& decoder, const ptx::Operand& operand, ptx::Type type,
                                               bool loads);

/// ld.param and st.param by name (parameter.cpp); false where the address is no variable in .param space.
bool decode_parameter(ProgramDecoder& decoder, const ptx::Statement& statement, Instruction& in, ptx::Type type,
                      bool loads);

// order.cpp: what hints, orders or copies without registers.
void decode_hint(Decoder& decoder, const ptx::Statement& statement, Instruction& in);
void decode_createpolicy(Decoder& decoder, const ptx::Statement& statement, Instruction& in);
void decode_fence(Decoder& decoder, const ptx::Statement& statement, Instruction& in);
void decode_cp(Decoder& decoder, const ptx::Statement& statement, Instruction& in);
/// cp.async and its waits (async_copy.cpp).
void decode_async_copy(Decoder& decoder, const ptx::Statement& statement, Instruction& in);
/// cp.async.bulk and cp.reduce.async.bulk (bulk.cpp), of tensors too (tensor_copy.cpp).
void decode_bulk(Decoder& decoder, const ptx::Statement& statement, Instruction& in);
void decode_tensor_copy(Decoder& decoder, const ptx::Statement& statement, Instruction& in);
/// discard (discard.cpp).
void decode_discard(Decoder& decoder, const ptx::Statement& statement, Instruction& in);
/// st.async and red.async (bulk.cpp).
void decode_remote(Decoder& decoder, const ptx::Statement& statement, Instruction& in);

}  // namespace recuda::vgpu

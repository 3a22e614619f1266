// What blocks of a cluster share: its barrier, and addresses in each other's shared memory.
#include "device/vgpu/cluster.h"

#include "device/vgpu/memory/layout.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"

namespace recuda::vgpu {
namespace {

// barrier.cluster: in.mode says whether an arrival releases.

void arrive(Warp& warp, const Instruction& in, Mask active) {
    warp.block->cluster->arrive(warp, in, active, in.mode != 0);
}

void wait(Warp& warp, const Instruction& in, Mask active) { warp.block->cluster->wait(warp, in, active); }

void decode_barrier(Decoder&, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (!modifiers.take("cluster")) not_mine();
    if (modifiers.take("arrive")) {
        in.mode = !modifiers.take("relaxed");
        modifiers.take("release");
        in.run = arrive;
    } else if (modifiers.take("wait")) {
        modifiers.take("acquire");
        in.run = wait;
    } else {
        throw Unsupported("this form");
    }
    modifiers.take("aligned");
    modifiers.finish({0});
    in.mix = Mix::barrier;
}

/// Addresses of 4 or 8 bytes, generic ones or within shared memory.
ptx::Type take_address_type(Modifiers& modifiers) {
    const ptx::Type type = modifiers.type();
    if (type != ptx::Type::u32 && type != ptx::Type::u64) throw Unsupported("addresses of this type");
    return type;
}

/// The same variable in the block of rank in.b.
template <typename T, bool kGeneric>
void map_address(Warp& warp, const Instruction& in, Mask active) {
    const T* a = warp.lanes<T>(in.a);
    const uint32_t* b = warp.lanes<uint32_t>(in.b);
    for_lanes(warp.lanes<T>(in.d), active, [&](uint32_t i) {
        const uint64_t inside = kGeneric ? a[i] - kSharedWindow : a[i];
        const uint64_t mapped = with_rank(inside, b[i]);
        return static_cast<T>(kGeneric ? mapped + kSharedWindow : mapped);
    });
}

void decode_mapa(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const bool generic = !modifiers.take("shared::cluster");
    const ptx::Type type = take_address_type(modifiers);
    modifiers.finish({3});
    if (generic && type == ptx::Type::u32) throw Unsupported("generic addresses of 32 bits");
    set_operands(decoder, statement, in, type, {type, ptx::Type::u32});
    in.mix = Mix::integer;
    in.run = generic                  ? map_address<uint64_t, true>
             : type == ptx::Type::u32 ? map_address<uint32_t, false>
                                      : map_address<uint64_t, false>;
}

/// The rank of the block whose shared memory holds the address.
template <typename T, bool kGeneric>
void rank_of(Warp& warp, const Instruction& in, Mask active) {
    const T* a = warp.lanes<T>(in.a);
    const uint32_t own = warp.block->rank;
    for_active_lanes(warp.lanes<uint32_t>(in.d), active,
                     [&](uint32_t i) { return rank_of_address(kGeneric ? a[i] - kSharedWindow : a[i]).value_or(own); });
}

void decode_getctarank(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    const bool generic = !modifiers.take("shared::cluster");
    const ptx::Type type = take_address_type(modifiers);
    modifiers.finish({2});
    if (generic && type == ptx::Type::u32) throw Unsupported("generic addresses of 32 bits");
    set_operands(decoder, statement, in, ptx::Type::u32, {type});
    in.mix = Mix::integer;
    in.run = generic                  ? rank_of<uint64_t, true>
             : type == ptx::Type::u32 ? rank_of<uint32_t, false>
                                      : rank_of<uint64_t, false>;
}

constexpr OpRow kRows[] = {{"barrier", decode_barrier}, {"mapa", decode_mapa}, {"getctarank", decode_getctarank}};

}  // namespace

std::span<const OpRow> cluster_rows() { return kRows; }

}  // namespace recuda::vgpu

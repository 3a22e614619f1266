// Cache hints and policies, and fences.
#include "device/vgpu/block.h"
#include "device/vgpu/memory/access.h"
#include "device/vgpu/memory/global_race.h"
#include "device/vgpu/ops/address.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/memory.h"

namespace recuda::vgpu {

using ptx::Space;

namespace {

void nothing(Warp&, const Instruction&, Mask) {}

/// in.mode: scope and what it orders.
void fence(Warp& warp, const Instruction& in, Mask active) {
    warp.block->order.fence(warp.index, active, scope_of(in.mode), (in.mode & kAcquires) != 0,
                            (in.mode & kReleases) != 0);
}

/// A cache policy: its value means nothing here.
void make_policy(Warp& warp, const Instruction& in, Mask active) {
    for_lanes(warp.lanes<uint64_t>(in.d), active, [](uint32_t) { return uint64_t{0}; });
}

}  // namespace

void hand_on(Warp& warp, const Instruction& in, Space space, const Access& access, const uint64_t* address, Mask read,
             Mask written, bool keeps) {
    Block& block = *warp.block;
    const bool shared = space == ptx::Space::shared;
    if (!shared && !access.followed) return;
    bool news = false;
    for (Mask rest = read | written; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest), thread = warp.thread(lane);
        const auto place = [&]() -> Order::Place& {
            return shared ? block.shared.place(address[lane]) : block.launch->races->place(address[lane]);
        };
        if ((read >> lane & 1) != 0) {
            const Order::Place* known = shared ? &place() : block.launch->races->find_place(address[lane]);
            if (known != nullptr) news |= block.order.strong_read(thread, *known, in.mode);
        }
        if ((written >> lane & 1) != 0) news |= block.order.strong_write(thread, place(), in.mode, keeps);
    }
    if (news && !shared) block.show_flag(warp);
}

void decode_hint(Decoder&, const ptx::Statement&, Instruction& in) {
    in.mix = Mix::special;
    in.run = nothing;
}

void decode_fence(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    in.mix = Mix::special;
    in.run = nothing;
    // What orders the proxies of one thread orders no threads, unless it says so.
    if (statement.has("proxy") && !statement.has("acquire") && !statement.has("release")) return;
    Program& program = static_cast<ProgramDecoder&>(decoder).program();
    program.orders = true;
    const Scope scope = statement.has("cta") ? Scope::block : statement.has("cluster") ? Scope::cluster : Scope::gpu;
    program.narrow = program.narrow || scope != Scope::gpu;
    in.mode = narrowed(scope);
    if (!statement.has("acquire")) in.mode |= kReleases;
    if (!statement.has("release")) in.mode |= kAcquires;
    in.run = fence;
}

void decode_createpolicy(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    in.mix = Mix::special;
    in.d = decoder.destination(statement.operands.at(0), ptx::Type::b64);
    in.run = make_policy;
}

void decode_cp(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    if (statement.has("tensor")) return decode_tensor_copy(decoder, statement, in);
    if (statement.has("bulk")) return decode_bulk(decoder, statement, in);
    return decode_async_copy(decoder, statement, in);
}

}  // namespace recuda::vgpu

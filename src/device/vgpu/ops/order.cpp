// Cache hints and policies, fences, and asynchronous copies into shared memory.
#include <algorithm>
#include <bit>
#include <cstring>

#include "device/vgpu/block.h"
#include "device/vgpu/memory/access.h"
#include "device/vgpu/ops/address.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/memory.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;
using ptx::Space;

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

// cp.async: the bytes are there at once; what waits for them has nothing to wait for.

constexpr uint8_t kHasSize = 1, kIgnores = 2;

/// in.a: shared address, in.b: global address (64 bits), in.immediate / in.e: their offsets, in.c: source bytes or the
/// ignore predicate.
struct Copy : Extra {
    int64_t source_offset = 0;
    uint8_t form = 0;
    bool negated = false;
};

void copy_async(Warp& warp, const Instruction& in, Mask active) {
    const auto& copy = static_cast<const Copy&>(*in.extra);
    alignas(64) uint64_t to[kLanes], from[kLanes];
    addresses_of(warp, in, active, to);
    Instruction source = in;
    source.a = in.b;
    source.mode |= kWideBase;
    source.immediate = copy.source_offset;
    // What is read: all bytes, or the first `size` and zeros behind them.
    constexpr uint32_t kStep = 32;
    alignas(64) std::byte values[kLanes * kStep] = {};
    for (Mask rest = active; rest != 0;) {
        uint32_t size = in.width;
        Mask lanes = rest;
        if (copy.form == kHasSize) {
            const uint32_t* sizes = warp.lanes<uint32_t>(in.c);
            size = std::min<uint32_t>(in.width, sizes[first_lane(rest)]);
            lanes = mask_of([&](uint32_t i) { return std::min<uint32_t>(in.width, sizes[i]) == size; }) & rest;
        } else if (copy.form == kIgnores) {
            const Mask ignored = copy.negated ? ~warp.predicate(in.c) : warp.predicate(in.c);
            size = (ignored >> first_lane(rest) & 1) != 0 ? 0 : in.width;
            lanes = rest & (size == 0 ? ignored : ~ignored);
        }
        rest &= ~lanes;
        if (size == 0) continue;
        Access access;
        addresses_of(warp, source, lanes, from);
        // A size that is no power of two is read in bytes, at the alignment of its own.
        const uint32_t step = std::has_single_bit(size) ? size : 1;
        for (uint32_t at = 0; at < size; at += step) {
            alignas(64) uint64_t part[kLanes];
            for (uint32_t lane = 0; lane < kLanes; ++lane) part[lane] = from[lane] + at;
            if (!reach(warp, in, Space::global, part, lanes, step, Intent::read, access)) return;
            for (Mask some = lanes; some != 0; some &= some - 1) {
                const uint32_t lane = first_lane(some);
                const std::byte* host = access.contiguous ? access.lane[0] + size_t{lane} * step : access.lane[lane];
                std::memcpy(values + lane * kStep + at, host, step);
            }
        }
    }
    const Pattern pattern = pattern_of(to, active, in.width);
    if (!prepare_shared(warp, in, to, active, in.width, pattern)) return;
    ++warp.block->changes;
    warp.block->shared.write(warp, in, to, active, in.width, pattern, values);
}

}  // namespace

void hand_on(Warp& warp, const Instruction& in, Space space, const Access& access, const uint64_t* address, Mask read,
             Mask written, bool keeps) {
    Block& block = *warp.block;
    const bool shared = space == ptx::Space::shared;
    if (!shared && !access.followed) return;
    for (Mask rest = read | written; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest), thread = warp.thread(lane);
        const auto place = [&]() -> Order::Place& {
            return shared ? block.shared.place(address[lane]) : block.launch->races->place(address[lane]);
        };
        if ((read >> lane & 1) != 0) {
            const Order::Place* known = shared ? &place() : block.launch->races->find_place(address[lane]);
            if (known != nullptr) block.order.strong_read(thread, *known, in.mode);
        }
        if ((written >> lane & 1) != 0) block.order.strong_write(thread, place(), in.mode, keeps);
    }
}

void decode_hint(Decoder&, const ptx::Statement&, Instruction& in) {
    in.mix = Mix::special;
    in.run = nothing;
}

void decode_fence(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    in.mix = Mix::special;
    in.run = nothing;
    // What orders the proxies of one thread orders no threads.
    if (statement.has("proxy")) return;
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

void decode_cp(Decoder& base, const ptx::Statement& statement, Instruction& in) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    if (statement.has("bulk")) return decode_bulk(base, statement, in);
    Modifiers modifiers(statement);
    if (!modifiers.take("async")) throw Unsupported("this form");
    if (modifiers.take("commit_group") || modifiers.take("wait_group") || modifiers.take("wait_all"))
        return decode_hint(base, statement, in);
    if (!(modifiers.take("ca") || modifiers.take("cg"))) throw Unsupported("this form");
    if (!(modifiers.take("shared") || modifiers.take("shared::cta")) || !modifiers.take("global"))
        throw Unsupported("this form");
    const bool policy = take_cache(modifiers);
    modifiers.finish({3, 4, 5});
    const auto& operands = statement.operands;
    if (operands[2].kind != Kind::integer || (operands[2].bits != 4 && operands[2].bits != 8 && operands[2].bits != 16))
        throw Unsupported("a copy of this size");
    in.width = static_cast<uint8_t>(operands[2].bits);
    auto copy = std::make_unique<Copy>();
    Instruction source;
    resolve_address(decoder, operands[1], source);
    if ((source.mode & kWideBase) == 0) throw Unsupported("a global address of 32 bits");
    in.b = source.a;
    copy->source_offset = source.immediate;
    resolve_address(decoder, operands[0], in);
    const size_t extra = operands.size() - (policy ? 1 : 0);
    if (extra == 4) {
        const bool ignores = operands[3].kind == Kind::name && decoder.is_predicate(operands[3].text);
        copy->form = ignores ? kIgnores : kHasSize;
        copy->negated = operands[3].negated;
        in.c = decoder.source(operands[3], ignores ? ptx::Type::pred : ptx::Type::u32);
    } else if (extra != 3) {
        throw Unsupported("this form");
    }
    note_granule(decoder.program(), in.width);
    in.mix = Mix::memory;
    in.run = copy_async;
    in.extra = decoder.keep(std::move(copy));
}

}  // namespace recuda::vgpu

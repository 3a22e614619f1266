#include "device/vgpu/warp.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/vgpu/assignment.h"
#include "device/vgpu/block.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/special.h"

namespace recuda::vgpu {
namespace {

constexpr uint32_t kMaxDepth = 1024;              // of calls
constexpr uint64_t kMaxFrameBytes = 64ull << 20;  // of all activations of a warp; a GPU's thread has 512 KiB
constexpr uint32_t kLoopsATurn = 2048;            // backward branches before a group gives way to others of its warp

uint64_t frame_bytes(const FunctionCode& function) {
    return function.register_bytes + uint64_t{function.local_bytes} * 2 * kLanes;
}

template <typename T>
void broadcast(std::byte* at, uint64_t bits) {
    T* lanes = reinterpret_cast<T*>(at);
    for (uint32_t lane = 0; lane < kLanes; ++lane) lanes[lane] = static_cast<T>(bits);
}

void fill(std::byte* at, uint32_t bytes, uint64_t bits) {
    if (bytes == 2)
        broadcast<uint16_t>(at, bits);
    else if (bytes == 4)
        broadcast<uint32_t>(at, bits);
    else if (bytes == 8)
        broadcast<uint64_t>(at, bits);
    else
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
            const uint64_t wide[2] = {bits, 0};
            std::memcpy(at + lane * 16, wide, 16);
        }
}

void set_constant(const Warp& warp, Frame& frame, const Constant& constant) {
    std::byte* at = frame.registers + constant.offset;
    const LaunchState& launch = *warp.block->launch;
    switch (constant.kind) {
        case Constant::Kind::value:
            return fill(at, constant.bytes, constant.bits);
        case Constant::Kind::predicate: {
            const auto mask = static_cast<Mask>(constant.bits);
            std::memcpy(at, &mask, sizeof mask);
            return;
        }
        case Constant::Kind::local:
            return fill(at, constant.bytes, constant.bits + frame.local_base);
        case Constant::Kind::shared: {
            const SharedVariable& variable = launch.program->shared[constant.which];
            return fill(at, constant.bytes,
                        constant.bits + (variable.dynamic ? launch.dynamic_start : variable.address));
        }
        case Constant::Kind::global:
            return fill(at, constant.bytes, constant.bits + launch.global_addresses[constant.which]);
        case Constant::Kind::parameter: {
            std::byte value[16] = {};
            std::memcpy(value, launch.parameters.data() + constant.bits, constant.which);
            for (uint32_t lane = 0; lane < kLanes; ++lane)
                std::memcpy(at + lane * constant.bytes, value, constant.bytes);
            return;
        }
        case Constant::Kind::special:
            for (uint32_t lane = 0; lane < kLanes; ++lane) {
                const uint64_t value = special_value(warp, static_cast<Special>(constant.which), lane);
                std::memcpy(at + lane * constant.bytes, &value, constant.bytes);
            }
    }
}

}  // namespace

Frame* Warp::new_frame(const FunctionCode& function) {
    held_bytes_ += frame_bytes(function);
    for (auto& idle : idle_) {
        if (idle->function != &function) continue;
        live_.push_back(std::move(idle));
        idle = std::move(idle_.back());
        idle_.pop_back();
        Frame& known = *live_.back();
        for (const Constant& constant : function.constants)
            if (constant.kind == Constant::Kind::special) set_constant(*this, known, constant);
        return &known;
    }
    auto frame = std::make_unique<Frame>();
    frame->function = &function;
    const size_t registers = (function.register_bytes + 63) / 64 * 64, local = size_t{function.local_bytes} * kLanes;
    frame->storage.reset(new std::byte[registers + 2 * local + 64]());
    const auto start = reinterpret_cast<uintptr_t>(frame->storage.get());
    frame->registers = frame->storage.get() + ((start + 63) / 64 * 64 - start);
    frame->local = frame->registers + registers;
    frame->local_shadow = reinterpret_cast<uint8_t*>(frame->local + local);
    live_.push_back(std::move(frame));
    for (const Constant& constant : function.constants) set_constant(*this, *live_.back(), constant);
    return live_.back().get();
}

void Warp::release(Frame* frame) {
    const auto at = std::find_if(live_.begin(), live_.end(), [&](const auto& live) { return live.get() == frame; });
    held_bytes_ -= frame_bytes(*frame->function);
    idle_.push_back(std::move(*at));
    live_.erase(at);
}

void Warp::start(const FunctionCode& entry) {
    for (auto& live : live_) idle_.push_back(std::move(live));
    live_.clear();
    held_bytes_ = 0;
    groups.clear();
    loops = yields = last_loop = 0;
    expired = 0;
    fuel = block->launch->fuel;
    barriers_left = static_cast<uint32_t>(std::min<uint64_t>(kBarriersWithFuel, fuel / 2));
    active = 0;
    frame = nullptr;
    Frame* first = call(entry, alive, 0);
    if (first == nullptr) return;
    first->caller = nullptr;
}

Frame* Warp::call(const FunctionCode& function, Mask lanes, uint32_t return_pc) {
    if (frame != nullptr && (frame->depth + 1 >= kMaxDepth || held_bytes_ + frame_bytes(function) > kMaxFrameBytes)) {
        fault(block->program().code[pc - 1], lanes,
              {.check = Check::out_of_bounds,
               .message = "calls nest deeper than the stack of a thread",
               .buffer = "local"});
        return nullptr;
    }
    Frame* fresh = new_frame(function);
    fresh->caller = frame;
    fresh->return_pc = return_pc;
    fresh->depth = frame != nullptr ? frame->depth + 1 : 0;
    fresh->lanes = lanes;
    fresh->local_base = frame != nullptr ? frame->local_base + frame->function->local_bytes : kLocalGap;
    if (function.local_bytes > 0) {
        std::memset(fresh->local_shadow, 2, size_t{function.local_bytes} * kLanes);
        for (const auto& [offset, size] : function.local_variables)
            for (uint32_t lane = 0; lane < kLanes; ++lane)
                std::memset(fresh->local_shadow + size_t{lane} * function.local_bytes + offset, 0, size);
        for (const Constant& constant : function.constants)
            if (constant.kind == Constant::Kind::local) set_constant(*this, *fresh, constant);
    }
    for (const uint32_t slot : function.state_slots) std::memset(fresh->registers + slot, 0xff, kStateBytes * kLanes);
    if (const Mask rest = active & ~lanes; rest != 0) groups.push_back({.frame = frame, .pc = pc, .lanes = rest});
    frame = fresh;
    registers = fresh->registers;
    pc = function.first;
    active = lanes;
    budget -= function.count;
    limit = groups.empty() && budget > 0 ? kNoLimit : 0;
    return fresh;
}

void Warp::ret(Mask lanes) {
    if (frame->caller == nullptr) return exit(lanes);
    Frame* left = frame;
    left->lanes &= ~lanes;
    groups.push_back({.frame = left->caller, .pc = left->return_pc, .lanes = lanes});
    active &= ~lanes;
    if (left->lanes == 0) release(left);
    limit = 0;
}

void Warp::exit(Mask lanes) {
    for (Frame* at = frame; at != nullptr;) {
        Frame* caller = at->caller;
        at->lanes &= ~lanes;
        if (at->lanes == 0) release(at);
        at = caller;
    }
    active &= ~lanes;
    alive &= ~lanes;
    limit = 0;
    // Who waits at a warp instruction for these lanes has to look again.
    for (Group& group : groups)
        if (group.state == Group::State::at_warp_sync) group.state = Group::State::runnable;
    block->threads_ended(std::popcount(lanes));
}

void Warp::branch(uint32_t target, Mask taken) {
    if (target < pc) {
        budget -= pc - target;
        last_loop = pc - 1;
        ++loops;
        if (budget <= 0) limit = 0;
    }
    if (taken == active) {
        pc = target;
        if (!groups.empty()) limit = 0;
        return;
    }
    groups.push_back({.frame = frame, .pc = pc, .lanes = active & ~taken, .yields = yields});
    active = taken;
    pc = target;
    limit = 0;
}

void Warp::wait(const Instruction& in, Mask lanes, Group::State state, uint8_t barrier, Mask needed) {
    const uint32_t at = state == Group::State::at_barrier ? in.index + 1 : in.index;
    groups.push_back(
        {.frame = frame, .pc = at, .lanes = lanes, .state = state, .barrier = barrier, .needed = needed, .at = &in});
    active &= ~lanes;
    limit = 0;
}

void Warp::park() {
    if (active == 0) return;
    if (loops >= kLoopsATurn) {
        ++yields;
        loops = 0;
    }
    groups.push_back({.frame = frame, .pc = pc, .lanes = active, .yields = yields});
    active = 0;
}

void Warp::load(const Group& group) {
    frame = group.frame;
    registers = frame->registers;
    pc = group.pc;
    active = group.lanes;
    yields = group.yields;
}

bool Warp::pick() {
    for (size_t i = 0; i < groups.size(); ++i) {
        if (groups[i].state == Group::State::at_barrier) continue;
        for (size_t j = groups.size() - 1; j > i; --j) {
            if (groups[j].frame != groups[i].frame || groups[j].pc != groups[i].pc ||
                groups[j].state == Group::State::at_barrier)
                continue;
            groups[i].lanes |= groups[j].lanes;
            groups[i].yields = std::max(groups[i].yields, groups[j].yields);
            if (groups[j].state == Group::State::runnable) groups[i].state = Group::State::runnable;
            groups.erase(groups.begin() + j);
        }
    }
    const Group* best = nullptr;
    for (const Group& group : groups) {
        if (group.state != Group::State::runnable) continue;
        const auto before = [](const Group& a, const Group& b) {
            if (a.yields != b.yields) return a.yields < b.yields;
            if (a.frame->depth != b.frame->depth) return a.frame->depth > b.frame->depth;
            return a.pc < b.pc;
        };
        if (best == nullptr || before(group, *best)) best = &group;
    }
    if (best == nullptr) return false;
    load(*best);
    groups.erase(groups.begin() + (best - groups.data()));
    limit = kNoLimit;
    for (const Group& group : groups)
        if (group.frame == frame && group.state != Group::State::at_barrier && group.pc > pc)
            limit = std::min(limit, group.pc);
    return true;
}

Frame* Warp::frame_at(uint64_t local_address) {
    for (Frame* at = frame; at != nullptr; at = at->caller)
        if (local_address >= at->local_base) return at;
    return nullptr;
}

void Warp::fault(const Instruction& in, Mask lanes, Fault fault) {
    block->raise(block->line_of(in, frame), thread(std::countr_zero(lanes)), std::popcount(lanes), std::move(fault));
    limit = 0;
}

}  // namespace recuda::vgpu

// Branches, calls, ends of threads, and barriers of a block.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text.h"
#include "device/vgpu/block.h"
#include "device/vgpu/memory/access.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/modifiers.h"
#include "device/vgpu/printf.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;

void branch(Warp& warp, const Instruction& in, Mask active) {
    warp.branch(static_cast<uint32_t>(in.immediate), active);
}

void decode_bra(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    modifiers.take("uni");
    modifiers.finish({1});
    in.mix = Mix::branch;
    in.immediate = decoder.label(statement.operands[0].text);
    in.run = branch;
}

struct Targets : Extra {
    std::vector<uint32_t> pcs;
};

/// Lanes whose register holds the first active lane's value.
template <typename T>
Mask same_as_first(const T* values, Mask active) {
    const T first = values[first_lane(active)];
    return mask_of([&](uint32_t i) { return values[i] == first; }) & active;
}

/// Sets the lanes `later` aside to run this instruction again after the others.
void run_again(Warp& warp, const Instruction& in, Mask later) {
    if (later == 0) return;
    warp.groups.push_back({.frame = warp.frame, .pc = in.index, .lanes = later, .yields = warp.yields});
    warp.active &= ~later;
    warp.limit = 0;
}

void branch_indexed(Warp& warp, const Instruction& in, Mask active) {
    const auto& targets = static_cast<const Targets&>(*in.extra);
    const uint32_t* index = warp.lanes<uint32_t>(in.a);
    const Mask same = same_as_first(index, active);
    const uint32_t chosen = index[first_lane(active)];
    if (chosen >= targets.pcs.size()) {
        warp.fault(in, same,
                   {.check = Check::illegal_instruction,
                    .message = fmt::format("a branch to entry {} of a table of {}", chosen, targets.pcs.size())});
        return;
    }
    run_again(warp, in, active & ~same);
    warp.branch(targets.pcs[chosen], same);
}

void decode_brx(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (!modifiers.take("idx")) throw Unsupported("this form");
    modifiers.take("uni");
    modifiers.finish({2});
    const auto list = decoder.function().branch_targets.find(statement.operands[1].text);
    if (list == decoder.function().branch_targets.end()) throw Unsupported("a branch without targets");
    auto targets = std::make_unique<Targets>();
    for (const auto label : list->second) targets->pcs.push_back(decoder.label(label));
    in.a = decoder.source(statement.operands[0], ptx::Type::u32);
    in.mix = Mix::branch;
    in.run = branch_indexed;
    in.extra = decoder.keep(std::move(targets));
}

/// A call: which function, and the caller's .param variables for arguments and results.
struct CallSite : Extra {
    const FunctionCode* callee = nullptr;  // null: by address in in.a
    enum class Builtin : uint8_t { none, print, assert_fail } builtin = Builtin::none;
    std::vector<ParamSlot> arguments, results;
};

void copy_slots(const std::byte* from, const ParamSlot& source, std::byte* to, const ParamSlot& destination,
                Mask lanes) {
    const uint32_t bytes = std::min(source.bytes, destination.bytes);
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        std::memcpy(to + destination.offset + lane * destination.stride, from + source.offset + lane * source.stride,
                    bytes);
    }
}

void enter(Warp& warp, const Instruction& in, const FunctionCode& callee, Mask active) {
    const auto& site = static_cast<const CallSite&>(*in.extra);
    const std::byte* from = warp.registers;
    Frame* frame = warp.call(callee, active, in.index + 1);
    if (frame == nullptr) return;
    for (size_t i = 0; i < std::min(site.arguments.size(), callee.parameters.size()); ++i)
        copy_slots(from, site.arguments[i], frame->registers, callee.parameters[i], active);
}

void call(Warp& warp, const Instruction& in, Mask active) {
    enter(warp, in, *static_cast<const CallSite&>(*in.extra).callee, active);
}

void call_indirect(Warp& warp, const Instruction& in, Mask active) {
    const uint64_t* address = warp.lanes<uint64_t>(in.a);
    const Mask same = same_as_first(address, active);
    const FunctionCode* callee = warp.block->program().function_at(address[first_lane(active)]);
    if (callee == nullptr) {
        warp.fault(
            in, same,
            {.check = Check::illegal_instruction,
             .message = fmt::format("a call of address {:#x}, where no function begins", address[first_lane(active)])});
        return;
    }
    run_again(warp, in, active & ~same);
    enter(warp, in, *callee, same);
}

void call_builtin(Warp& warp, const Instruction& in, Mask active) {
    const auto& site = static_cast<const CallSite&>(*in.extra);
    const auto argument = [&](size_t i, uint32_t lane) {
        uint64_t value = 0;
        if (i < site.arguments.size())
            std::memcpy(&value, warp.registers + site.arguments[i].offset + lane * site.arguments[i].stride,
                        std::min(8u, site.arguments[i].bytes));
        return value;
    };
    if (site.builtin == CallSite::Builtin::assert_fail) {
        const uint32_t lane = first_lane(active);
        warp.fault(in, active,
                   {.check = Check::illegal_instruction,
                    .message = fmt::format(
                        "assertion failed: {} ({}:{})", one_line(text_at(warp, lane, argument(0, lane))),
                        one_line(text_at(warp, lane, argument(1, lane))), static_cast<uint32_t>(argument(2, lane)))});
        return;
    }
    const bool may_print = warp.block->worker->may_print();
    std::string printed;
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        const auto written =
            may_print ? static_cast<uint32_t>(print(warp, lane, argument(0, lane), argument(1, lane), &printed)) : ~0u;
        if (!site.results.empty())
            std::memcpy(warp.registers + site.results[0].offset + lane * site.results[0].stride, &written, 4);
    }
    if (may_print) warp.block->worker->print(warp.block->linear, std::move(printed));
}

void decode_call(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    modifiers.take("uni");
    modifiers.finish({1, 2, 3, 4});
    auto& own = static_cast<ProgramDecoder&>(decoder);
    size_t at = 0;
    auto site = std::make_unique<CallSite>();
    const auto& operands = statement.operands;
    const ptx::Operand* results = operands[0].kind == Kind::vector ? &operands[at++] : nullptr;
    if (at >= operands.size() || operands[at].kind != Kind::name) throw Unsupported("this form of call");
    const auto& target = operands[at++];
    const ptx::Function* known = decoder.module().find(target.text);
    const auto slots = [&](const ptx::Operand& list, std::vector<ParamSlot>& into,
                           const std::vector<ptx::Variable>* types) {
        for (size_t i = 0; i < list.elements.size(); ++i) {
            const ptx::Operand& element = list.elements[i];
            if (const ParamSlot* slot = own.parameter(element.text)) {
                into.push_back(*slot);
                continue;
            }
            const bool is_register = element.kind == Kind::name && own.is_register(element.text);
            if (!is_register && (types == nullptr || i >= types->size())) throw Unsupported("this argument");
            const ptx::Type type = is_register ? own.register_of(element).type : (*types)[i].type;
            const uint32_t bytes = std::max(2u, ptx::size_bytes(type));
            into.push_back({own.source(element, type), bytes, bytes});
        }
    };
    if (results != nullptr) slots(*results, site->results, nullptr);
    if (at < operands.size() && operands[at].kind == Kind::vector)
        slots(operands[at], site->arguments, known ? &known->parameters : nullptr);
    in.mix = Mix::branch;
    if (own.is_register(target.text)) {
        in.a = decoder.source(target, ptx::Type::u64);
        own.indirect();
        in.run = call_indirect;
    } else if (known != nullptr && known->has_body) {
        site->callee = &own.callee(target.text);
        in.run = call;
    } else if (target.text == "vprintf" || target.text == "__assertfail") {
        site->builtin = target.text == "vprintf" ? CallSite::Builtin::print : CallSite::Builtin::assert_fail;
        in.run = call_builtin;
    } else {
        throw Unsupported(fmt::format("a call of '{}'", target.text));
    }
    in.extra = decoder.keep(std::move(site));
}

void leave(Warp& warp, const Instruction&, Mask active) {
    const Frame* frame = warp.frame;
    if (frame->caller != nullptr) {
        const auto& site = static_cast<const CallSite&>(*warp.block->program().code[frame->return_pc - 1].extra);
        for (size_t i = 0; i < std::min(site.results.size(), frame->function->returns.size()); ++i)
            copy_slots(frame->registers, frame->function->returns[i], frame->caller->registers, site.results[i],
                       active);
    }
    warp.ret(active);
}

void decode_ret(Decoder&, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    modifiers.take("uni");
    modifiers.finish({0});
    in.mix = Mix::branch;
    in.run = leave;
}

void end(Warp& warp, const Instruction&, Mask active) { warp.exit(active); }

void decode_exit(Decoder&, const ptx::Statement& statement, Instruction& in) {
    Modifiers(statement).finish({0});
    in.mix = Mix::branch;
    in.run = end;
}

void trap(Warp& warp, const Instruction& in, Mask active) {
    // cooperative_groups traps where it finds no workspace for the grid's barrier.
    const auto& constants = warp.frame->function->constants;
    const bool grid =
        !warp.block->launch->cooperative && std::any_of(constants.begin(), constants.end(), [](const Constant& one) {
            return one.kind == Constant::Kind::special && one.which == static_cast<uint32_t>(Special::workspace_low);
        });
    warp.fault(
        in, active,
        {.check = Check::illegal_instruction,
         .message = grid ? "the kernel stops itself with a trap: a grid synchronises only in a launch that says so, "
                           "k<<<grid, block, 0, cooperative>>>(...)"
                         : "the kernel stops itself with a trap"});
}

void decode_trap(Decoder&, const ptx::Statement& statement, Instruction& in) {
    Modifiers(statement).finish({0});
    in.mix = Mix::branch;
    in.run = trap;
}

void nothing(Warp&, const Instruction&, Mask) {}

/// Hints, events and waits for other grids, which here have always ended.
void decode_nothing(Decoder&, const ptx::Statement&, Instruction& in) {
    in.mix = Mix::special;
    in.run = nothing;
}

// Barriers. in.a: number, in.b: threads where in.mode says so, in.c: predicate; in.width is the reduction
// (Block::release).

constexpr uint8_t kHasCount = 1, kArrives = 2, kNegated = 4;

void barrier(Warp& warp, const Instruction& in, Mask active) {
    const uint32_t* numbers = warp.lanes<uint32_t>(in.a);
    const uint32_t first = first_lane(active), number = numbers[first];
    Mask elsewhere = 0;
    for (Mask rest = active; rest != 0; rest &= rest - 1)
        if (numbers[first_lane(rest)] != number) elsewhere |= rest & -rest;
    if (elsewhere != 0) {
        warp.fault(in, active,
                   {.check = Check::divergent_barrier,
                    .message = fmt::format("lanes {:#x} of a warp come to barrier {} and lanes {:#x} to others",
                                           active & ~elsewhere, number, elsewhere)});
        return;
    }
    const uint32_t count = (in.mode & kHasCount) != 0 ? warp.lanes<uint32_t>(in.b)[first] : 0;
    if (number > 15 || count > 1024) {
        warp.fault(in, active,
                   {.check = Check::illegal_instruction,
                    .message = fmt::format("barrier {} with {} threads does not exist", number, count)});
        return;
    }
    Mask votes = 0;
    if (in.width != 0) votes = (in.mode & kNegated) != 0 ? ~warp.predicate(in.c) : warp.predicate(in.c);
    const bool waits = (in.mode & kArrives) == 0;
    if (waits) warp.wait(in, active, Group::State::at_barrier, static_cast<uint8_t>(number), kFullMask);
    warp.block->arrive(warp, in, number, count, active, waits, votes);
}

void decode_barrier(Decoder& decoder, const ptx::Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    if (modifiers.take("warp")) not_mine();
    if (modifiers.take("cluster")) not_mine();
    modifiers.take("cta");
    modifiers.take("aligned");
    const auto& operands = statement.operands;
    size_t at = 0;
    if (modifiers.take("red")) {
        if (modifiers.take("popc"))
            in.width = 1, modifiers.take("u32");
        else if (modifiers.take("and"))
            in.width = 2, modifiers.take("pred");
        else if (modifiers.take("or"))
            in.width = 3, modifiers.take("pred");
        else
            throw Unsupported("this reduction");
        modifiers.finish({3, 4});
        in.d = decoder.destination(operands[at++], in.width == 1 ? ptx::Type::u32 : ptx::Type::pred);
        in.c = decoder.source(operands.back(), ptx::Type::pred);
        if (operands.back().negated) in.mode |= kNegated;
    } else if (modifiers.take("arrive")) {
        modifiers.finish({2});
        in.mode |= kArrives;
    } else if (modifiers.take("sync")) {
        modifiers.finish({1, 2});
    } else {
        throw Unsupported("this form");
    }
    in.a = decoder.source(operands[at++], ptx::Type::u32);
    if (at + (in.width != 0 ? 1 : 0) < operands.size()) {
        in.b = decoder.source(operands[at], ptx::Type::u32);
        in.mode |= kHasCount;
    }
    in.mix = Mix::barrier;
    in.run = barrier;
}

constexpr OpRow kRows[] = {
    {"bra", decode_bra},
    {"brx", decode_brx},
    {"call", decode_call},
    {"ret", decode_ret},
    {"exit", decode_exit},
    {"trap", decode_trap},
    {"bar", decode_barrier},
    {"barrier", decode_barrier},
    {"nanosleep", decode_nothing},
    {"pmevent", decode_nothing},
    {"griddepcontrol", decode_nothing},
    {"setmaxnreg", decode_nothing},
    {"brkpt", decode_nothing},
};

}  // namespace

std::span<const OpRow> control_rows() { return kRows; }

}  // namespace recuda::vgpu

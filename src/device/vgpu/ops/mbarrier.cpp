// The instruction mbarrier: arrivals, tests, and what prepares and ends a barrier.
#include "device/vgpu/ops/mbarrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/vgpu/cluster.h"
#include "device/vgpu/demand.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/ops/address.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/phase.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;
using ptx::Type;

/// What an operation does to a word; in.b: count or bytes, in.d: token or predicate, in.c: token or parity.
struct Operation : Extra {
    enum class What : uint8_t { init, inval, arrive, expect, complete, test, pending } what = What::arrive;
    bool has_token = false, drops = false, expects = false, may_complete = true, parity = false, blocks = false,
         generic = false, releases = true;
};

void release(Warp& warp, Reached& reached) {
    if (warp.block->launch->checks) warp.block->order.release(warp.index, reached.clocks->gathered);
}

/// Lets the next copy that the mbarrier waits for land; false where there is none.
bool land_next(Warp& warp, uint64_t address, Reached& reached) {
    const uint32_t rank = rank_of_address(address).value_or(warp.block->rank);
    if (!warp.block->cluster->transfers.land_next(rank, address & (kRankUnit - 1))) return false;
    uint64_t bits;
    std::memcpy(&bits, reached.at, kWordBytes);
    reached.word = PhaseWord::of(bits);
    return true;
}

bool arrive(Warp& warp, const Instruction& in, const Operation& operation, uint32_t lane, uint64_t address) {
    Reached reached;
    if (!reach_word(warp, in, lane, address, reached)) return false;
    PhaseWord& word = reached.word;
    // An arrival for the next phase, without a wait for this one: copies may have ended it by now.
    while (word.pending == 0 && land_next(warp, address, reached)) {
    }
    if (warp.block->stopped) return false;
    const uint64_t before = word.bits();
    const uint32_t given = warp.lanes<uint32_t>(in.b)[lane], count = operation.expects ? 1 : given;
    if (count == 0 || count > word.pending) {
        illegal_phase(warp, in, lane, fmt::format("{} arrivals at an mbarrier that waits for {}", count, word.pending));
        return false;
    }
    if (operation.expects && !add_bytes(warp, in, lane, word, given)) return false;
    word.pending -= count;
    if (operation.drops) word.expected -= std::min(word.expected, count);
    if (operation.releases) release(warp, reached);
    settle(warp, reached, operation.may_complete);
    if (operation.has_token) warp.lanes<uint64_t>(in.d)[lane] = before;
    return true;
}

bool change(Warp& warp, const Instruction& in, const Operation& operation, uint32_t lane, uint64_t address) {
    Reached reached;
    if (operation.what == Operation::What::init) {
        const uint32_t count = warp.lanes<uint32_t>(in.b)[lane];
        if (count == 0 || count > PhaseWord::kMost) {
            illegal_phase(warp, in, lane, fmt::format("an mbarrier for {} arrivals", count));
            return false;
        }
        uint64_t addresses[kLanes];
        std::fill(addresses, addresses + kLanes, address);
        const PhaseWord word{.pending = count, .expected = count, .valid = true};
        const uint64_t bits = word.bits();
        std::byte values[kLanes * 32];
        std::memcpy(values + lane * 32, &bits, kWordBytes);
        const Mask one = Mask{1} << lane;
        const Pattern pattern = pattern_of(addresses, one, kWordBytes);
        if (!prepare_shared(warp, in, addresses, one, kWordBytes, pattern)) return false;
        ++warp.block->changes;
        warp.block->shared.phase_clocks.erase(address);
        return warp.block->shared.write(warp, in, addresses, one, kWordBytes, pattern, values);
    }
    if (!reach_word(warp, in, lane, address, reached)) return false;
    if (operation.what == Operation::What::inval) {
        reached.word.valid = false;
        settle(warp, reached, false);
        return true;
    }
    const int64_t bytes = warp.lanes<uint32_t>(in.b)[lane];
    const bool completes = operation.what == Operation::What::complete;
    if (!add_bytes(warp, in, lane, reached.word, completes ? -bytes : bytes)) return false;
    settle(warp, reached, completes);
    return true;
}

/// Whether a lane is told that a phase is not over, though its copies could land by now. A GPU may say so of any phase
/// that had not ended before: under other schedules than the natural one each lane hears it once a phase, so that who
/// does not ask again is found.
bool puts_off(Warp& warp, uint32_t lane, uint64_t address, Reached& reached) {
    if (warp.block->launch->schedule == 0 || rank_of_address(address).value_or(warp.block->rank) != warp.block->rank)
        return false;
    Mask& told = reached.clocks->told[warp.index];
    const Mask bit = Mask{1} << lane;
    return (std::exchange(told, told | bit) & bit) == 0;
}

/// Lanes for which the phase is over go on with true. Of the others, those of try_wait wait until a phase is over
/// somewhere, those of test_wait go on with false. A test whose result nothing looks at may have given false, whatever
/// it gives: no copy lands for it, and it orders nothing.
void test(Warp& warp, const Instruction& in, const Operation& operation, const uint64_t* address, Mask active) {
    Mask over = 0, at_once = in.unread ? active : 0;
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        Reached reached;
        if (!reach_word(warp, in, lane, address[lane], reached)) return;
        if (in.unread) continue;
        const bool wanted = operation.parity ? (warp.lanes<uint32_t>(in.c)[lane] & 1) != 0
                                             : PhaseWord::of(warp.lanes<uint64_t>(in.c)[lane]).phase;
        if (reached.word.phase == wanted && puts_off(warp, lane, address[lane], reached)) {
            at_once |= rest & -rest;
            continue;
        }
        while (reached.word.phase == wanted && land_next(warp, address[lane], reached)) {
        }
        if (warp.block->stopped) return;
        if (reached.word.phase == wanted) continue;
        over |= rest & -rest;
        if (warp.block->launch->checks && operation.releases)
            warp.block->order.acquire(warp.index, reached.clocks->met);
    }
    const Mask waits = operation.blocks ? active & ~over & ~at_once & ~warp.expired : 0;
    warp.expired &= ~active;
    set_predicate(warp, in.d, over, active & ~waits);
    if (waits != 0) warp.wait(in, waits, Group::State::at_phase, kPhaseWait, 0);
}

void run(Warp& warp, const Instruction& in, Mask active) {
    const auto& operation = static_cast<const Operation&>(*in.extra);
    alignas(64) uint64_t address[kLanes];
    addresses_of(warp, in, active, address);
    if (operation.generic)
        for (uint64_t& at : address) at -= kSharedWindow;
    if (operation.what == Operation::What::test) return test(warp, in, operation, address, active);
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint32_t lane = first_lane(rest);
        const bool done = operation.what == Operation::What::arrive ? arrive(warp, in, operation, lane, address[lane])
                                                                    : change(warp, in, operation, lane, address[lane]);
        if (!done) return;
    }
}

void pending_count(Warp& warp, const Instruction& in, Mask active) {
    const uint64_t* tokens = warp.lanes<uint64_t>(in.a);
    for_active_lanes(warp.lanes<uint32_t>(in.d), active, [&](uint32_t i) { return PhaseWord::of(tokens[i]).pending; });
}

/// The name of the operation and its modifiers.
void take_operation(Modifiers& modifiers, Operation& operation) {
    using What = Operation::What;
    static constexpr std::pair<const char*, What> kNames[] = {
        {"init", What::init},          {"inval", What::inval},         {"arrive", What::arrive},
        {"arrive_drop", What::arrive}, {"test_wait", What::test},      {"try_wait", What::test},
        {"expect_tx", What::expect},   {"complete_tx", What::complete}};
    bool found = false;
    for (const auto& [name, what] : kNames) {
        if (found && what == What::expect && operation.what == What::arrive) {
            operation.expects = modifiers.take(name);
            continue;
        }
        if (found || !modifiers.take(name)) continue;
        operation.what = what;
        operation.drops = std::string_view(name) == "arrive_drop";
        operation.blocks = std::string_view(name) == "try_wait";
        found = true;
    }
    if (!found) throw Unsupported("this operation");
    operation.may_complete = !modifiers.take("noComplete");
    operation.parity = modifiers.take("parity");
    operation.releases = !modifiers.take("relaxed");
    for (const auto name : {"release", "acquire", "cta", "cluster", "b64"}) modifiers.take(name);
}

void decode_mbarrier(Decoder& base, const ptx::Statement& statement, Instruction& in) {
    auto& decoder = static_cast<ProgramDecoder&>(base);
    using What = Operation::What;
    Modifiers modifiers(statement);
    const auto& operands = statement.operands;
    in.mix = Mix::barrier;
    if (modifiers.take("pending_count")) {
        modifiers.take("b64");
        modifiers.finish({2});
        set_operands(decoder, statement, in, Type::u32, {Type::b64});
        in.run = pending_count;
        return;
    }
    auto operation = std::make_unique<Operation>();
    take_operation(modifiers, *operation);
    const ptx::Space space = take_space(modifiers);
    operation->generic = space == ptx::Space::none;
    modifiers.finish({1, 2, 3, 4});
    size_t at = 0;
    if (operation->what == What::test) {
        in.unread = decoder.demand().unread(operands[at]);
        in.d = decoder.destination(operands[at++], Type::pred);
    } else if (operation->what == What::arrive && operands[0].kind != Kind::address) {
        operation->has_token = operands[0].kind != Kind::sink;
        if (operation->has_token) in.d = decoder.destination(operands[0], Type::b64);
        ++at;
    }
    if (at >= operands.size()) throw Unsupported("an operation without address");
    resolve_address(decoder, operands[at++], in);
    if (operation->what == What::test) {
        if (at >= operands.size()) throw Unsupported("a wait without phase");
        in.c = decoder.source(operands[at], operation->parity ? Type::u32 : Type::b64);
    } else if (at < operands.size()) {
        in.b = decoder.source(operands[at], Type::u32);
    } else if (operation->what != What::inval) {
        if (operation->what != What::arrive || operation->expects) throw Unsupported("an operation without count");
        in.b = decoder.constant(1, 4);
    }
    in.mode |= operation->what == What::init ? 0 : operation->what == What::test ? kStrong : kStrong | kOnce;
    in.mode |= reach_of(statement, space);
    in.width = kWordBytes;
    note_granule(decoder.program(), kWordBytes);
    in.run = run;
    in.extra = decoder.keep(std::move(operation));
}

constexpr OpRow kRows[] = {{"mbarrier", decode_mbarrier}};

}  // namespace

std::string describe_wait(const Block& block, const Warp& warp, const Group& group) {
    const Instruction& in = *group.at;
    const uint32_t lane = first_lane(group.lanes);
    RegisterFile file{group.frame->registers};
    uint64_t address = (in.mode & kWideBase) != 0 ? file.lanes<uint64_t>(in.a)[lane] : file.lanes<uint32_t>(in.a)[lane];
    address += static_cast<uint64_t>(in.immediate);
    if (static_cast<const Operation&>(*in.extra).generic) address -= kSharedWindow;
    const uint64_t inside = address & (kRankUnit - 1);
    SharedMemory& shared = warp.block->cluster->block(rank_of_address(address).value_or(block.rank)).shared;
    const auto [name, offset] = shared.name_of(inside);
    uint64_t bits = 0;
    if (inside + kWordBytes <= shared.size()) std::memcpy(&bits, shared.data() + inside, kWordBytes);
    const PhaseWord word = PhaseWord::of(bits);
    std::string missing =
        fmt::format("{} of {} arrivals are to come", word.pending, std::max(word.expected, word.pending));
    if (word.bytes > 0) missing += fmt::format(" and {} bytes", word.bytes);
    if (word.bytes < 0) missing += fmt::format(", and {} bytes came that nobody expects", -word.bytes);
    return fmt::format("the mbarrier at byte {} of {}, in phase {}, where {}", offset, name, word.phase ? 1 : 0,
                       missing);
}

std::span<const OpRow> mbarrier_rows() { return kRows; }

}  // namespace recuda::vgpu

#include "device/vgpu/assignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "device/vgpu/block.h"
#include "device/vgpu/demand.h"
#include "device/vgpu/faults.h"
#include "device/vgpu/warp.h"

namespace recuda::vgpu {
namespace {

constexpr uint64_t kMaxAnalysisBits = 1ull << 31;

using Names = std::unordered_set<std::string_view>;

bool is_sink(const ptx::Statement& statement) {
    static const Names kSinks = {"st",   "ld",    "ldu",   "red", "atom",     "bra",      "brx", "bar",  "barrier",
                                 "vote", "match", "redux", "cp",  "ldmatrix", "stmatrix", "mma", "wmma", "wgmma"};
    return kSinks.contains(statement.opcode());
}

/// Passed over: a shuffle moves other lanes' values, a parameter store may carry a struct's unused bytes.
bool ignores_sources(const ptx::Statement& statement) {
    return statement.opcode() == "shfl" || statement.opcode() == "call" ||
           (statement.opcode() == "st" && statement.has("param"));
}

/// Copies of structs carry their padding in a vector's elements; in global memory that is a result nevertheless.
bool stores_parts(const ptx::Statement& statement) {
    return statement.opcode() == "st" && (statement.has("shared") || statement.has("local")) &&
           statement.operands.size() > 1 && statement.operands[1].kind == ptx::Operand::Kind::vector;
}

struct Roles {
    std::vector<uint32_t> uses, defines;
};

class Analysis {
 public:
    explicit Analysis(ProgramDecoder& decoder)
        : decoder_(decoder), body_(decoder.function().body), first_(decoder.code().first) {}

    void run() {
        collect();
        if (count_ == 0 || uint64_t{count_} * (body_.size() + 1) > kMaxAnalysisBits) return;
        solve();
        find_early_uses();
        if (!watched_.empty()) wrap();
    }

 private:
    void add_names(const ptx::Operand& operand, std::vector<uint32_t>& list) {
        using Kind = ptx::Operand::Kind;
        if ((operand.kind == Kind::name || operand.kind == Kind::address) && decoder_.is_register(operand.text))
            list.push_back(number(decoder_.register_of(operand).offset));
        for (const ptx::Operand& element : operand.elements) add_names(element, list);
    }

    uint32_t number(uint32_t offset) {
        const auto [entry, fresh] = numbers_.try_emplace(offset, count_);
        if (fresh) ++count_;
        return entry->second;
    }

    void collect() {
        for (const ptx::Statement& statement : body_) {
            Roles roles;
            if (statement.guard.kind == ptx::Operand::Kind::name) add_names(statement.guard, roles.uses);
            std::vector<ptx::Operand> operands = statement.operands;
            for (ptx::Operand& operand : operands) operand = decoder_.expanded(operand);
            const bool call = statement.opcode() == "call";
            for (size_t i = 0; i < operands.size(); ++i) {
                const bool destination =
                    call ? i == 0 && operands.size() > 1 && operands[0].kind == ptx::Operand::Kind::vector
                         : i == 0 && has_destination(statement);
                if (destination && operands[i].kind != ptx::Operand::Kind::address)
                    add_names(operands[i], roles.defines);
                else if (!ignores_sources(statement) && !(i == 1 && stores_parts(statement)))
                    add_names(operands[i], roles.uses);
            }
            roles_.push_back(std::move(roles));
        }
        for (const auto& parameter : decoder_.function().parameters)
            if (parameter.space == ptx::Space::reg) {
                ptx::Operand operand;
                operand.kind = ptx::Operand::Kind::name;
                operand.text = parameter.name;
                add_names(operand, given_);
            }
    }

    /// written_[i]: registers written on every path to statement i. Starts from "all" and shrinks.
    void solve() {
        const uint32_t words = (count_ + 63) / 64, statements = body_.size();
        std::vector<uint8_t> starts(statements + 1, 0);
        starts[0] = 1;
        for (uint32_t i = 0; i < statements; ++i)
            for (const uint32_t target : targets(i)) starts[target] = starts[std::min(i + 1, statements)] = 1;
        for (uint32_t i = 0; i < statements; ++i)
            if (starts[i]) blocks_.push_back(i);
        entry_.assign(blocks_.size(), std::vector<uint64_t>(words, ~uint64_t{0}));
        if (blocks_.empty()) return;
        std::fill(entry_[0].begin(), entry_[0].end(), 0);
        for (const uint32_t given : given_) entry_[0][given / 64] |= uint64_t{1} << given % 64;
        std::vector<uint8_t> queued(blocks_.size(), 1);
        for (bool again = true; again;) {
            again = false;
            for (uint32_t b = 0; b < blocks_.size(); ++b) {
                if (!queued[b]) continue;
                queued[b] = 0;
                std::vector<uint64_t> state = entry_[b];
                const uint32_t end = block_end(b);
                const auto flow = [&](uint32_t statement) {
                    if (statement >= statements) return;
                    const uint32_t to = std::lower_bound(blocks_.begin(), blocks_.end(), statement) - blocks_.begin();
                    for (uint32_t w = 0; w < words; ++w) {
                        const uint64_t met = entry_[to][w] & state[w];
                        if (met == entry_[to][w]) continue;
                        entry_[to][w] = met;
                        queued[to] = 1;
                        again = true;
                    }
                };
                for (uint32_t i = blocks_[b]; i < end; ++i) {
                    write(i, state);
                    for (const uint32_t target : targets(i)) flow(target);
                    if (i + 1 == end && !decoder_.program().ends[first_ + i]) flow(end);
                }
            }
        }
    }

    uint32_t block_end(uint32_t b) const { return b + 1 < blocks_.size() ? blocks_[b + 1] : body_.size(); }

    std::vector<uint32_t> targets(uint32_t statement) const {
        std::vector<uint32_t> list;
        const auto found = decoder_.program().jumps.find(first_ + statement);
        if (found != decoder_.program().jumps.end())
            for (const uint32_t target : found->second) list.push_back(target - first_);
        return list;
    }

    void write(uint32_t statement, std::vector<uint64_t>& state) const {
        if (body_[statement].guard.kind != ptx::Operand::Kind::none) return;
        for (const uint32_t d : roles_[statement].defines) state[d / 64] |= uint64_t{1} << d % 64;
    }

    void find_early_uses() {
        std::vector<uint8_t> watched(count_, 0);
        for (uint32_t b = 0; b < blocks_.size(); ++b) {
            std::vector<uint64_t> state = entry_[b];
            for (uint32_t i = blocks_[b]; i < block_end(b); ++i) {
                for (const uint32_t use : roles_[i].uses)
                    if (!(state[use / 64] >> use % 64 & 1)) watched[use] = 1;
                write(i, state);
            }
        }
        for (bool again = true; again;) {
            again = false;
            for (uint32_t i = 0; i < body_.size(); ++i) {
                if (is_sink(body_[i]) || ignores_sources(body_[i])) continue;
                const auto touched = [&](uint32_t r) { return watched[r] != 0; };
                if (!std::any_of(roles_[i].uses.begin(), roles_[i].uses.end(), touched)) continue;
                for (const uint32_t d : roles_[i].defines)
                    if (!watched[d]) watched[d] = 1, again = true;
            }
        }
        for (uint32_t r = 0; r < count_; ++r)
            if (watched[r]) watched_[r] = 0;
    }

    void wrap();

    ProgramDecoder& decoder_;
    const std::vector<ptx::Statement>& body_;
    const uint32_t first_;
    std::unordered_map<uint32_t, uint32_t> numbers_;  // register offset → number
    uint32_t count_ = 0;
    std::vector<Roles> roles_;
    std::vector<uint32_t> given_;
    std::vector<uint32_t> blocks_;
    std::vector<std::vector<uint64_t>> entry_;
    std::unordered_map<uint32_t, uint32_t> watched_;  // number → offset of its state
};

/// Lanes whose value is not defined, and what used it first.
void report_use(Warp& warp, const Instruction& in, const Tracked& tracked, Mask lanes) {
    uint32_t origin = 0;
    Mask undefined = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if (!(lanes >> lane & 1)) continue;
        for (const uint32_t slot : tracked.uses) {
            const uint32_t state = warp.lanes<uint32_t>(slot)[lane];
            if (state == 0) continue;
            if (undefined == 0) origin = state;
            undefined |= Mask{1} << lane;
        }
    }
    const Instruction& first = origin == kUnused ? in : warp.block->program().code[origin - 1];
    warp.fault(first, undefined,
               {.check = Check::uninitialised,
                .message = "a register is used before anything is written to it",
                .buffer = ""});
}

void run_tracked(Warp& warp, const Instruction& in, Mask active) {
    const Tracked& tracked = *warp.block->program().tracked[in.index];
    uint32_t state[kLanes] = {};
    for (const uint32_t slot : tracked.uses) {
        const uint32_t* lanes = warp.lanes<uint32_t>(slot);
        for (uint32_t lane = 0; lane < kLanes; ++lane) state[lane] = state[lane] ? state[lane] : lanes[lane];
    }
    Mask undefined = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if (state[lane] != 0) undefined |= Mask{1} << lane;
        if (state[lane] == kUnused && !tracked.copies) state[lane] = in.index + 1;
    }
    if (tracked.sink && (undefined & active) != 0) return report_use(warp, in, tracked, undefined & active);
    tracked.run(warp, in, active);
    for (const uint32_t slot : tracked.defines) {
        uint32_t* lanes = warp.lanes<uint32_t>(slot);
        for (uint32_t lane = 0; lane < kLanes; ++lane)
            if (active >> lane & 1) lanes[lane] = tracked.sink ? 0 : state[lane];
    }
}

void Analysis::wrap() {
    for (auto& [number, slot] : watched_) {
        slot = decoder_.scratch(4);
        decoder_.code().state_slots.push_back(slot);
    }
    Program& program = decoder_.program();
    program.tracked.resize(program.code.size());
    for (uint32_t i = 0; i < body_.size(); ++i) {
        auto tracked = std::make_unique<Tracked>();
        for (const uint32_t use : roles_[i].uses)
            if (const auto found = watched_.find(use); found != watched_.end()) tracked->uses.push_back(found->second);
        for (const uint32_t define : roles_[i].defines)
            if (const auto found = watched_.find(define); found != watched_.end())
                tracked->defines.push_back(found->second);
        if (tracked->uses.empty() && tracked->defines.empty()) continue;
        Instruction& in = program.code[first_ + i];
        tracked->run = in.run;
        tracked->copies = body_[i].opcode() == "mov" && body_[i].operands.size() == 2;
        const auto guard = numbers_.find(in.guard);
        tracked->sink = is_sink(body_[i]) || (guard != numbers_.end() && watched_.contains(guard->second));
        in.run = run_tracked;
        program.tracked[in.index] = std::move(tracked);
    }
}

}  // namespace

void track_assignments(ProgramDecoder& decoder) { Analysis(decoder).run(); }

}  // namespace recuda::vgpu

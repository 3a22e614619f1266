#include "device/vgpu/assignment.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "device/vgpu/demand.h"

namespace recuda::vgpu {
namespace {

constexpr uint64_t kMaxAnalysisBits = 1ull << 31;

using Names = std::unordered_set<std::string_view>;

bool is_sink(const ptx::Statement& statement) {
    static const Names kSinks = {"st",   "ld",    "ldu",   "red", "atom",     "bra",      "brx", "bar",  "barrier",
                                 "vote", "match", "redux", "cp",  "ldmatrix", "stmatrix", "mma", "wmma", "wgmma"};
    return kSinks.contains(statement.opcode());
}

/// Passed over: a parameter store may carry a struct's unused bytes.
bool ignores_sources(const ptx::Statement& statement) {
    return statement.opcode() == "call" || (statement.opcode() == "st" && statement.has("param"));
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

    /// Calls visit(operand, index, whether it is written) for the operands that are looked at.
    template <typename Visit>
    void each_operand(const ptx::Statement& statement, Visit visit) {
        const bool call = statement.opcode() == "call";
        for (uint32_t i = 0; i < statement.operands.size(); ++i) {
            const ptx::Operand operand = decoder_.expanded(statement.operands[i]);
            const bool destination =
                i == 0 && operand.kind != ptx::Operand::Kind::address &&
                (call ? statement.operands.size() > 1 && statement.operands[0].kind == ptx::Operand::Kind::vector
                      : has_destination(statement));
            if (destination || (!ignores_sources(statement) && !(i == 1 && stores_parts(statement))))
                visit(operand, i, destination);
        }
    }

    uint32_t program_offset(const ptx::Operand& operand) { return decoder_.register_of(operand).offset; }

    uint32_t number(uint32_t offset) {
        const auto [entry, fresh] = numbers_.try_emplace(offset, count_);
        if (fresh) ++count_;
        return entry->second;
    }

    void collect() {
        for (const ptx::Statement& statement : body_) {
            Roles roles;
            if (statement.guard.kind == ptx::Operand::Kind::name) add_names(statement.guard, roles.uses);
            each_operand(statement, [&](const ptx::Operand& operand, uint32_t, bool destination) {
                add_names(operand, destination ? roles.defines : roles.uses);
            });
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

    std::optional<uint32_t> slot_of(uint32_t offset) const;
    void join(const ptx::Statement& statement, Tracked& tracked) const;
    std::unique_ptr<Tracked> track(uint32_t statement);
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

/// The scalar registers of an operand, each with its place.
void each_register(ProgramDecoder& decoder, const ptx::Operand& operand, RegisterPlace place,
                   const std::function<void(uint32_t, const RegisterPlace&)>& visit) {
    using Kind = ptx::Operand::Kind;
    if ((operand.kind == Kind::name || operand.kind == Kind::address) && decoder.is_register(operand.text)) {
        const auto [offset, type] = decoder.register_of(operand);
        place.bytes = ptx::size_bytes(type);
        visit(offset, place);
    }
    // The second half of `p|q` is element 1 of two.
    const bool pair = operand.kind != Kind::vector;
    for (size_t i = 0; i < operand.elements.size(); ++i) {
        place.element = static_cast<uint32_t>(pair ? i + 1 : i);
        place.elements = static_cast<uint32_t>(operand.elements.size() + (pair ? 1 : 0));
        each_register(decoder, operand.elements[i], place, visit);
    }
}

std::optional<uint32_t> Analysis::slot_of(uint32_t offset) const {
    const auto number = numbers_.find(offset);
    if (number == numbers_.end()) return std::nullopt;
    const auto watched = watched_.find(number->second);
    return watched == watched_.end() ? std::nullopt : std::optional(watched->second);
}

/// Compilers make `a && b` an `and` of both, where b need not be defined when a is false. What a comparison is joined
/// with may settle it too.
void Analysis::join(const ptx::Statement& statement, Tracked& tracked) const {
    const bool compares = statement.opcode() == "setp";
    const auto joins = [&](std::string_view how) { return compares ? statement.has(how) : statement.opcode() == how; };
    const bool conjunction = joins("and");
    if ((!conjunction && !joins("or")) || statement.operands.size() != (compares ? 4 : 3)) return;
    const uint32_t bytes = compares ? 0 : ptx::size_bytes(ptx::type_named(statement.parts.back()));
    for (uint32_t i = 0; i < 2; ++i) {
        const ptx::Operand& operand = statement.operands[compares ? 3 : i + 1];
        if (operand.kind != ptx::Operand::Kind::name || !decoder_.is_register(operand.text)) return;
        const auto [offset, type] = decoder_.register_of(operand);
        tracked.joined[i] = {offset, ptx::size_bytes(type), operand.negated, slot_of(offset)};
        if (tracked.joined[i].bytes != bytes) return;
    }
    tracked.join = conjunction ? Tracked::Join::conjunction : Tracked::Join::disjunction;
}

std::unique_ptr<Tracked> Analysis::track(uint32_t i) {
    const ptx::Statement& statement = body_[i];
    auto tracked = std::make_unique<Tracked>();
    const bool sink = is_sink(statement), shuffle = statement.opcode() == "shfl";
    std::vector<RegisterPlace> sources, results;
    if (statement.guard.kind == ptx::Operand::Kind::name) tracked->guard = slot_of(program_offset(statement.guard));
    each_operand(statement, [&](const ptx::Operand& operand, uint32_t index, bool destination) {
        each_register(decoder_, operand, {.index = index}, [&](uint32_t offset, const RegisterPlace& place) {
            const auto slot = slot_of(offset);
            if (!slot) return;
            if (destination) {
                tracked->results.push_back({*slot, {}});
                results.push_back(place);
                return;
            }
            const bool decides = sink || (shuffle && index != 1);
            tracked->sources.push_back(
                {*slot, decides ? bytes_looked_at(statement, place) : uint16_t{0}, static_cast<uint8_t>(index)});
            sources.push_back(place);
        });
    });
    for (size_t r = 0; r < results.size() && !sink; ++r) {
        if (shuffle && results[r].bytes == 0) continue;  // whether it was inside its segment
        for (size_t s = 0; s < sources.size(); ++s)
            if (tracked->sources[s].decisive == 0)
                tracked->results[r].needs.emplace_back(s, byte_flow(statement, results[r], sources[s]));
    }
    if (!tracked->guard && tracked->sources.empty() && tracked->results.empty()) return nullptr;
    tracked->copies = statement.opcode() == "mov" && statement.operands.size() == 2;
    tracked->shuffles = shuffle;
    if (statement.opcode() == "selp" && statement.operands.size() == 4 &&
        decoder_.is_predicate(statement.operands[3].text)) {
        tracked->selects = true;
        tracked->chooser = program_offset(statement.operands[3]);
        tracked->swapped = statement.operands[3].negated;
    }
    join(statement, *tracked);
    return tracked;
}

void Analysis::wrap() {
    for (auto& [number, slot] : watched_) {
        slot = decoder_.scratch(kStateBytes);
        decoder_.code().state_slots.push_back(slot);
    }
    Program& program = decoder_.program();
    program.tracked.resize(program.code.size());
    for (uint32_t i = 0; i < body_.size(); ++i) {
        auto tracked = track(i);
        if (tracked == nullptr) continue;
        Instruction& in = program.code[first_ + i];
        tracked->run = in.run;
        in.run = run_tracked;
        in.guard_tracked = tracked->guard.has_value();
        program.tracked[in.index] = std::move(tracked);
    }
}

}  // namespace

void track_assignments(ProgramDecoder& decoder) { Analysis(decoder).run(); }

}  // namespace recuda::vgpu

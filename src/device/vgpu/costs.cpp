#include "device/vgpu/costs.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "device/vgpu/demand.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;

enum Step : uint8_t { arithmetic, special, warp, shared, global, barrier, tensor, kSteps };

// Cycles by which the longest of several chains is found: dependent latencies of an H100 as microbenchmarks have them
// (Luo et al., arXiv 2402.13499; a shared load 29, an L2 hit 260, memory beyond 600), rounded.
constexpr double kCycles[kSteps] = {5, 20, 25, 30, 600, 30, 33};

/// What one opcode amounts to in machine code: instructions that depend on each other, and issue cycles of a scheduler.
struct Weight {
    uint8_t issue = 1;
    uint8_t arithmetic = 1, special = 0;
};

bool is_wide(const ptx::Statement& statement) {
    return statement.has("s64") || statement.has("u64") || statement.has("b64") || statement.has("f64");
}

/// Issue: 32 lanes over a quarter of the results a cycle and SM of the programming guide's table of arithmetic
/// throughput (9.0: 128 for f32, 64 for integers, comparisons and conversions, 32 for shuffles, 16 for special
/// functions). Divisions and roots without `.approx` are short programs; their lengths are ptxas's for sm_90.
Weight weight_of(const ptx::Statement& statement) {
    const std::string_view opcode = statement.opcode();
    const bool approximate = statement.has("approx"), wide = is_wide(statement);
    const bool floating = statement.has("f32") || statement.has("f16") || statement.has("bf16") ||
                          statement.has("f16x2") || statement.has("bf16x2");
    if (opcode == "mov" || opcode == "cvta" || opcode == "bra") return {1, 0, 0};
    if (opcode == "ex2" || opcode == "lg2" || opcode == "sin" || opcode == "cos" || opcode == "tanh") return {8, 0, 1};
    if (opcode == "rcp" || opcode == "rsqrt" || opcode == "sqrt")
        return approximate ? Weight{8, 0, 1} : Weight{16, 8, 1};
    if (opcode == "div" && (floating || statement.has("f64")))
        return approximate || statement.has("full") ? Weight{10, 2, 1} : Weight{24, 10, 1};
    if (opcode == "div" || opcode == "rem") return wide ? Weight{140, 60, 2} : Weight{40, 20, 2};
    if (opcode == "shfl" || opcode == "match" || opcode == "redux") return {4, 0, 0};
    if (opcode == "ld" || opcode == "st" || opcode == "atom" || opcode == "red") return {4, 0, 0};
    if (floating) return {1, 1, 0};
    return wide ? Weight{4, 2, 0} : Weight{2, 1, 0};
}

/// The long wait that the result stands behind, or `arithmetic` where there is none.
Step wait_of(const ptx::Statement& statement) {
    const std::string_view opcode = statement.opcode();
    if (opcode == "shfl" || opcode == "vote" || opcode == "match" || opcode == "redux") return warp;
    if (opcode == "bar" || opcode == "barrier") return barrier;
    const std::string_view second = statement.parts.size() > 1 ? statement.parts[1] : std::string_view();
    if (opcode == "mma" || (opcode == "wgmma" && second == "mma_async") || (opcode == "wmma" && second == "mma"))
        return tensor;
    if (opcode == "ldmatrix") return shared;
    // What an mbarrier's phase is waited for is mostly a copy from memory.
    if (opcode == "mbarrier" && (second == "try_wait" || second == "test_wait")) return global;
    const bool loads = opcode == "ld" || opcode == "ldu" || opcode == "atom" || opcode == "wmma";
    if (!loads) return opcode == "cp" && statement.has("wait_group") ? global : arithmetic;
    if (statement.has("param") || statement.has("const")) return arithmetic;
    return statement.has("shared") || statement.has("shared::cta") || statement.has("local") ? shared : global;
}

bool writes_memory(std::string_view opcode) {
    return opcode == "st" || opcode == "red" || opcode == "atom" || opcode == "cp" || opcode == "stmatrix" ||
           opcode == "bar" || opcode == "barrier" || opcode == "fence" || opcode == "membar" || opcode == "call";
}

/// A chain so far.
struct Path {
    double cycles = 0;
    int steps[kSteps] = {};

    void take(const Path& other) {
        if (other.cycles > cycles) *this = other;
    }
    void step(Step kind, uint32_t times) {
        steps[kind] += static_cast<int>(times);
        cycles += kCycles[kind] * times;
    }
};

/// Code without a loop's beginning or end inside, statement by statement.
class Stretch {
 public:
    void add(const ptx::Statement& statement) {
        const std::string_view opcode = statement.opcode();
        const bool writes = writes_memory(opcode), destination = has_destination(statement);
        Path path = of(statement.guard);
        for (size_t i = destination ? 1 : 0; i < statement.operands.size(); ++i) path.take(of(statement.operands[i]));
        const Step wait = wait_of(statement);
        // What is read may have been written just before: only `.nc` says that nobody writes it.
        if (writes || (wait != arithmetic && !statement.has("nc"))) path.take(memory_);
        const Weight weight = weight_of(statement);
        path.step(arithmetic, weight.arithmetic);
        path.step(special, weight.special);
        if (wait != arithmetic) path.step(wait, 1);
        if (writes) memory_.take(path);
        if (destination && !statement.operands.empty()) set(statement.operands[0], path);
        longest_.take(path);
    }

    /// What the longest chain has gained since this was last asked.
    Cost gained() {
        const auto since = [&](Step kind) { return static_cast<int16_t>(longest_.steps[kind] - charged_.steps[kind]); };
        const Cost cost{1,
                        since(arithmetic),
                        since(special),
                        since(warp),
                        since(shared),
                        since(global),
                        since(barrier),
                        since(tensor)};
        charged_ = longest_;
        return cost;
    }

 private:
    Path of(const ptx::Operand& operand) const {
        Path path;
        if (const auto known = registers_.find(operand.text); !operand.text.empty() && known != registers_.end())
            path = known->second;
        for (const ptx::Operand& element : operand.elements) path.take(of(element));
        return path;
    }
    void set(const ptx::Operand& operand, const Path& path) {
        if (operand.kind == Kind::name) registers_[operand.text] = path;
        for (const ptx::Operand& element : operand.elements) set(element, path);
    }

    std::unordered_map<std::string_view, Path> registers_;
    Path memory_, longest_, charged_;
};

/// Instructions of a function at which a straight piece begins; true where a loop begins or has ended.
std::map<uint32_t, bool> beginnings(const Program& program, const FunctionCode& function) {
    std::map<uint32_t, bool> starts{{function.first, true}};
    for (uint32_t pc = function.first; pc < function.first + function.count; ++pc) {
        if (program.ends[pc]) starts[pc + 1];
        const auto jump = program.jumps.find(pc);
        if (jump == program.jumps.end()) continue;
        for (const uint32_t target : jump->second) {
            const bool backward = target <= pc;
            starts[target] |= backward;
            starts[pc + 1] |= backward;
        }
    }
    return starts;
}

void add_function(const Program& program, const FunctionCode& function, std::vector<Cost>& costs) {
    const auto& body = function.source->body;
    const std::map<uint32_t, bool> starts = beginnings(program, function);
    Stretch stretch;
    uint32_t start = function.first;
    const auto finish = [&] {
        const uint8_t issue = costs[start].issue;
        costs[start] = stretch.gained();
        costs[start].issue = issue;
    };
    for (size_t i = 0; i < body.size(); ++i) {
        const uint32_t pc = function.first + static_cast<uint32_t>(i);
        if (const auto next = starts.find(pc); pc != start && next != starts.end()) {
            finish();
            if (next->second) stretch = {};
            start = pc;
        }
        costs[pc].issue = weight_of(body[i]).issue;
        stretch.add(body[i]);
    }
    finish();
}

}  // namespace

void Cost::add_chain(Chain& chain, uint64_t times) const {
    const auto steps = [&](int16_t each) { return each * static_cast<int64_t>(times); };
    chain.arithmetic += steps(arithmetic);
    chain.special += steps(special);
    chain.warp += steps(warp);
    chain.shared += steps(shared);
    chain.global += steps(global);
    chain.barrier += steps(barrier);
    chain.tensor += steps(tensor);
}

std::vector<Cost> costs_of(const Program& program) {
    std::vector<Cost> costs(program.code.size());
    for (const auto& function : program.functions) add_function(program, *function, costs);
    return costs;
}

const std::vector<Cost>& Program::costs() const {
    const std::lock_guard lock(mutex_);
    if (costs_.empty()) costs_ = costs_of(*this);
    return costs_;
}

}  // namespace recuda::vgpu

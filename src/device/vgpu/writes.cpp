#include "device/vgpu/writes.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "device/vgpu/demand.h"

namespace recuda::vgpu {
namespace {

using ptx::Operand;
using Kind = ptx::Operand::Kind;

constexpr uint64_t kFromMemory = uint64_t{1} << 63;  // a 64-bit value that was loaded: any address
constexpr uint64_t kVariable = uint64_t{1} << 62;    // of the module
constexpr uint64_t kOwn = uint64_t{1} << 61;         // shared or local memory

bool any_of(const ptx::Statement& statement, std::initializer_list<std::string_view> names) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return statement.has(name); });
}

class Flow {
 public:
    Flow(const ptx::Module& module, const ptx::Function& entry) {
        for (size_t i = 0; i < entry.parameters.size(); ++i) origins_[entry.parameters[i].name] = uint64_t{1} << i;
        const auto declare = [&](const std::vector<ptx::Variable>& variables) {
            for (const auto& variable : variables) {
                const bool own = variable.space == ptx::Space::shared || variable.space == ptx::Space::local;
                origins_[variable.name] = own ? kOwn : kVariable;
            }
        };
        declare(module.variables);
        declare(entry.variables);
        do {
            changed_ = false;
            for (const ptx::Statement& statement : entry.body) visit(statement);
        } while (changed_);
        for (const ptx::Statement& statement : entry.body) visit_effect(statement);
    }

    Writes writes() && { return std::move(writes_); }

 private:
    uint64_t origin(const Operand& operand) const {
        uint64_t sum = 0;
        if (const auto known = origins_.find(operand.text); known != origins_.end()) sum = known->second;
        for (const Operand& element : operand.elements) sum |= origin(element);
        return sum;
    }

    void set(const Operand& operand, uint64_t origin) {
        if (operand.kind == Kind::name) {
            uint64_t& here = origins_[operand.text];
            changed_ = changed_ || (origin & ~here) != 0;
            here |= origin;
        }
        for (const Operand& element : operand.elements) set(element, origin);
    }

    void store(uint64_t origin) {
        if (origin == 0 || (origin & kFromMemory) != 0) writes_.everything = true;
        if (std::find(writes_.sites.begin(), writes_.sites.end(), origin) != writes_.sites.end()) return;
        writes_.sites.push_back(origin);
    }

    /// Stores of all kinds, and what may be one.
    void visit_effect(const ptx::Statement& statement) {
        const std::string_view opcode = statement.opcode();
        const auto& operands = statement.operands;
        const auto address = std::find_if(operands.begin(), operands.end(),
                                          [](const Operand& operand) { return operand.kind == Kind::address; });
        if (opcode == "call" || opcode == "multimem" || opcode == "tensormap") {
            const bool prints = opcode == "call" && std::any_of(operands.begin(), operands.end(), [](const Operand& o) {
                                    return o.text == "vprintf" || o.text == "__assertfail";
                                });
            if (!prints) writes_.everything = true;
        }
        if (address == operands.end()) return;
        if (opcode == "cp") return visit_copy(statement);
        static constexpr std::string_view kReaders[] = {"ld",           "ldu",          "ldmatrix", "prefetch",
                                                        "prefetchu",    "mbarrier",     "wgmma",    "fence",
                                                        "createpolicy", "applypriority"};
        if (std::find(std::begin(kReaders), std::end(kReaders), opcode) != std::end(kReaders)) return;
        if (opcode == "wmma" && !statement.has("store")) return;
        if (any_of(statement, {"shared", "shared::cta", "shared::cluster", "local", "param", "param::func"})) return;
        store(origin(*address));
    }

    void visit_copy(const ptx::Statement& statement) {
        const auto& parts = statement.parts;
        const auto global = std::find(parts.begin(), parts.end(), "global"),
                   shared = std::find_if(parts.begin(), parts.end(),
                                         [](std::string_view part) { return part.starts_with("shared"); });
        // The destination's space stands first.
        if (global < shared && !statement.operands.empty()) store(origin(statement.operands[0]));
    }

    void visit(const ptx::Statement& statement) {
        const auto& operands = statement.operands;
        if (operands.empty() || !has_destination(statement)) return;
        const std::string_view opcode = statement.opcode();
        uint64_t sum = 0;
        const bool memory = operands.size() > 1 && operands[1].kind == Kind::address;
        if (memory && any_of(statement, {"param", "param::entry", "const"})) {
            sum = origin(operands[1]);
        } else if (memory) {
            const ptx::Type type = ptx::type_named(statement.parts.back());
            sum = ptx::size_bytes(type) >= 8 ? kFromMemory : 0;
        } else {
            // What decides between two addresses is part of neither.
            const size_t end = opcode == "selp" || opcode == "slct" ? operands.size() - 1 : operands.size();
            for (size_t i = 1; i < end; ++i) sum |= origin(operands[i]);
            if (opcode == "mov" && operands.size() == 2 && operands[1].kind == Kind::vector) sum |= kFromMemory;
        }
        set(operands[0], sum);
    }

    std::unordered_map<std::string_view, uint64_t> origins_;
    Writes writes_{.everything = false};
    bool changed_ = false;
};

}  // namespace

bool Writes::may_reach_all(uint64_t buffers) const {
    return everything || std::any_of(sites.begin(), sites.end(),
                                     [&](uint64_t site) { return (site & (buffers | kVariable | kOwn)) == 0; });
}

bool Writes::may_reach(uint32_t parameter, uint64_t buffers) const {
    return may_reach_all(buffers) || std::any_of(sites.begin(), sites.end(), [&](uint64_t site) {
               return parameter < kMostParameters && (site >> parameter & 1) != 0;
           });
}

Writes writes_of(const ptx::Module& module, const ptx::Function& entry) {
    const bool vectors = std::any_of(entry.registers.begin(), entry.registers.end(),
                                     [](const auto& group) { return group.vector != 1; });
    if (vectors || entry.parameters.size() > Writes::kMostParameters) return {};
    return Flow(module, entry).writes();
}

}  // namespace recuda::vgpu

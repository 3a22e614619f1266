#include "device/vgpu/demand.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "device/vgpu/program.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;

uint32_t low(uint32_t bytes) { return bytes >= 32 ? ~0u : (1u << bytes) - 1; }

/// Bytes that hold bits `from` to `from + count` - 1.
uint32_t bytes_of_bits(uint64_t from, uint64_t count) {
    if (count == 0 || from >= 256) return 0;
    const uint64_t last = std::min<uint64_t>(from + count - 1, 255) / 8;
    return low(static_cast<uint32_t>(last + 1)) & ~low(static_cast<uint32_t>(from / 8));
}

bool is_integer(ptx::Type type) { return type >= ptx::Type::b8 && type <= ptx::Type::s64; }

/// Bytes of `a` and `b` that a byte permutation with this selector puts where `wanted` looks.
std::pair<uint32_t, uint32_t> permuted(uint64_t selector, uint32_t wanted) {
    uint32_t first = 0, second = 0;
    for (uint32_t i = 0; i < 4; ++i) {
        if (!(wanted >> i & 1)) continue;
        const uint32_t from = selector >> 4 * i & 7;
        (from < 4 ? first : second) |= 1u << from % 4;
    }
    return {first, second};
}

}  // namespace

bool has_destination(const ptx::Statement& statement) {
    static const std::unordered_set<std::string_view> kNone = {"st",
                                                               "red",
                                                               "bra",
                                                               "brx",
                                                               "call",
                                                               "ret",
                                                               "exit",
                                                               "trap",
                                                               "brkpt",
                                                               "prefetch",
                                                               "prefetchu",
                                                               "cp",
                                                               "membar",
                                                               "fence",
                                                               "nanosleep",
                                                               "stmatrix",
                                                               "discard",
                                                               "applypriority",
                                                               "griddepcontrol",
                                                               "setmaxnreg",
                                                               "pmevent",
                                                               "tensormap",
                                                               "clusterlaunchcontrol"};
    if (kNone.contains(statement.opcode())) return false;
    if (statement.opcode() == "bar" || statement.opcode() == "barrier") return statement.has("red");
    if (statement.opcode() == "multimem") return !statement.has("red") && !statement.has("st");
    if (statement.opcode() == "mbarrier")
        return statement.has("arrive") || statement.has("test_wait") || statement.has("try_wait") ||
               statement.has("pending_count") || statement.has("arrive_drop");
    if (statement.opcode() == "wmma") return !statement.has("store");
    return true;
}

Demand::Demand(ProgramDecoder& decoder) : decoder_(decoder) {
    const ptx::Function& function = decoder.function();
    for (const auto& group : function.registers) everything_ = everything_ || group.vector != 1;
    if (everything_) return;
    for (const auto& variable : function.returns) {
        Operand operand;
        operand.kind = Kind::name;
        operand.text = variable.name;
        if (variable.space == ptx::Space::reg) use_all(operand);
    }
    index_definitions();
    for (size_t i = function.body.size(); i-- > 0;) visit(function.body[i]);
    while (!pending_.empty()) {
        const uint32_t statement = pending_.back();
        pending_.pop_back();
        queued_[statement] = false;
        visit(function.body[statement]);
    }
}

void Demand::index_definitions() {
    const auto& body = decoder_.function().body;
    queued_.assign(body.size(), false);
    const auto note = [&](const Operand& operand, uint32_t statement) {
        if (operand.kind == Kind::name && decoder_.is_register(operand.text))
            definitions_[decoder_.register_of(operand).offset].push_back(statement);
    };
    for (uint32_t i = 0; i < body.size(); ++i) {
        if (body[i].operands.empty()) continue;
        note(body[i].operands[0], i);
        for (const Operand& element : body[i].operands[0].elements) note(element, i);
    }
}

void Demand::look_again(uint32_t offset) {
    const auto found = definitions_.find(offset);
    if (found == definitions_.end()) return;
    for (const uint32_t statement : found->second) {
        if (queued_[statement]) continue;
        queued_[statement] = true;
        pending_.push_back(statement);
    }
}

uint32_t Demand::width(const Operand& operand) const {
    if (operand.kind != Kind::name || !decoder_.is_register(operand.text)) return 0;
    return ptx::size_bytes(decoder_.register_of(operand).type);
}

uint32_t Demand::known(const Operand& operand) const {
    if (operand.kind != Kind::name || !decoder_.is_register(operand.text)) return 0;
    const auto found = bytes_.find(decoder_.register_of(operand).offset);
    return found == bytes_.end() ? 0 : found->second;
}

uint32_t Demand::of(const Operand& operand, uint32_t bytes) const {
    if (operand.kind == Kind::sink || bytes == 0) return 0;
    if (everything_) return low(bytes);
    const uint32_t used = known(operand);
    // Bytes of a wider register above the element are its zeros or its sign, which its last byte decides.
    return (used & low(bytes)) | (used > low(bytes) ? 1u << (bytes - 1) : 0);
}

bool Demand::unread(const Operand& result) const {
    const auto nothing_of = [&](const Operand& operand) { return of(operand, 1) == 0; };
    return result.kind == Kind::vector ? std::all_of(result.elements.begin(), result.elements.end(), nothing_of)
                                       : nothing_of(result);
}

void Demand::use(const Operand& operand, uint32_t bytes) {
    if (bytes != 0 && (operand.kind == Kind::name || operand.kind == Kind::address) &&
        decoder_.is_register(operand.text)) {
        const uint32_t offset = decoder_.register_of(operand).offset;
        uint32_t& here = bytes_[offset];
        if ((bytes & ~here) != 0) {
            here |= bytes;
            look_again(offset);
        }
    }
    for (const Operand& element : operand.elements) use(element, bytes);
}

void Demand::visit(const ptx::Statement& statement) {
    use_all(statement.guard);
    const auto& operands = statement.operands;
    const bool writes = has_destination(statement) && !operands.empty() && operands[0].kind != Kind::address &&
                        statement.opcode() != "wgmma" && statement.opcode() != "multimem";
    if (writes && visit_special(statement, known(operands[0]))) return;
    for (size_t i = writes ? 1 : 0; i < operands.size(); ++i) use_all(operands[i]);
}

bool Demand::visit_special(const ptx::Statement& statement, uint32_t wanted) {
    const std::string_view opcode = statement.opcode();
    if (opcode == "mov") return visit_move(statement, wanted);
    if (statement.operands.size() < 2 || statement.operands[0].kind != Kind::name) return false;
    return visit_bits(statement, wanted);
}

bool Demand::visit_move(const ptx::Statement& statement, uint32_t wanted) {
    if (statement.operands.size() != 2) return false;
    const Operand &to = statement.operands[0], &from = statement.operands[1];
    if (to.kind == Kind::name && from.kind == Kind::name) {
        use(from, wanted);
        return true;
    }
    const Operand& parts = to.kind == Kind::vector ? to : from;
    if (parts.kind != Kind::vector || parts.elements.empty()) return false;
    const uint32_t step = ptx::size_bytes(ptx::type_named(statement.parts.back())) / parts.elements.size();
    if (step == 0) return false;
    uint32_t needed = 0;
    for (size_t i = 0; i < parts.elements.size(); ++i) {
        if (to.kind == Kind::vector)
            needed |= (known(parts.elements[i]) & low(step)) << i * step;
        else
            use(parts.elements[i], wanted >> i * step & low(step));
    }
    if (to.kind == Kind::vector) use(from, needed);
    return true;
}

bool Demand::visit_bits(const ptx::Statement& statement, uint32_t wanted) {
    const std::string_view opcode = statement.opcode();
    const auto& operands = statement.operands;
    const ptx::Type type = ptx::type_named(statement.parts.back());
    if (ptx::size_bytes(type) == 0) return false;
    if (opcode == "selp" && wanted == 0) return true;
    const bool constant = operands.size() > 2 && operands[2].kind == Kind::integer;
    if (opcode == "cvt" && statement.parts.size() == 3 && operands.size() == 2) {
        const ptx::Type to = ptx::type_named(statement.parts[1]);
        if (!is_integer(to) || !is_integer(type)) return false;
        const uint32_t narrow = low(std::min(ptx::size_bytes(to), ptx::size_bytes(type)));
        // A wider result is filled from the last byte.
        const uint32_t last = narrow ^ (narrow >> 1);
        use(operands[1], (wanted & narrow) | (wanted > narrow ? last : 0));
        return true;
    }
    if (opcode == "and" && constant) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < 8; ++i) kept |= (operands[2].bits >> 8 * i & 0xff) != 0 ? 1u << i : 0;
        use(operands[1], wanted & kept);
        return true;
    }
    if ((opcode == "shr" || opcode == "shl") && constant && operands[2].bits < 64) {
        const uint32_t bits = static_cast<uint32_t>(operands[2].bits), whole = bits / 8, size = ptx::size_bytes(type);
        uint32_t needed = opcode == "shr" ? wanted << whole : wanted >> whole;
        if (bits % 8 != 0) needed |= opcode == "shr" ? needed << 1 : needed >> 1;
        if (opcode == "shr" && statement.parts.back().starts_with('s') && (needed & ~low(size)) != 0)
            needed |= 1u << (size - 1);
        use(operands[1], needed & low(size));
        return true;
    }
    if (opcode == "prmt" && statement.parts.size() == 2 && operands.size() == 4 && operands[3].kind == Kind::integer) {
        const auto [first, second] = permuted(operands[3].bits, wanted);
        use(operands[1], first);
        use(operands[2], second);
        return true;
    }
    if (opcode == "bfe" && operands.size() == 4 && operands[2].kind == Kind::integer &&
        operands[3].kind == Kind::integer && wanted != 0) {
        use(operands[1], bytes_of_bits(operands[2].bits & 0xff, operands[3].bits & 0xff));
        if (statement.parts.back().starts_with('s')) return false;
        return true;
    }
    return false;
}

}  // namespace recuda::vgpu

// A warp without a machine: registers by name, statements decoded with the rows of arithmetic and run one after the
// other.
//
//     OpsMachine m(".reg .b32 a, b, d;");
//     m.set<uint32_t>("a", {1, 2, 3});
//     m.run("add.u32 d, a, b;");
//     m.get<uint32_t>("d", 0);
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/vgpu/decode.h"
#include "device/vgpu/ops/formats.h"
#include "device/vgpu/warp.h"

namespace recuda::vgpu {

class OpsMachine : public Decoder {
 public:
    explicit OpsMachine(std::string declarations) : declarations_(std::move(declarations)) {
        const size_t space = kBytes + 64;
        storage_ = std::make_unique<std::byte[]>(space);
        void* aligned = storage_.get();
        size_t left = space;
        warp_.registers = static_cast<std::byte*>(std::align(64, kBytes, aligned, left));
        declare();
    }

    /// Lanes from the first; the others get the last value.
    template <typename T>
    void set(std::string_view name, std::initializer_list<T> values) {
        set(name, std::vector<T>(values));
    }
    template <typename T>
    void set(std::string_view name, const std::vector<T>& values) {
        for (uint32_t i = 0; i < kLanes; ++i) put(name, i, values[i < values.size() ? i : values.size() - 1]);
    }
    void set_mask(std::string_view name, Mask mask) { warp_.predicate(registers_.at(std::string(name)).offset) = mask; }

    template <typename T>
    T get(std::string_view name, uint32_t lane = 0) {
        T value;
        std::memcpy(&value, lane_of(name, lane), sizeof(T));
        return value;
    }
    Mask mask(std::string_view name) { return warp_.predicate(registers_.at(std::string(name)).offset); }

    /// Runs statements for the lanes of `active`. Throws what decoding throws.
    void run(const std::string& body, Mask active = kFullMask) {
        module_ = ptx::parse(".version 9.0\n.target sm_90a\n.address_size 64\n.entry t() {\n" + declarations_ + body +
                             "\n}\n");
        for (const ptx::Statement& statement : module_.functions.at(0).body) {
            Instruction in;
            decode(statement, in);
            Mask lanes = active;
            if (statement.guard.kind != ptx::Operand::Kind::none) {
                const Mask guard = warp_.predicate(predicate(statement.guard));
                lanes &= statement.guard.negated ? ~guard : guard;
            }
            if (lanes != 0) in.run(warp_, in, lanes);
        }
    }

    Register register_of(const ptx::Operand& operand) override {
        const auto found = registers_.find(std::string(operand.text));
        if (found == registers_.end()) throw Unsupported("no register " + std::string(operand.text));
        return found->second;
    }
    uint32_t source(const ptx::Operand& operand, ptx::Type type) override {
        if (operand.kind == ptx::Operand::Kind::integer) return constant(operand.bits, ptx::size_bytes(type));
        if (operand.kind == ptx::Operand::Kind::floating) {
            if (operand.is_double && ptx::size_bytes(type) == 4)
                return constant(bits_of(static_cast<float>(as_double(operand.bits))), 4);
            return constant(operand.bits, ptx::size_bytes(type));
        }
        return of_width(operand, type);
    }
    uint32_t destination(const ptx::Operand& operand, ptx::Type type) override {
        if (operand.kind == ptx::Operand::Kind::sink) return scratch(8);
        return of_width(operand, type);
    }
    uint32_t predicate(const ptx::Operand& operand) override { return of_width(operand, ptx::Type::pred); }
    uint32_t scratch(uint32_t bytes) override {
        const uint32_t offset = used_;
        used_ += (std::max(bytes, 2u) * kLanes + 63) / 64 * 64;
        if (used_ > kBytes) throw Unsupported("no registers left in this test");
        return offset;
    }
    uint32_t constant(uint64_t bits, uint32_t bytes) override {
        const uint32_t offset = scratch(bytes);
        for (uint32_t i = 0; i < kLanes; ++i)
            std::memcpy(warp_.registers + offset + i * std::max(bytes, 2u), &bits, std::max(bytes, 2u));
        return offset;
    }
    uint32_t label(std::string_view) override { throw Unsupported("labels"); }
    const Extra* keep(std::unique_ptr<Extra> extra) override {
        extras_.push_back(std::move(extra));
        return extras_.back().get();
    }
    const ptx::Module& module() const override { return module_; }
    const ptx::Function& function() const override { return module_.functions.at(0); }

    void decode(const ptx::Statement& statement, Instruction& in) {
        for (const auto& rows :
             {integer_rows(), bit_rows(), float_rows(), half_rows(), convert_rows(), select_rows()}) {
            for (const OpRow& row : rows) {
                if (row.opcode != statement.opcode()) continue;
                try {
                    in = Instruction();
                    row.decode(*this, statement, in);
                    return;
                } catch (const NotMine&) {
                }
            }
        }
        throw Unsupported(statement.text());
    }

    Warp& warp() { return warp_; }

    /// The result of one instruction for scalars in all lanes: registers a, b, c are sources, d is the destination.
    template <typename D, typename... Sources>
    D result_of(const std::string& statement, Sources... sources) {
        const char* const names[] = {"a", "b", "c"};
        size_t i = 0;
        (set<Sources>(names[i++], {sources}), ...);
        set<D>("d", {static_cast<D>(0x55)});
        run(statement);
        for (uint32_t lane = 1; lane < kLanes; ++lane)
            EXPECT_EQ(std::memcmp(lane_of("d", 0), lane_of("d", lane), sizeof(D)), 0) << statement;
        return get<D>("d");
    }

 private:
    static constexpr uint32_t kBytes = 4u << 20;

    void declare() {
        module_ = ptx::parse(".version 9.0\n.target sm_90a\n.entry t() {\n" + declarations_ + "\n}\n");
        for (const auto& declaration : module_.functions.at(0).registers) {
            const std::string prefix(declaration.prefix);
            for (uint32_t i = 0; i < std::max(1u, declaration.count); ++i) {
                const std::string name = declaration.count == 0 ? prefix : prefix + std::to_string(i);
                registers_[name] = {scratch(ptx::size_bytes(declaration.type)), declaration.type};
            }
        }
    }
    uint32_t of_width(const ptx::Operand& operand, ptx::Type type) {
        const Register found = register_of(operand);
        if (ptx::size_bytes(found.type) != ptx::size_bytes(type)) throw Unsupported("a register of another width");
        return found.offset;
    }
    std::byte* lane_of(std::string_view name, uint32_t lane) {
        const Register& found = registers_.at(std::string(name));
        return warp_.registers + found.offset + lane * std::max(2u, ptx::size_bytes(found.type));
    }
    template <typename T>
    void put(std::string_view name, uint32_t lane, T value) {
        std::memcpy(lane_of(name, lane), &value, sizeof(T));
    }

    std::string declarations_;
    std::unique_ptr<std::byte[]> storage_;
    std::map<std::string, Register> registers_;
    std::vector<std::unique_ptr<Extra>> extras_;
    ptx::Module module_;
    Warp warp_;
    uint32_t used_ = 0;
};

/// A machine with a, b, c, d of these widths in bits and predicates p, q, r.
inline OpsMachine machine_of(int a, int b, int c, int d) {
    const auto declare = [](const char* name, int bits) { return ".reg .b" + std::to_string(bits) + " " + name + ";"; };
    return OpsMachine(declare("a", a) + declare("b", b) + declare("c", c) + declare("d", d) + ".reg .pred p, q, r;");
}

/// One line of a table: what an instruction makes of up to three words.
struct Case {
    const char* statement;
    uint64_t a, b, c;
    uint64_t d;
};

/// Runs a table on registers of the types A, B, C, D.
template <typename D, typename A, typename B, typename C>
void check(std::initializer_list<Case> cases) {
    for (const Case& one : cases) {
        OpsMachine machine = machine_of(8 * sizeof(A), 8 * sizeof(B), 8 * sizeof(C), 8 * sizeof(D));
        const D d =
            machine.result_of<D>(one.statement, static_cast<A>(one.a), static_cast<B>(one.b), static_cast<C>(one.c));
        EXPECT_EQ(d, static_cast<D>(one.d)) << one.statement << std::hex << " of 0x" << one.a << " 0x" << one.b << " 0x"
                                            << one.c << " gives 0x" << +d << ", not 0x" << one.d;
    }
}

}  // namespace recuda::vgpu

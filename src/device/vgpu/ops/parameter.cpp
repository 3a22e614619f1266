// ld.param and st.param. Variables in .param space of a function lie in the register file; the entry's parameters are
// constants there.
#include <fmt/format.h>

#include <cstring>

#include "device/vgpu/demand.h"
#include "device/vgpu/memory/pattern.h"
#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/memory.h"

namespace recuda::vgpu {
namespace {

using Kind = ptx::Operand::Kind;

template <typename E, typename R>
void load_slot(Warp& warp, const Instruction& in, Mask active) {
    const auto* vector = static_cast<const Vector*>(in.extra);
    const size_t count = vector != nullptr ? vector->offsets.size() : 1;
    for (size_t i = 0; i < count; ++i) {
        R* to = warp.lanes<R>(vector != nullptr ? vector->offsets[i] : in.d);
        for (Mask rest = active; rest != 0; rest &= rest - 1) {
            const uint32_t lane = first_lane(rest);
            E value;
            std::memcpy(&value, warp.registers + in.a + size_t{lane} * in.c + i * sizeof(E), sizeof(E));
            to[lane] = static_cast<R>(value);
        }
    }
}

template <typename E, typename R>
void store_slot(Warp& warp, const Instruction& in, Mask active) {
    const auto* vector = static_cast<const Vector*>(in.extra);
    const size_t count = vector != nullptr ? vector->offsets.size() : 1;
    for (size_t i = 0; i < count; ++i) {
        const R* from = warp.lanes<R>(vector != nullptr ? vector->offsets[i] : in.b);
        for (Mask rest = active; rest != 0; rest &= rest - 1) {
            const uint32_t lane = first_lane(rest);
            const E value = static_cast<E>(from[lane]);
            std::memcpy(warp.registers + in.a + size_t{lane} * in.c + i * sizeof(E), &value, sizeof(E));
        }
    }
}

template <bool kLoads>
Handler slot_handler(uint32_t element, bool is_signed, uint32_t lane) {
    const uint32_t key = element * 100 + lane * (is_signed && kLoads && element < lane ? 10 : 1);
    const auto of = [](auto e, auto r) -> Handler {
        if constexpr (kLoads)
            return load_slot<decltype(e), decltype(r)>;
        else
            return store_slot<decltype(e), decltype(r)>;
    };
    switch (key) {
        case 102:
            return of(uint8_t(), uint16_t());
        case 120:
            return of(int8_t(), uint16_t());
        case 104:
            return of(uint8_t(), uint32_t());
        case 140:
            return of(int8_t(), uint32_t());
        case 108:
            return of(uint8_t(), uint64_t());
        case 180:
            return of(int8_t(), uint64_t());
        case 202:
            return of(uint16_t(), uint16_t());
        case 204:
            return of(uint16_t(), uint32_t());
        case 240:
            return of(int16_t(), uint32_t());
        case 208:
            return of(uint16_t(), uint64_t());
        case 280:
            return of(int16_t(), uint64_t());
        case 404:
            return of(uint32_t(), uint32_t());
        case 408:
            return of(uint32_t(), uint64_t());
        case 480:
            return of(int32_t(), uint64_t());
        case 808:
            return of(uint64_t(), uint64_t());
        case 1616:
            return of(Wide(), Wide());
    }
    throw Unsupported("a parameter access of this size");
}

/// A parameter of the entry: one value for all lanes, in the register file from the start.
template <typename E, typename R>
void load_constant(Warp& warp, const Instruction& in, Mask active) {
    const auto* vector = static_cast<const Vector*>(in.extra);
    for (size_t i = 0; i < vector->offsets.size(); i += 2) {
        R value;
        std::memcpy(&value, warp.registers + vector->offsets[i + 1], sizeof(R));
        if constexpr (!std::is_same_v<E, R>) value = static_cast<R>(static_cast<E>(value));
        for_lanes(warp.lanes<R>(vector->offsets[i]), active, [&](uint32_t) { return value; });
    }
}

Handler constant_handler(uint32_t element, bool is_signed, uint32_t lane) {
    switch (element * 100 + lane * (is_signed && element < lane ? 10 : 1)) {
        case 102:
        case 202:
            return load_constant<uint16_t, uint16_t>;
        case 104:
        case 204:
        case 404:
            return load_constant<uint32_t, uint32_t>;
        case 108:
        case 208:
        case 408:
        case 808:
            return load_constant<uint64_t, uint64_t>;
        case 120:
            return load_constant<int8_t, uint16_t>;
        case 140:
            return load_constant<int8_t, uint32_t>;
        case 180:
            return load_constant<int8_t, uint64_t>;
        case 240:
            return load_constant<int16_t, uint32_t>;
        case 280:
            return load_constant<int16_t, uint64_t>;
        case 480:
            return load_constant<int32_t, uint64_t>;
    }
    throw Unsupported("a parameter access of this size");
}

}  // namespace

bool is_signed(ptx::Type type) {
    return type == ptx::Type::s8 || type == ptx::Type::s16 || type == ptx::Type::s32 || type == ptx::Type::s64;
}

std::pair<uint32_t, uint32_t> element_register(ProgramDecoder& decoder, const ptx::Operand& operand, ptx::Type type,
                                               bool loads) {
    const uint32_t bytes = std::max(2u, ptx::size_bytes(type));
    if (operand.kind == Kind::name && decoder.is_register(operand.text)) {
        const auto found = decoder.register_of(operand);
        if (found.type == ptx::Type::pred) throw Unsupported("a predicate in memory");
        const uint32_t lane = std::max(2u, ptx::size_bytes(found.type));
        if (lane < ptx::size_bytes(type)) throw Unsupported("a register narrower than the access");
        return {found.offset, lane};
    }
    if (loads) return {decoder.destination(operand, type), bytes};
    return {decoder.source(operand, type), bytes};
}

bool decode_parameter(ProgramDecoder& decoder, const ptx::Statement& statement, Instruction& in, ptx::Type type,
                      bool loads) {
    const auto& address = statement.operands[loads ? 0 + 1 : 0];
    const auto& value = statement.operands[loads ? 0 : 1];
    std::vector<ptx::Operand> elements = value.kind == Kind::vector ? value.elements : std::vector{value};
    const uint32_t bytes = ptx::size_bytes(type);
    // What a widened load reads behind the last element in use may lie behind the parameter.
    while (loads && elements.size() > 1 && decoder.demand().of(elements.back(), bytes) == 0) elements.pop_back();
    auto vector = std::make_unique<Vector>();
    uint32_t lane = 0;
    for (const auto& element : elements) {
        const auto [offset, width] = element_register(decoder, element, type, loads);
        if (lane != 0 && lane != width) throw Unsupported("registers of different widths in one access");
        lane = width;
        vector->offsets.push_back(offset);
    }
    in.mix = Mix::move;
    if (const ParamSlot* slot = decoder.parameter(address.text)) {
        const uint64_t accessed = bytes * elements.size();
        if (address.offset < 0 || accessed > slot->bytes ||
            static_cast<uint64_t>(address.offset) > slot->bytes - accessed)
            throw Unsupported(fmt::format("an access past the end of '{}'", address.text));
        in.a = slot->offset + static_cast<uint32_t>(address.offset);
        in.c = slot->stride;
        in.run = loads ? slot_handler<true>(bytes, is_signed(type), lane)
                       : slot_handler<false>(bytes, is_signed(type), lane);
        if (value.kind != Kind::vector)
            (loads ? in.d : in.b) = vector->offsets[0];
        else
            in.extra = decoder.keep(std::move(vector));
        return true;
    }
    if (!loads) return false;
    // Read at the register's width: entry_parameter pads with zeros.
    std::vector<uint32_t> pairs;
    for (size_t i = 0; i < elements.size(); ++i) {
        uint32_t constant;
        const auto at = static_cast<int64_t>(static_cast<uint64_t>(address.offset) + i * bytes);
        if (!decoder.entry_parameter(address.text, at, bytes, lane, &constant)) return false;
        pairs.push_back(vector->offsets[i]);
        pairs.push_back(constant);
    }
    if (lane == 16) throw Unsupported("a parameter of 128 bits");
    vector->offsets = std::move(pairs);
    in.run = constant_handler(bytes, is_signed(type), lane);
    in.extra = decoder.keep(std::move(vector));
    return true;
}

}  // namespace recuda::vgpu

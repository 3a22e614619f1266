// SIMD video instructions (PTX ISA 9.0, section 9.7.18.2): two halves or four bytes of a register pair, selected from
// both sources, then either merged into c or summed with it.
#include <array>

#include "device/vgpu/ops/lanes.h"
#include "device/vgpu/ops/video.h"

namespace recuda::vgpu {
namespace {

using ptx::Statement;
using ptx::Type;

struct Elements : Extra {
    uint32_t count = 2;               // 2 halves or 4 bytes
    std::array<uint8_t, 4> a{}, b{};  // which of the elements of b:a each operand has, the lowest first
    std::array<bool, 4> chosen{};     // by the mask
    bool a_signed = false, b_signed = false, is_signed = false, sat = false, adds = false, compares = false;
    VideoOperation operation = VideoOperation::add;
    VideoComparison comparison = VideoComparison::eq;

    uint32_t bits() const { return 32 / count; }

    int64_t result(uint32_t i, uint64_t both) const {
        const int64_t x = video_field(static_cast<uint32_t>(both >> (a[i] * bits())), bits(), a_signed);
        const int64_t y = video_field(static_cast<uint32_t>(both >> (b[i] * bits())), bits(), b_signed);
        if (compares) return video_compares(comparison, x, y);
        const int64_t value = video_result(operation, x, y);
        return sat ? video_clamped(value, bits(), is_signed) : value;
    }

    uint32_t apply(uint32_t x, uint32_t y, uint32_t c) const {
        const uint64_t both = uint64_t{y} << 32 | x;
        const uint32_t field = (1u << bits()) - 1;
        uint32_t d = c;
        for (uint32_t i = 0; i < count; ++i) {
            if (!chosen[i]) continue;
            const auto value = static_cast<uint32_t>(result(i, both));
            if (adds)
                d += value;
            else
                d = (d & ~(field << (i * bits()))) | (value & field) << (i * bits());
        }
        return d;
    }
};

void apply(Warp& warp, const Instruction& in, Mask active) {
    const auto& how = *static_cast<const Elements*>(in.extra);
    const auto* a = warp.lanes<uint32_t>(in.a);
    const auto* b = warp.lanes<uint32_t>(in.b);
    const auto* c = warp.lanes<uint32_t>(in.c);
    for_active_lanes(warp.lanes<uint32_t>(in.d), active, [&](uint32_t i) { return how.apply(a[i], b[i], c[i]); });
}

/// The digits of `h31` or `b7531`, the last one for the lowest element; each below `limit`.
std::string_view digits_of(std::string_view selector, const Elements& how, char limit, const Statement& statement) {
    if (selector.empty()) return {};
    if (selector[0] != (how.count == 2 ? 'h' : 'b')) unsupported(statement);
    selector.remove_prefix(1);
    for (const char digit : selector) {
        if (digit < '0' || digit >= limit) unsupported(statement);
    }
    return selector;
}

void choose_elements(std::array<uint8_t, 4>& elements, std::string_view selector, uint32_t first, const Elements& how,
                     const Statement& statement) {
    const std::string_view digits = digits_of(selector, how, static_cast<char>('0' + 2 * how.count), statement);
    if (!digits.empty() && digits.size() != how.count) unsupported(statement);
    for (uint32_t i = 0; i < how.count; ++i)
        elements[i] = static_cast<uint8_t>(digits.empty() ? first + i : digits[how.count - 1 - i] - '0');
}

void decode_simd(Decoder& decoder, const Statement& statement, Instruction& in, std::unique_ptr<Elements> how,
                 Modifiers& modifiers) {
    how->count = statement.opcode().back() == '2' ? 2 : 4;
    how->adds = modifiers.take("add");
    if (how->sat && how->adds) unsupported(statement);
    modifiers.finish({4});
    const ptx::Operand &d = statement.operands[0], &a = statement.operands[1], &b = statement.operands[2];
    choose_elements(how->a, a.selector, 0, *how, statement);
    choose_elements(how->b, b.selector, how->count, *how, statement);
    const std::string_view mask = digits_of(d.selector, *how, static_cast<char>('0' + how->count), statement);
    how->chosen.fill(mask.empty());
    for (const char digit : mask) how->chosen[static_cast<size_t>(digit - '0')] = true;
    in.a = decoder.source(a, Type::b32);
    in.b = decoder.source(b, Type::b32);
    in.c = decoder.source(statement.operands[3], Type::b32);
    in.d = decoder.destination(d, Type::b32);
    in.run = apply;
    in.extra = decoder.keep(std::move(how));
}

template <VideoOperation operation>
void decode_operation(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    auto how = std::make_unique<Elements>();
    how->operation = operation;
    how->b_signed = take_video_type(modifiers, statement);
    how->a_signed = take_video_type(modifiers, statement);
    how->is_signed = take_video_type(modifiers, statement);
    how->sat = modifiers.take("sat");
    decode_simd(decoder, statement, in, std::move(how), modifiers);
}

void decode_set(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    auto how = std::make_unique<Elements>();
    how->compares = true;
    how->comparison = take_video_comparison(modifiers, statement);
    how->b_signed = take_video_type(modifiers, statement);
    how->a_signed = take_video_type(modifiers, statement);
    decode_simd(decoder, statement, in, std::move(how), modifiers);
}

constexpr OpRow kRows[] = {
    {"vadd2", decode_operation<VideoOperation::add>},
    {"vadd4", decode_operation<VideoOperation::add>},
    {"vsub2", decode_operation<VideoOperation::subtract>},
    {"vsub4", decode_operation<VideoOperation::subtract>},
    {"vavrg2", decode_operation<VideoOperation::average>},
    {"vavrg4", decode_operation<VideoOperation::average>},
    {"vabsdiff2", decode_operation<VideoOperation::difference>},
    {"vabsdiff4", decode_operation<VideoOperation::difference>},
    {"vmin2", decode_operation<VideoOperation::minimum>},
    {"vmin4", decode_operation<VideoOperation::minimum>},
    {"vmax2", decode_operation<VideoOperation::maximum>},
    {"vmax4", decode_operation<VideoOperation::maximum>},
    {"vset2", decode_set},
    {"vset4", decode_set},
};

}  // namespace

std::span<const OpRow> video_simd_rows() { return kRows; }

}  // namespace recuda::vgpu

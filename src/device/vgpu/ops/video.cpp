// Scalar video instructions (PTX ISA 9.0, section 9.7.18.1): one operation on bytes, halves or words of two registers,
// then a second one with c, or a merge into a byte or half of c.
#include "device/vgpu/ops/video.h"

#include "device/vgpu/ops/lanes.h"

namespace recuda::vgpu {
namespace {

using ptx::Operand;
using ptx::Statement;
using ptx::Type;
using Wide = __int128;

/// A byte, half or the whole of a register.
struct Part {
    uint32_t shift = 0, bits = 32;
    bool is_signed = false;

    int64_t of(uint32_t word) const { return video_field(word >> shift, bits, is_signed); }
};

enum class Second : uint8_t { none, add, minimum, maximum, merge };

/// What becomes of the first operation's result.
struct Ending {
    Part part;  // of the destination
    Second second = Second::none;
    bool sat = false;
    bool is_signed = false;

    uint32_t apply(Wide value, uint32_t c) const {
        if (sat) value = video_clamped(value, part.bits, is_signed);
        const auto word = static_cast<uint32_t>(value);
        const bool less = is_signed ? static_cast<int32_t>(word) < static_cast<int32_t>(c) : word < c;
        switch (second) {
            case Second::add:
                return word + c;
            case Second::minimum:
                return less ? word : c;
            case Second::maximum:
                return less ? c : word;
            case Second::merge: {
                const uint32_t mask = (part.bits == 32 ? ~0u : (1u << part.bits) - 1) << part.shift;
                return (word << part.shift & mask) | (c & ~mask);
            }
            default:
                return word;
        }
    }
};

Part part_of(std::string_view selector, bool is_signed, const Statement& statement) {
    Part part{.is_signed = is_signed};
    if (selector.empty()) return part;
    const bool byte = selector[0] == 'b';
    const auto number = static_cast<uint32_t>(selector[1] - '0');
    if (selector.size() != 2 || number > (byte ? 3u : 1u)) unsupported(statement);
    part.bits = byte ? 8 : 16;
    part.shift = number * part.bits;
    return part;
}

/// in.a, in.b, in.c are the sources; c is a where the instruction has none.
struct Video : Extra {
    Part a, b;
    Ending ending;
};

/// Decodes `d{.sel}, a{.sel}, b{.sel}{, c}` and the second operation; everything else has been taken.
void set_video_operands(Decoder& decoder, const Statement& statement, Instruction& in, Modifiers& modifiers,
                        Video& video) {
    Ending& ending = video.ending;
    if (modifiers.take("add"))
        ending.second = Second::add;
    else if (modifiers.take("min"))
        ending.second = Second::minimum;
    else if (modifiers.take("max"))
        ending.second = Second::maximum;
    if (statement.operands.size() < 3) unsupported(statement);
    const Operand& d = statement.operands[0];
    if (!d.selector.empty()) {
        if (ending.second != Second::none) unsupported(statement);
        ending.second = Second::merge;
    }
    // A fourth operand beside a whole destination says nothing: ptxas 13.0 takes it and leaves it out.
    if (ending.second == Second::none)
        modifiers.finish({3, 4});
    else
        modifiers.finish({4});
    ending.part = part_of(d.selector, ending.is_signed, statement);
    const auto source = [&](size_t number, Part& part) {
        const Operand& operand = statement.operands[number];
        if (operand.minus) unsupported(statement);
        part = part_of(operand.selector, part.is_signed, statement);
        return decoder.source(operand, Type::b32);
    };
    in.a = source(1, video.a);
    in.b = source(2, video.b);
    in.c = ending.second == Second::none ? in.a : decoder.source(statement.operands[3], Type::b32);
    in.d = decoder.destination(d, Type::b32);
}

template <typename V, typename F>
void for_video(Warp& warp, const Instruction& in, Mask active, F f) {
    const auto& video = *static_cast<const V*>(in.extra);
    const auto* a = warp.lanes<uint32_t>(in.a);
    const auto* b = warp.lanes<uint32_t>(in.b);
    const auto* c = warp.lanes<uint32_t>(in.c);
    for_active_lanes(warp.lanes<uint32_t>(in.d), active, [&](uint32_t i) {
        return video.ending.apply(f(video, video.a.of(a[i]), video.b.of(b[i])), c[i]);
    });
}

// ── vadd, vsub, vabsdiff, vmin, vmax ──

template <VideoOperation operation>
void decode_operation(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    auto video = std::make_unique<Video>();
    video->b.is_signed = take_video_type(modifiers, statement);
    video->a.is_signed = take_video_type(modifiers, statement);
    video->ending.is_signed = take_video_type(modifiers, statement);
    video->ending.sat = modifiers.take("sat");
    set_video_operands(decoder, statement, in, modifiers, *video);
    in.run = [](Warp& warp, const Instruction& i, Mask active) {
        for_video<Video>(warp, i, active,
                         [](const Video&, int64_t a, int64_t b) { return Wide{video_result(operation, a, b)}; });
    };
    in.extra = decoder.keep(std::move(video));
}

// ── vshl, vshr ──

struct Shift : Video {
    bool left = false, clamps = false;
};

void shift(Warp& warp, const Instruction& in, Mask active) {
    for_video<Shift>(warp, in, active, [](const Shift& how, int64_t a, int64_t b) {
        const auto by = static_cast<uint32_t>(how.clamps ? (b < 32 ? b : 32) : b & 31);
        return how.left ? Wide{a} * (Wide{1} << by) : Wide{a >> by};
    });
}

void decode_shift(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    auto how = std::make_unique<Shift>();
    how->left = statement.opcode() == "vshl";
    how->clamps = modifiers.take("clamp");
    if (!how->clamps && !modifiers.take("wrap")) unsupported(statement);
    if (take_video_type(modifiers, statement)) unsupported(statement);
    how->a.is_signed = take_video_type(modifiers, statement);
    how->ending.is_signed = take_video_type(modifiers, statement);
    how->ending.sat = modifiers.take("sat");
    set_video_operands(decoder, statement, in, modifiers, *how);
    in.run = shift;
    in.extra = decoder.keep(std::move(how));
}

// ── vset ──

struct Set : Video {
    VideoComparison comparison = VideoComparison::eq;
};

void set(Warp& warp, const Instruction& in, Mask active) {
    for_video<Set>(warp, in, active,
                   [](const Set& how, int64_t a, int64_t b) { return Wide{video_compares(how.comparison, a, b)}; });
}

void decode_set(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    auto how = std::make_unique<Set>();
    how->comparison = take_video_comparison(modifiers, statement);
    how->b.is_signed = take_video_type(modifiers, statement);
    how->a.is_signed = take_video_type(modifiers, statement);
    set_video_operands(decoder, statement, in, modifiers, *how);
    in.run = set;
    in.extra = decoder.keep(std::move(how));
}

// ── vmad ──

struct Product : Extra {
    Part a, b;
    bool negates_product = false, negates_c = false, plus_one = false, sat = false, is_signed = false;
    uint32_t scale = 0;

    uint32_t apply(uint32_t x, uint32_t y, uint32_t z) const {
        Wide sum = Wide{a.of(x)} * b.of(y);
        if (negates_product) sum = -sum;
        const uint32_t addend = negates_c ? ~z : z;
        sum += is_signed ? Wide{static_cast<int32_t>(addend)} : Wide{addend};
        sum += plus_one || negates_c ? 1 : 0;
        sum >>= scale;
        return static_cast<uint32_t>(sat ? video_clamped(sum, 32, is_signed) : sum);
    }
};

void multiply_add(Warp& warp, const Instruction& in, Mask active) {
    const auto& how = *static_cast<const Product*>(in.extra);
    const auto* a = warp.lanes<uint32_t>(in.a);
    const auto* b = warp.lanes<uint32_t>(in.b);
    const auto* c = warp.lanes<uint32_t>(in.c);
    for_active_lanes(warp.lanes<uint32_t>(in.d), active, [&](uint32_t i) { return how.apply(a[i], b[i], c[i]); });
}

void decode_product(Decoder& decoder, const Statement& statement, Instruction& in) {
    Modifiers modifiers(statement);
    auto how = std::make_unique<Product>();
    const bool b_signed = take_video_type(modifiers, statement), a_signed = take_video_type(modifiers, statement);
    take_video_type(modifiers, statement);  // the result's bits do not depend on it
    how->plus_one = modifiers.take("po");
    how->sat = modifiers.take("sat");
    how->scale = modifiers.take("shr7") ? 7 : modifiers.take("shr15") ? 15 : 0;
    modifiers.finish({4});
    const Operand &a = statement.operands[1], &b = statement.operands[2], &c = statement.operands[3];
    how->negates_product = a.minus != b.minus;
    how->negates_c = c.minus;
    if (how->negates_c && (how->negates_product || how->plus_one)) unsupported(statement);
    if (how->plus_one && (a.minus || b.minus)) unsupported(statement);
    how->a = part_of(a.selector, a_signed, statement);
    how->b = part_of(b.selector, b_signed, statement);
    how->is_signed = a_signed || b_signed || how->negates_product || how->negates_c;
    in.a = decoder.source(a, Type::b32);
    in.b = decoder.source(b, Type::b32);
    in.c = decoder.source(c, Type::b32);
    in.d = decoder.destination(statement.operands[0], Type::b32);
    in.run = multiply_add;
    in.extra = decoder.keep(std::move(how));
}

constexpr OpRow kRows[] = {
    {"vadd", decode_operation<VideoOperation::add>},
    {"vsub", decode_operation<VideoOperation::subtract>},
    {"vabsdiff", decode_operation<VideoOperation::difference>},
    {"vmin", decode_operation<VideoOperation::minimum>},
    {"vmax", decode_operation<VideoOperation::maximum>},
    {"vshl", decode_shift},
    {"vshr", decode_shift},
    {"vset", decode_set},
    {"vmad", decode_product},
};

}  // namespace

VideoComparison take_video_comparison(Modifiers& modifiers, const Statement& statement) {
    constexpr std::string_view kNames[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    for (size_t i = 0; i < std::size(kNames); ++i) {
        if (modifiers.take(kNames[i])) return static_cast<VideoComparison>(i);
    }
    unsupported(statement);
}

bool take_video_type(Modifiers& modifiers, const Statement& statement) {
    const Type type = modifiers.type();
    if (type != Type::u32 && type != Type::s32) unsupported(statement);
    return type == Type::s32;
}

std::span<const OpRow> video_rows() { return kRows; }

}  // namespace recuda::vgpu

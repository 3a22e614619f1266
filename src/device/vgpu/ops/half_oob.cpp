#include "device/vgpu/ops/half_oob.h"

#include "device/vgpu/ops/lanes.h"

namespace recuda::vgpu {
namespace {

struct Guarded : Extra {
    Handler inner = nullptr;
};

uint16_t kept(uint16_t a, uint16_t b) { return (a & 0x7fff) == kOobNan || (b & 0x7fff) == kOobNan ? 0 : 0xffff; }

uint32_t kept(uint32_t a, uint32_t b) {
    const auto low = kept(static_cast<uint16_t>(a), static_cast<uint16_t>(b));
    const auto high = kept(static_cast<uint16_t>(a >> 16), static_cast<uint16_t>(b >> 16));
    return uint32_t{high} << 16 | low;
}

template <typename T>
void guarded(Warp& warp, const Instruction& in, Mask active) {
    const T *a = warp.lanes<T>(in.a), *b = warp.lanes<T>(in.b);
    T mask[kLanes];  // the destination may be a source
    for (uint32_t i = 0; i < kLanes; ++i) mask[i] = kept(a[i], b[i]);
    static_cast<const Guarded*>(in.extra)->inner(warp, in, active);
    T* d = warp.lanes<T>(in.d);
    for_lanes(d, active, [&](uint32_t i) { return static_cast<T>(d[i] & mask[i]); });
}

}  // namespace

void guard_out_of_bounds(Decoder& decoder, Instruction& in, bool packed) {
    auto guard = std::make_unique<Guarded>();
    guard->inner = in.run;
    in.run = packed ? guarded<uint32_t> : guarded<uint16_t>;
    in.extra = decoder.keep(std::move(guard));
}

}  // namespace recuda::vgpu

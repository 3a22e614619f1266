#include "device/vgpu/memory/pattern.h"

#include <algorithm>

namespace recuda::vgpu {

uint32_t sectors_of(const uint64_t* address, Mask active, uint32_t width, const Pattern& pattern) {
    if (pattern.contiguous) return ((pattern.high + width - 1) >> 5) - (pattern.low >> 5) + 1;
    if ((pattern.low >> 5) == ((pattern.high + width - 1) >> 5)) return 1;
    uint64_t seen[kLanes * 2];
    uint32_t count = 0;
    const auto add = [&](uint64_t sector) {
        // Neighbouring lanes mostly share or follow each other: the last sectors seen are looked at first.
        for (uint32_t i = count; i-- > 0;)
            if (seen[i] == sector) return;
        seen[count++] = sector;
    };
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
        const uint64_t start = address[first_lane(rest)];
        add(start >> 5);
        if ((start + width - 1) >> 5 != start >> 5) add((start + width - 1) >> 5);
    }
    return count;
}

uint32_t wavefronts_of(const uint64_t* address, Mask active, uint32_t width, const Pattern& pattern) {
    const uint32_t words = std::max(1u, width / 4), parts = std::min(words, 4u), lanes = kLanes / parts;
    if (pattern.contiguous || pattern.low == pattern.high) {
        if (pattern.contiguous) return parts;
        uint32_t used = 0;
        for (uint32_t part = 0; part < parts; ++part)
            used += (active >> (part * lanes) & (lanes == 32 ? kFullMask : (1u << lanes) - 1)) != 0;
        return used;
    }
    uint32_t total = 0;
    for (uint32_t part = 0; part < parts; ++part) {
        uint64_t seen[kLanes * 8];
        uint32_t count = 0, load[32] = {}, worst = 0;
        for (uint32_t lane = part * lanes; lane < (part + 1) * lanes; ++lane) {
            if (!(active >> lane & 1)) continue;
            for (uint32_t word = 0; word < words; ++word) {
                const uint64_t at = (address[lane] >> 2) + word;
                if (std::find(seen, seen + count, at) != seen + count) continue;
                seen[count++] = at;
                worst = std::max(worst, ++load[at & 31]);
            }
        }
        total += worst;
    }
    return total;
}

}  // namespace recuda::vgpu

// What the check for races in global memory keeps of a buffer: for each granule the last plain write, the last strong
// write and two reads, each as (block, instruction and thread, stamp of the block's clock).
//
// A granule is as large as the smallest access that the buffer has seen, 16 bytes at most. A smaller access splits all
// granules: what touched a granule has touched its halves. Blocks count on over the launches of a device, so that what an
// earlier launch left needs no clearing: its blocks have lower numbers. Columns are mapped when they are first needed
// and cost memory where they are touched.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace recuda::vgpu {

struct RaceShadow {
    struct Free {
        void operator()(uint32_t* array) const { std::free(array); }
    };
    using Array = std::unique_ptr<uint32_t[], Free>;
    struct Column {
        Array block, who, stamp;
        /// The launch (its first block) that last wrote to the column: of another one nothing in it counts.
        uint32_t used = 0;
    };
    enum Slot { kPlain, kStrongWrite, kRead, kOtherRead, kSlots };

    Column columns[kSlots];
    uint32_t shift = 4;      // log2 of a granule's bytes
    uint64_t granules = 0;   // 0: nothing is kept yet
    uint64_t followed = 0;   // bytes of the buffer; what lies behind is not checked

    /// Granules of at most 1 << `to` bytes, for a buffer of `bytes`.
    void split(uint32_t to, uint64_t bytes);
    /// The column for the launch, mapped where it is not.
    void use(Slot slot, uint32_t launch);
    void clear();

    static constexpr uint64_t kMostGranules = uint64_t{1} << 25;
};

}  // namespace recuda::vgpu

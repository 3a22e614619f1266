// What the check for races in global memory keeps of a buffer: for each granule the last plain write, the last strong
// write, one before it that it was not ordered behind, two reads, and the last strong read since the last strong write,
// each as a cell of events.h.
//
// A granule is as large as the smallest access that the buffer has seen, 16 bytes at most. A smaller access splits all
// granules: what touched a granule has touched its halves. Columns are mapped when they are first needed and cost
// memory where they are touched.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace recuda::vgpu {

struct RaceShadow {
    struct Free {
        void operator()(uint32_t* array) const { std::free(array); }
    };
    struct Column {
        std::unique_ptr<uint32_t[], Free> cells;
        uint32_t used = 0;  // the first cell of the launch that last wrote here: of another one nothing counts
    };
    enum Slot { kPlain, kStrongWrite, kOlderStrong, kRead, kOtherRead, kObserver, kSlots };

    Column columns[kSlots];
    uint32_t shift = 4;     // log2 of a granule's bytes
    uint64_t granules = 0;  // 0: nothing is kept yet
    uint64_t followed = 0;  // bytes of the buffer; what lies behind is not checked

    /// Granules of at most 1 << `to` bytes, for a buffer of `bytes`.
    void split(uint32_t to, uint64_t bytes);
    /// The column for the launch, mapped where it is not.
    void use(Slot slot, uint32_t launch);
    /// Nothing has happened.
    void clear();

    static constexpr uint64_t kMostGranules = uint64_t{1} << 26;
};

}  // namespace recuda::vgpu

#include "device/vgpu/memory/race_shadow.h"

#include <algorithm>
#include <new>

namespace recuda::vgpu {
namespace {

uint32_t* zeros(uint64_t count) {
    auto* array = static_cast<uint32_t*>(std::calloc(count, sizeof(uint32_t)));
    if (array == nullptr) throw std::bad_alloc();
    return array;
}

}  // namespace

void RaceShadow::split(uint32_t to, uint64_t bytes) {
    if (granules != 0 && to >= shift) return;
    const uint32_t parts = granules == 0 ? 0 : shift - to;
    const uint64_t before = granules;
    shift = to;
    granules = std::min(kMostGranules, (bytes + (uint64_t{1} << shift) - 1) >> shift);
    followed = std::min(bytes, granules << shift);
    for (Column& column : columns) {
        if (column.cells == nullptr) continue;
        const auto coarse = std::move(column.cells);
        column.cells.reset(zeros(granules));
        for (uint64_t i = 0; i < granules && i >> parts < before; ++i)
            if (coarse[i >> parts] != 0) column.cells[i] = coarse[i >> parts];
    }
}

void RaceShadow::use(Slot slot, uint32_t launch) {
    Column& column = columns[slot];
    column.used = launch;
    if (column.cells == nullptr) column.cells.reset(zeros(granules));
}

void RaceShadow::clear() {
    for (Column& column : columns) column = {};
}

}  // namespace recuda::vgpu

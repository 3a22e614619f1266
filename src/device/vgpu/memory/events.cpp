#include "device/vgpu/memory/events.h"

namespace recuda::vgpu {

bool Events::begin(uint32_t* first_cell) {
    if (next_chunk_ > chunks_.size() / 2) return false;
    ++generation_;
    *first_cell = next_chunk_ * kChunk << kLaneBits;
    return true;
}

void Events::forget() {
    next_chunk_ = 1;
    ++generation_;
}

uint32_t Events::number(Writer& writer, const Event& event) {
    if (writer.generation != generation_) writer = {0, 0, generation_, std::vector<uint32_t>(writer.last.size())};
    if (event.instruction >= writer.last.size()) writer.last.resize(event.instruction + 1);
    uint32_t& last = writer.last[event.instruction];
    if (last != 0 && at(last) == event) return last;
    if (writer.next == writer.end) {
        const uint32_t chunk = next_chunk_++;
        if (chunk >= chunks_.size()) return 0;
        if (chunks_[chunk] == nullptr) chunks_[chunk] = std::make_unique<Event[]>(kChunk);
        writer.next = chunk * kChunk;
        writer.end = writer.next + kChunk;
    }
    chunks_[writer.next / kChunk][writer.next % kChunk] = event;
    return last = writer.next++;
}

}  // namespace recuda::vgpu

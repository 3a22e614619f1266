// Who did what when: the events that the cells of race shadows name. An event is all that one instruction of one warp
// does between two ticks of its block's clock, so that a loop over a buffer is one event and a cell need be no more
// than the event's number and a lane.
//
// Numbers count on over the launches of a device: what is older than a launch's first event lies before it, and needs
// no clearing. When they run out everything is forgotten, which hides races and invents none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace recuda::vgpu {

struct Event {
    uint32_t block = 0;  // its number, see GlobalRaces
    uint32_t stamp = 0;
    uint32_t instruction = 0;
    uint32_t warp = 0;
    bool operator==(const Event&) const = default;
};

inline constexpr uint32_t kLaneBits = 5;  // a cell is event << kLaneBits | lane

class Events {
 public:
    static constexpr uint32_t kChunk = 4096, kMost = 1u << 25;

    /// A host thread's events: the rest of its chunk, and the last event of each instruction.
    struct Writer {
        uint32_t next = 0, end = 0, generation = 0;
        std::vector<uint32_t> last;
    };

    /// At most so many.
    explicit Events(uint32_t most = kMost) : chunks_(most / kChunk) {}

    /// A launch begins: the cell of its first event. False where numbers have run out: everything is to be forgotten.
    bool begin(uint32_t* first_cell);
    /// Starts again from number 1.
    void forget();
    const Event& at(uint32_t number) const { return chunks_[number / kChunk][number % kChunk]; }
    /// The number of the event; 0 where there are no more.
    uint32_t number(Writer& writer, const Event& event);

 private:
    std::atomic<uint32_t> next_chunk_ = 1;
    uint32_t generation_ = 1;
    std::vector<std::unique_ptr<Event[]>> chunks_;
};

}  // namespace recuda::vgpu

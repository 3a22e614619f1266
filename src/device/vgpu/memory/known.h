// What a thread is ordered behind: for whole blocks, warps or threads of the launch the stamp of their block's clock up
// to which all that they did comes before. A sparse vector clock, immutable and shared: to hand it on costs a pointer,
// and threads that learnt the same from one barrier share one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace recuda::vgpu {

/// Blocks have numbers of their own across the launches of a device (GlobalRaces).
struct Known {
    struct Entry {
        uint64_t who = 0;  // block number, and within it all threads, a warp or a thread
        uint32_t stamp = 0;
    };
    std::vector<Entry> entries;  // by who

    static uint64_t all(uint32_t block) { return uint64_t{block} << 12; }
    static uint64_t warp(uint32_t block, uint32_t index) { return all(block) | (1 + index); }
    static uint64_t thread(uint32_t block, uint32_t index) { return all(block) | (64 + index); }
    /// Of copies that mbarriers of the block wait for: no entry of the whole block stands for them.
    static uint64_t agent(uint32_t block, uint32_t index) { return uint64_t{1} << 63 | all(block) | (1 + index); }

    /// Whether what the thread did at `stamp` is among it.
    bool covers(uint32_t block, uint32_t thread, uint32_t stamp) const;
    bool covers_agent(uint32_t block, uint32_t agent, uint32_t stamp) const;
};

using View = std::shared_ptr<const Known>;  // null: nothing

inline bool covers(const View& view, uint32_t block, uint32_t thread, uint32_t stamp) {
    return view != nullptr && view->covers(block, thread, stamp);
}

/// Adds what `from` knows. True where that was more than `to` had.
bool join(View& to, const View& from);
/// Adds entries, which need no order.
bool join(View& to, std::vector<Known::Entry> entries);

}  // namespace recuda::vgpu

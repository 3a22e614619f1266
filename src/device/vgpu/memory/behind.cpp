// Shared memory: what lies behind a granule's last write where that is a strong one (shared.h).
//
// A strong write of a thread is ordered behind the thread's plain one, and says nothing of it to the others; nor does
// it say anything of other threads' strong writes, unless it has read them. And who has read a strong write by a strong
// read is ordered behind it, with what comes later (PTX's observation order), without a fence: for the word itself.
#include "device/vgpu/block.h"
#include "device/vgpu/memory/shared.h"
#include "device/vgpu/program.h"

namespace recuda::vgpu {

bool SharedMemory::strong(uint32_t who) const { return (program_->code[instruction_of(who)].mode & kStrong) != 0; }

/// Whether the thread, or one whose read is ordered before it, has read the granule's last write. Lanes of a warp that
/// read one place are noted by two of them, so that one of them stands for its warp.
bool SharedMemory::observed(uint32_t granule, uint32_t thread) const {
    if (behind_.empty() || !strong(write_who_[granule])) return false;
    const auto [who, stamp] = behind_[granule].observer;
    return stamp >= order_->start() &&
           (thread_of(who) / kLanes == thread / kLanes || order_->in_order(thread, thread_of(who), stamp));
}

/// Who wrote the granule before its last write, where that is not ordered before an access of the thread; kNobody where
/// it is.
uint32_t SharedMemory::behind_race(const Instruction& in, uint32_t thread, uint32_t granule) const {
    const Behind& behind = behind_[granule];
    const auto unordered = [&](const Behind::Record& write) {
        return write.stamp >= order_->start() && !order_->in_order(thread, thread_of(write.who), write.stamp);
    };
    if (unordered(behind.plain)) return behind.plain.who;
    const bool older = (in.mode & kStrong) == 0 && unordered(behind.older) && !observed(granule, thread);
    return older ? behind.older.who : kNobody;
}

/// Before the write becomes the granule's last one. `reads`: an atomic.
void SharedMemory::note_write(const Instruction& in, uint32_t thread, uint32_t granule, bool reads) {
    Behind& behind = behind_[granule];
    if ((in.mode & kStrong) == 0) {
        behind = {};
        return;
    }
    const uint32_t stamp = write_stamp_[granule], who = write_who_[granule];
    const bool known = stamp >= order_->start() && stamp < kFlightStamp;
    if (known && !strong(who)) {
        behind = {.plain = {who, stamp}};
        return;
    }
    if (reads && !in.unread)
        behind.older = {};
    else if (known && !order_->in_order(thread, thread_of(who), stamp) && !observed(granule, thread) &&
             (behind.older.stamp < order_->start() ||
              order_->in_order(thread, thread_of(behind.older.who), behind.older.stamp)))
        behind.older = {who, stamp};
    behind.observer = {};
}

}  // namespace recuda::vgpu

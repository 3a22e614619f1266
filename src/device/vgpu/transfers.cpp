#include "device/vgpu/transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/vgpu/cluster.h"
#include "device/vgpu/memory/layout.h"
#include "device/vgpu/ops/mbarrier.h"

namespace recuda::vgpu {
namespace {

constexpr uint32_t kPiece = 16;
constexpr uint64_t kMostPendingBytes = 64 << 20;
constexpr size_t kMostBatches = 4096;  // of a warp

/// Calls body(address, offset, width) for pieces at their own alignment, the last ones down to a byte; false where it
/// does.
template <typename Body>
bool in_pieces(uint64_t address, uint32_t bytes, uint32_t most, Body body) {
    for (uint32_t at = 0; at < bytes;) {
        const uint64_t here = address + at;
        uint32_t width = std::min(most, std::bit_floor(bytes - at));
        if (here % width != 0) width = 1u << std::countr_zero(here);
        if (!body(here, at, width)) return false;
        at += width;
    }
    return true;
}

bool reach_one(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t width, Intent intent,
               Access& access) {
    alignas(64) uint64_t addresses[kLanes];
    std::fill(addresses, addresses + kLanes, address);
    return reach(warp, in, ptx::Space::global, addresses, Mask{1} << lane, width, intent, access);
}

/// Counts a run as one request with its own sectors, however many pieces it is reached in; with `nothing`, not at all.
class RunCount {
 public:
    RunCount(Warp& warp, const Instruction& in, uint64_t address, uint32_t bytes, bool nothing)
        : on_(warp.block->worker->tally.on), nothing_(nothing), sectors_((address + bytes + 31) / 32 - address / 32) {
        if (!on_) return;
        memory_ = &warp.block->worker->tally.memory[in.index];
        before_ = *memory_;
    }
    RunCount(const RunCount&) = delete;
    ~RunCount() {
        if (!on_) return;
        if (nothing_) *memory_ = before_;
        settle(memory_->read, before_.read);
        settle(memory_->write, before_.write);
    }

 private:
    void settle(Traffic& traffic, const Traffic& before) const {
        if (traffic.requests == before.requests) return;
        traffic.requests = before.requests + 1;
        traffic.sectors = before.sectors + sectors_;
    }

    bool on_, nothing_;
    uint64_t sectors_;
    Tally::Memory* memory_ = nullptr;
    Tally::Memory before_;
};

}  // namespace

bool read_run(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t bytes, std::byte* data) {
    const RunCount count(warp, in, address, bytes, false);
    return in_pieces(address, bytes, kPiece, [&](uint64_t here, uint32_t at, uint32_t width) {
        Access access;
        if (!reach_one(warp, in, lane, here, width, Intent::read, access)) return false;
        std::memcpy(data + at, access.lane[lane], width);
        return true;
    });
}

bool write_run(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t bytes,
               const std::byte* data, const Reduction& reduction) {
    const bool reduces = reduction.bytes != 0;
    const RunCount count(warp, in, address, bytes, data == nullptr);
    return in_pieces(address, bytes, reduces ? reduction.bytes : kPiece,
                     [&](uint64_t here, uint32_t at, uint32_t width) {
                         Access access;
                         if (!reach_one(warp, in, lane, here, width, reduces ? Intent::atomic : Intent::write, access))
                             return false;
                         if (data == nullptr) return true;
                         std::byte* const host = access.lane[lane];
                         if (!reduces) {
                             std::memcpy(host, data + at, width);
                             return true;
                         }
                         uint64_t value = 0;
                         std::memcpy(&value, data + at, width);
                         update_word(host, width, reduction.update, value, 0, &warp.block->changes);
                         return true;
                     });
}

void Transfers::start() {
    signalled_.clear();
    groups_.clear();
    copies_.clear();
    order_ = bytes_ = 0;
    stores_ = 0;
}

void Transfers::finish(Block& block) {
    for (auto& [key, groups] : groups_) {
        if (key.first != block.rank) continue;
        while (!groups.pending.empty())
            if (!land_first(groups)) return;
    }
    const auto of_block = [&](const auto& entry) { return entry.first.first == block.rank; };
    std::erase_if(groups_, of_block);
    std::erase_if(copies_, of_block);
    std::erase_if(signalled_, of_block);
}

void Transfers::signal(uint32_t rank, uint64_t barrier, Transfer transfer) {
    Cluster& cluster = *transfer.warp->block->cluster;
    ++transfer.warp->block->changes;
    bytes_ += transfer.data.size();
    signalled_[{rank, barrier}].push_back(std::move(transfer));
    if (bytes_ > kMostPendingBytes) land_next(rank, barrier);
    // Who waits for a phase already has to look again: the copy lands at the wait.
    cluster.phase_over();
}

bool Transfers::land_next(uint32_t rank, uint64_t barrier) {
    const auto found = signalled_.find({rank, barrier});
    if (found == signalled_.end()) return false;
    Transfer transfer = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) signalled_.erase(found);
    bytes_ -= transfer.data.size();
    return land_signalled(transfer, rank, barrier);
}

bool Transfers::land_signalled(Transfer& transfer, uint32_t rank, uint64_t barrier) {
    Warp& warp = *transfer.warp;
    const uint64_t address = with_rank(barrier, rank);
    if (transfer.arrives) {
        land_batches(transfer, barrier);
        return arrive_late(warp, *transfer.in, transfer.lane, address, transfer.clock);
    }
    ++warp.block->cluster->block(rank).changes;
    warp.block->shared.unpin(transfer.source, false);
    const auto bytes = static_cast<uint32_t>(transfer.data.size());
    if (transfer.reduction.bytes != 0) {
        const uint32_t element = transfer.reduction.bytes;
        uint64_t changes = 0;
        for (uint32_t at = 0; at < bytes; at += element) {
            uint64_t value = 0;
            std::memcpy(&value, transfer.data.data() + at, element);
            update_word(transfer.shared->data() + transfer.address + at, element, transfer.reduction.update, value, 0,
                        &changes);
        }
    } else {
        transfer.shared->land_signalled(transfer.flight, transfer.data.data(), transfer.address, bytes, barrier,
                                        transfer.clock);
    }
    return complete_bytes(warp, *transfer.in, transfer.lane, address, transfer.signal_bytes, transfer.clock);
}

/// Lands the lane's cp.async that were issued before the arrival.
void Transfers::land_batches(Transfer& arrival, uint64_t barrier) {
    Warp& warp = *arrival.warp;
    const auto found = copies_.find({warp.block->rank, warp.index});
    if (found == copies_.end()) return;
    const uint32_t lane = arrival.lane;
    auto& pending = found->second.pending;
    for (const auto& batch : pending) {
        if (batch->order >= arrival.order || (batch->lanes >> lane & 1) == 0) continue;
        warp.block->shared.land_signalled(batch->flight[lane], batch->data + lane * Batch::kMost, batch->address[lane],
                                          batch->width, barrier, arrival.clock);
        batch->lanes &= ~(Mask{1} << lane);
    }
    std::erase_if(pending, [](const auto& batch) { return batch->lanes == 0; });
    ++warp.block->changes;
}

void Transfers::collect(Transfer transfer) {
    Groups& groups = groups_[{transfer.warp->block->rank, transfer.warp->thread(transfer.lane)}];
    transfer.group = groups.committed;
    stores_ += transfer.runs.empty() ? 0 : 1;
    transfer.low = UINT64_MAX;
    for (const Transfer::Run& run : transfer.runs) {
        transfer.low = std::min(transfer.low, run.address);
        transfer.high = std::max(transfer.high, run.address + run.bytes);
    }
    ++transfer.warp->block->changes;
    bytes_ += transfer.data.size();
    groups.pending.push_back(std::move(transfer));
    if (bytes_ > kMostPendingBytes) land_first(groups);
}

void Transfers::commit(Warp& warp, Mask lanes) {
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
        const auto found = groups_.find({warp.block->rank, warp.thread(std::countr_zero(rest))});
        if (found != groups_.end()) ++found->second.committed;
    }
}

void Transfers::wait(Warp& warp, Mask lanes, uint32_t keep, bool sources) {
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
        const auto found = groups_.find({warp.block->rank, warp.thread(std::countr_zero(rest))});
        if (found == groups_.end()) continue;
        Groups& groups = found->second;
        const auto over = [&](const Transfer& transfer) { return uint64_t{transfer.group} + keep < groups.committed; };
        if (sources) {
            for (Transfer& transfer : groups.pending) {
                if (!over(transfer)) break;
                warp.block->shared.unpin(std::exchange(transfer.source, SharedMemory::kNoFlight), true);
            }
            continue;
        }
        while (!groups.pending.empty() && over(groups.pending.front()))
            if (!land_first(groups)) return;
    }
}

bool Transfers::land_first(Groups& groups) {
    const Transfer transfer = std::move(groups.pending.front());
    groups.pending.pop_front();
    bytes_ -= transfer.data.size();
    Warp& warp = *transfer.warp;
    warp.block->shared.unpin(transfer.source, true);
    if (!transfer.runs.empty()) --stores_;
    ++warp.block->changes;
    for (const Transfer::Run& run : transfer.runs)
        if (!write_run(warp, *transfer.in, transfer.lane, run.address, run.bytes, transfer.data.data() + run.at,
                       transfer.reduction))
            return false;
    return true;
}

void Transfers::collect(Warp& warp, std::unique_ptr<Batch> batch) {
    WarpCopies& copies = copies_[{warp.block->rank, warp.index}];
    std::copy(std::begin(copies.committed), std::end(copies.committed), batch->group);
    batch->order = order_++;
    copies.pending.push_back(std::move(batch));
    if (copies.pending.size() > kMostBatches) {
        land_batch(warp, *copies.pending.front(), copies.pending.front()->lanes);
        copies.pending.erase(copies.pending.begin());
    }
}

void Transfers::commit_async(Warp& warp, Mask lanes) {
    const auto found = copies_.find({warp.block->rank, warp.index});
    if (found == copies_.end()) return;
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) ++found->second.committed[std::countr_zero(rest)];
}

void Transfers::land_batch(Warp& warp, Batch& batch, Mask lanes) {
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
        const uint32_t lane = std::countr_zero(rest);
        warp.block->shared.land_own(batch.flight[lane], batch.data + lane * Batch::kMost, batch.address[lane],
                                    batch.width);
    }
    batch.lanes &= ~lanes;
    warp.block->changes += lanes != 0;
}

void Transfers::wait_async(Warp& warp, Mask lanes, uint32_t keep) {
    const auto found = copies_.find({warp.block->rank, warp.index});
    if (found == copies_.end()) return;
    WarpCopies& copies = found->second;
    for (const auto& batch : copies.pending) {
        Mask over = 0;
        for (Mask rest = batch->lanes & lanes; rest != 0; rest &= rest - 1) {
            const uint32_t lane = std::countr_zero(rest);
            if (uint64_t{batch->group[lane]} + keep < copies.committed[lane]) over |= rest & -rest;
        }
        land_batch(warp, *batch, over);
    }
    std::erase_if(copies.pending, [](const auto& batch) { return batch->lanes == 0; });
}

bool Transfers::clear_of(Warp& warp, const Instruction& in, const uint64_t* address, Mask active, uint32_t width,
                         Intent intent) const {
    if (!warp.block->launch->checks) return true;
    // Inactive lanes repeat the first active one's address.
    const auto [least, most] = std::minmax_element(address, address + kLanes);
    for (const auto& [key, groups] : groups_)
        for (const Transfer& transfer : groups.pending) {
            if (*most + width <= transfer.low || *least >= transfer.high) continue;
            if (intent == Intent::atomic && transfer.reduction.bytes != 0) continue;
            for (const Transfer::Run& run : transfer.runs)
                for (Mask rest = active; rest != 0; rest &= rest - 1) {
                    const uint32_t lane = std::countr_zero(rest);
                    const uint64_t at = address[lane];
                    if (at + width <= run.address || at >= run.address + run.bytes) continue;
                    Block &block = *warp.block, &issuer = *transfer.warp->block;
                    const Buffer* buffer = block.launch->memory->find(at);
                    const std::string name = buffer != nullptr ? buffer->name : "";
                    const int64_t offset = buffer != nullptr ? static_cast<int64_t>(at - buffer->base) : 0;
                    block.raise(block.line_of(in, warp.frame), warp.thread(lane), 1,
                                {.check = Check::global_race,
                                 .message = fmt::format("byte {} of buffer {} is used while an asynchronous store to "
                                                        "it is under way: no wait for the store comes before",
                                                        offset, name),
                                 .buffer = name,
                                 .byte_offset = offset,
                                 .bytes = width,
                                 .other = OtherAccess{issuer.line_of(*transfer.in, nullptr), issuer.id,
                                                      block.launch->thread_at(transfer.warp->thread(transfer.lane))}});
                    return false;
                }
        }
    return true;
}

}  // namespace recuda::vgpu

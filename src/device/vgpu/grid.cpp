#include "device/vgpu/grid.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

namespace recuda::vgpu {
namespace {

constexpr int64_t kSlice = 1 << 20;                  // instructions before a block goes to the back of the queue
constexpr uint64_t kSuspendedBytes = 2048ull << 20;  // of blocks that have begun and wait for their next slice

class Grid {
 public:
    Grid(LaunchState& launch, unsigned threads) : launch_(launch), unfinished_(launch.blocks()) {
        if (launch.schedule != 0) {
            order_.resize(launch.blocks());
            std::iota(order_.begin(), order_.end(), uint64_t{0});
            std::mt19937_64 random(launch.schedule);
            std::shuffle(order_.begin(), order_.end(), random);
        }
        const uint64_t bytes =
            uint64_t{launch.warps} * launch.program->entry->register_bytes + (256u << 10) + launch.dynamic_shared * 8;
        resident_ = std::max<uint64_t>(2 * threads, kSuspendedBytes / bytes);
    }

    void work(Worker& worker) {
        std::vector<std::unique_ptr<Block>> idle;
        try {
            while (std::unique_ptr<Block> block = take(worker, idle)) {
                const uint64_t changes = block->changes, epoch = epoch_now();
                const Block::State state = block->run(worker, kSlice);
                block = give(std::move(block), state, changes, epoch, worker);
                if (block != nullptr) idle.push_back(std::move(block));
            }
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!error_) error_ = std::current_exception();
            launch_.stop = true;
            changed_.notify_all();
        }
    }

    std::exception_ptr error() const { return error_; }

 private:
    uint64_t epoch_now() {
        const std::lock_guard lock(mutex_);
        return epoch_;
    }

    std::unique_ptr<Block> take(Worker& worker, std::vector<std::unique_ptr<Block>>& idle) {
        std::unique_lock lock(mutex_);
        for (;;) {
            if (launch_.stop) return nullptr;
            if (next_ < launch_.blocks() && suspended_.size() < resident_) {
                const uint64_t number = order_.empty() ? next_ : order_[next_];
                ++next_;
                ++running_;
                lock.unlock();
                std::unique_ptr<Block> block;
                if (idle.empty())
                    block = std::make_unique<Block>();
                else
                    block = std::move(idle.back()), idle.pop_back();
                block->start(worker, number);
                return block;
            }
            // A block that spins is left alone until memory has changed.
            const auto ready = std::find_if(suspended_.begin(), suspended_.end(),
                                            [&](const auto& one) { return one->spin_epoch != epoch_; });
            if (ready != suspended_.end()) {
                auto block = std::move(*ready);
                suspended_.erase(ready);
                ++running_;
                return block;
            }
            if (running_ == 0) return nullptr;
            changed_.wait(lock);
        }
    }

    /// Takes a block back after a slice; returns it when it has ended, to be used again.
    std::unique_ptr<Block> give(std::unique_ptr<Block> block, Block::State state, uint64_t changes, uint64_t epoch,
                                Worker& worker) {
        const std::lock_guard lock(mutex_);
        --running_;
        changed_.notify_all();
        if (block->changes != changes) ++epoch_;
        if (state == Block::State::finished) {
            --unfinished_;
            ++epoch_;
            return block;
        }
        block->spin_epoch = state == Block::State::spinning && epoch == epoch_ ? epoch : 0;
        suspended_.push_back(std::move(block));
        const bool stuck = running_ == 0 && (next_ == launch_.blocks() || suspended_.size() >= resident_) &&
                           std::all_of(suspended_.begin(), suspended_.end(),
                                       [&](const auto& one) { return one->spin_epoch == epoch_; });
        if (!stuck) return nullptr;
        Block& first = **std::min_element(suspended_.begin(), suspended_.end(),
                                          [](const auto& a, const auto& b) { return a->linear < b->linear; });
        first.worker = &worker;
        for (auto& warp : first.warps) {
            const bool runs = std::any_of(warp->groups.begin(), warp->groups.end(),
                                          [](const Group& group) { return group.state == Group::State::runnable; });
            if (!runs) continue;
            first.runaway(*warp, "it waits for something that no thread will change");
            break;
        }
        return nullptr;
    }

    LaunchState& launch_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<Block>> suspended_;
    std::vector<uint64_t> order_;
    uint64_t next_ = 0, unfinished_, running_ = 0, resident_ = 1;
    uint64_t epoch_ = 1;  // of changes to memory
    std::exception_ptr error_;
};

}  // namespace

GridResult run_grid(LaunchState& launch, unsigned threads, Counters& counters) {
    threads = static_cast<unsigned>(std::clamp<uint64_t>(launch.blocks(), 1, std::max(1u, threads)));
    Grid grid(launch, threads);
    std::vector<std::unique_ptr<Worker>> workers;
    for (unsigned i = 0; i < threads; ++i) workers.push_back(std::make_unique<Worker>(launch));
    {
        std::vector<std::jthread> helpers;
        for (unsigned i = 1; i < threads; ++i)
            helpers.emplace_back([&grid, &worker = *workers[i]] { grid.work(worker); });
        grid.work(*workers[0]);
    }
    if (grid.error()) std::rethrow_exception(grid.error());
    GridResult result;
    std::vector<std::pair<uint64_t, std::string>> printed;
    for (const auto& worker : workers) {
        result.faults.merge(worker->faults);
        worker->tally.add_to(counters, *launch.program);
        printed.insert(printed.end(), worker->printed.begin(), worker->printed.end());
    }
    std::stable_sort(printed.begin(), printed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [block, text] : printed) result.printed += text;
    return result;
}

}  // namespace recuda::vgpu

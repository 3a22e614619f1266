#include "device/vgpu/grid.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "device/vgpu/cluster.h"

namespace recuda::vgpu {
namespace {

constexpr int64_t kSlice = 1 << 20;  // instructions before a cluster of blocks goes to the back of the queue
constexpr uint64_t kSuspendedBytes = 2048ull << 20;  // of clusters that have begun and wait for their next slice

constexpr uint64_t kMostShuffled = 1 << 22;  // clusters; more of them come in strides of a prime
constexpr uint64_t kPrimeStride = (1ull << 31) - 1;

/// Clusters of which kSuspendedBytes hold the registers, local and shared memory.
uint64_t most_in_flight(const LaunchState& launch) {
    const FunctionCode& entry = *launch.program->entry;
    const uint64_t warp = entry.register_bytes + uint64_t{entry.local_bytes} * 2 * kLanes;
    const uint64_t block = launch.warps * warp + (256u << 10) + uint64_t{launch.dynamic_shared} * 8;
    return kSuspendedBytes / (block * launch.cluster.volume());
}

class Grid {
 public:
    Grid(LaunchState& launch, unsigned threads)
        : launch_(launch), clusters_(launch.blocks() / launch.cluster.volume()), unfinished_(clusters_) {
        if (launch.schedule != 0 && clusters_ > kMostShuffled) {
            first_ = launch.schedule * 0x9e3779b97f4a7c15u % clusters_;
            stride_ = kPrimeStride % clusters_ == 0 ? 1 : kPrimeStride;
        } else if (launch.schedule != 0) {
            order_.resize(clusters_);
            std::iota(order_.begin(), order_.end(), uint64_t{0});
            std::mt19937_64 random(launch.schedule);
            std::shuffle(order_.begin(), order_.end(), random);
        }
        resident_ = launch.cooperative ? clusters_ : std::max<uint64_t>(threads + 1, most_in_flight(launch));
    }

    void work(Worker& worker) {
        std::vector<std::unique_ptr<Cluster>> idle;
        try {
            while (std::unique_ptr<Cluster> cluster = take(worker, idle)) {
                const uint64_t changes = cluster->changes(), outside = cluster->outside(), epoch = epoch_now();
                const Block::State state = cluster->run(worker, kSlice);
                cluster->busy = state == Block::State::ready;
                cluster->polls = cluster->changes() == changes && cluster->outside() != outside;
                cluster = give(std::move(cluster), state, changes, epoch, worker);
                // Blocks look at the clock between slices; one that ends within its first does not.
                if (std::chrono::steady_clock::now() > launch_.deadline && unfinished() != 0)
                    launch_.timed_out = launch_.stop = true;
                if (cluster != nullptr) idle.push_back(std::move(cluster));
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
    uint64_t unfinished() {
        const std::lock_guard lock(mutex_);
        return unfinished_;
    }

    uint64_t epoch_now() {
        const std::lock_guard lock(mutex_);
        return epoch_;
    }

    std::unique_ptr<Cluster> take(Worker& worker, std::vector<std::unique_ptr<Cluster>>& idle) {
        std::unique_lock lock(mutex_);
        for (;;) {
            if (launch_.stop) return nullptr;
            // Busy clusters are run to their end one after another, for most of the time: an endless loop is found
            // by the instructions that one of them has run. The others get a turn now and then, more often where the
            // busy one may be polling what they will write.
            const auto favourite = busiest();
            const bool others = favourite == suspended_.end() || ++turns_ % ((*favourite)->polls ? 2 : 6) == 0;
            if (!others) return resume(favourite);
            const bool rest = favourite != suspended_.end() && (others_++ & 1) != 0;
            if (!rest && next_ < clusters_ && suspended_.size() < resident_) {
                const uint64_t number = order_.empty() ? in_strides(next_) : order_[next_];
                ++next_;
                ++running_;
                lock.unlock();
                std::unique_ptr<Cluster> cluster;
                if (idle.empty())
                    cluster = std::make_unique<Cluster>();
                else
                    cluster = std::move(idle.back()), idle.pop_back();
                cluster->start(worker, number);
                return cluster;
            }
            // A cluster that spins is left alone until memory has changed.
            const auto ready = std::find_if(suspended_.begin(), suspended_.end(),
                                            [&](const auto& one) { return one->spin_epoch != epoch_; });
            if (ready != suspended_.end()) return resume(ready);
            if (running_ == 0) return nullptr;
            changed_.wait(lock);
        }
    }

    uint64_t in_strides(uint64_t number) const {
        return static_cast<uint64_t>((static_cast<unsigned __int128>(number) * stride_ + first_) % clusters_);
    }

    using Suspended = std::deque<std::unique_ptr<Cluster>>;

    std::unique_ptr<Cluster> resume(Suspended::iterator which) {
        auto cluster = std::move(*which);
        suspended_.erase(which);
        ++running_;
        if (std::exchange(cluster->spin_epoch, 0) != 0) --launch_.spinning;
        return cluster;
    }

    /// The first cluster of those whose last slice was too short for them.
    Suspended::iterator busiest() {
        auto best = suspended_.end();
        for (auto at = suspended_.begin(); at != suspended_.end(); ++at)
            if ((*at)->busy && (best == suspended_.end() || (*at)->number() < (*best)->number())) best = at;
        return best;
    }

    /// Takes a cluster back after a slice; returns it when it has ended, to be used again.
    std::unique_ptr<Cluster> give(std::unique_ptr<Cluster> cluster, Block::State state, uint64_t changes,
                                  uint64_t epoch, Worker& worker) {
        const std::lock_guard lock(mutex_);
        --running_;
        changed_.notify_all();
        if (cluster->changes() != changes) ++epoch_;
        if (state == Block::State::finished) {
            --unfinished_;
            ++epoch_;
            return cluster;
        }
        cluster->spin_epoch = state == Block::State::spinning ? epoch : 0;
        if (cluster->spin_epoch != 0) ++launch_.spinning;
        suspended_.push_back(std::move(cluster));
        const bool stuck = running_ == 0 && (next_ == clusters_ || suspended_.size() >= resident_) &&
                           std::all_of(suspended_.begin(), suspended_.end(),
                                       [&](const auto& one) { return one->spin_epoch == epoch_; });
        if (!stuck) return nullptr;
        Cluster& first = **std::min_element(suspended_.begin(), suspended_.end(),
                                            [](const auto& a, const auto& b) { return a->number() < b->number(); });
        // What waits for a block that a fault has stopped is no fault of its own.
        if (!launch_.faulted) first.runaway(worker, "it waits for something that no thread will change");
        launch_.stop = true;
        return nullptr;
    }

    LaunchState& launch_;
    std::mutex mutex_;
    std::condition_variable changed_;
    Suspended suspended_;
    std::vector<uint64_t> order_;
    uint64_t clusters_;
    uint64_t first_ = 0, stride_ = 1;  // of the order where order_ is empty
    uint64_t next_ = 0, unfinished_, running_ = 0, resident_ = 1;
    uint64_t epoch_ = 1;  // of changes to memory
    uint64_t turns_ = 0, others_ = 0;
    std::exception_ptr error_;
};

}  // namespace

GridResult run_grid(LaunchState& launch, unsigned threads, Counters& counters) {
    const uint64_t most = std::min<uint64_t>(std::max(1u, threads), std::max<uint64_t>(1, most_in_flight(launch)));
    threads = static_cast<unsigned>(std::clamp<uint64_t>(launch.blocks(), 1, most));
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
    result.faults.drop_followers();
    std::stable_sort(printed.begin(), printed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [block, text] : printed) result.printed += text;
    return result;
}

}  // namespace recuda::vgpu

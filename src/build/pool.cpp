#include "build/pool.h"

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/process.h"

namespace recuda {

/// The free workers, how many are out, and the thread that starts them. Linux kills a child with PR_SET_PDEATHSIG when
/// the thread that started it ends, not the process: so one thread that lives as long as the pool starts them all.
class WorkerPool::State {
 public:
    explicit State(Options options) : options_(std::move(options)), starter_([this] { start_workers(); }) {}

    ~State() {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        changed_.notify_all();
        starter_.join();
    }

    /// A free worker, or nothing when a new one has to be started; counts as out from here on.
    std::optional<WorkerProcess> take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return out_ < options_.size; });
        ++out_;
        if (free_.empty()) return std::nullopt;
        std::optional<WorkerProcess> worker(std::move(free_.back()));
        free_.pop_back();
        return worker;
    }

    void give_back(std::optional<WorkerProcess> worker) {
        {
            const std::lock_guard lock(mutex_);
            --out_;
            if (worker) free_.push_back(std::move(*worker));
        }
        changed_.notify_all();
    }

    WorkerProcess started() {
        std::promise<WorkerProcess> promise;
        std::future<WorkerProcess> worker = promise.get_future();
        {
            const std::lock_guard lock(mutex_);
            wanted_.push_back(std::move(promise));
        }
        changed_.notify_all();
        return worker.get();
    }

    /// Sends the setup and awaits the word that the worker is ready.
    void introduce(WorkerProcess& worker) const {
        std::string word;
        WorkerProcess::Received received = WorkerProcess::Received::gone;
        if (worker.send(options_.setup())) received = worker.receive(word, options_.start_deadline_s);
        if (received == WorkerProcess::Received::message && word.starts_with('+')) return;
        worker.kill();
        if (received == WorkerProcess::Received::message)
            throw Error("{} cannot start: {}", options_.name, word.substr(word.empty() ? 0 : 1));
        if (received == WorkerProcess::Received::timed_out)
            throw Error("{} did not start within {} s", options_.name, options_.start_deadline_s);
        throw Error("{} cannot start: {}", options_.name, worker.ending());
    }

    const Options& options() const { return options_; }

 private:
    void start_workers() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return ending_ || !wanted_.empty(); });
            if (wanted_.empty()) return;
            std::promise<WorkerProcess> promise = std::move(wanted_.front());
            wanted_.pop_front();
            lock.unlock();
            try {
                promise.set_value(WorkerProcess(options_.command));
            } catch (...) {
                promise.set_exception(std::current_exception());
            }
            lock.lock();
        }
    }

    Options options_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<WorkerProcess> free_;
    std::deque<std::promise<WorkerProcess>> wanted_;
    unsigned out_ = 0;
    bool ending_ = false;
    std::thread starter_;
};

WorkerPool::WorkerPool(Options options) : state_(std::make_unique<State>(std::move(options))) {}
WorkerPool::~WorkerPool() = default;
unsigned WorkerPool::size() const { return state_->options().size; }

WorkerPool::Reply WorkerPool::ask(std::string_view request, double deadline_s) {
    /// Gives the slot back whatever happens, and the worker when it may serve on.
    struct Turn {
        State& state;
        std::optional<WorkerProcess> worker;
        ~Turn() {
            if (worker && !worker->running()) worker.reset();
            state.give_back(std::move(worker));
        }
    } turn{*state_, state_->take()};
    if (!turn.worker || !turn.worker->send(request)) {  // none was free, or it died while nobody needed it
        turn.worker.reset();
        turn.worker.emplace(state_->started());
        state_->introduce(*turn.worker);
        if (!turn.worker->send(request)) throw Error("{} ended before its first request", state_->options().name);
    }
    Reply reply;
    const WorkerProcess::Received received = turn.worker->receive(reply.answer, deadline_s);
    if (received == WorkerProcess::Received::message) {
        reply.end = Reply::End::answered;
        const bool serves_on = reply.answer.starts_with('+');
        if (!reply.answer.empty()) reply.answer.erase(0, 1);
        if (!serves_on) turn.worker->kill();
        return reply;
    }
    turn.worker->kill();
    reply.end = received == WorkerProcess::Received::timed_out ? Reply::End::stopped : Reply::End::died;
    reply.ending = turn.worker->ending();
    return reply;
}

}  // namespace recuda

#include "build/pool.h"

#include <condition_variable>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/process.h"

namespace recuda {

/// The free workers and how many are out.
class WorkerPool::State {
 public:
    explicit State(Options options) : options_(std::move(options)) {}

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

    /// Sends the setup and awaits the word that the worker is ready.
    void introduce(WorkerProcess& worker, const std::string& setup) const {
        std::string word;
        WorkerProcess::Received received = WorkerProcess::Received::gone;
        if (worker.send(setup)) received = worker.receive(word, options_.start_deadline_s);
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
    Options options_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<WorkerProcess> free_;
    unsigned out_ = 0;
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
        const std::string setup = state_->options().setup();
        turn.worker.emplace(state_->options().command);
        state_->introduce(*turn.worker, setup);
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

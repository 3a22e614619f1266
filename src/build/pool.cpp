#include "build/pool.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>

#include "base/error.h"
#include "base/worker_process.h"
#include "build/messages.h"

namespace recuda {

namespace {

/// What a worker that served an earlier request cannot know.
std::string new_ticket() {
    static_assert(kTicketBytes == 32);
    std::random_device random;
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

/// Awaits the answer to the request with that ticket, nothing where it is another's; a worker that does not serve on is
/// killed.
std::optional<WorkerPool::Reply> await(WorkerProcess& worker, const std::string& ticket, double deadline_s) {
    using End = WorkerPool::Reply::End;
    WorkerPool::Reply reply;
    const WorkerProcess::Received received = worker.receive(reply.answer, deadline_s);
    if (received == WorkerProcess::Received::message) {
        const bool serves_on = reply.answer.starts_with('+');
        const bool ours = reply.answer.size() > ticket.size() && reply.answer.compare(1, ticket.size(), ticket) == 0;
        if (!serves_on || !ours) worker.kill();
        if (!ours) return std::nullopt;
        reply.end = End::answered;
        reply.answer.erase(0, 1 + ticket.size());
        return reply;
    }
    worker.kill();
    reply.end = received == WorkerProcess::Received::timed_out ? End::stopped : End::died;
    reply.ending = worker.ending();
    return reply;
}

}  // namespace

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
    const std::string ticket = new_ticket(), message = fmt::format("{}{}", ticket, request);
    if (turn.worker && turn.worker->send(message))
        if (std::optional<Reply> reply = await(*turn.worker, ticket, deadline_s)) return std::move(*reply);
    // None was free, it died while nobody needed it, or it answered a request that was not this one.
    turn.worker.reset();
    const std::string setup = state_->options().setup();
    turn.worker.emplace(state_->options().command);
    state_->introduce(*turn.worker, setup);
    if (!turn.worker->send(message)) throw Error("{} ended before its first request", state_->options().name);
    return await(*turn.worker, ticket, deadline_s)
        .value_or(
            Reply{.end = Reply::End::died, .answer = "", .ending = "it answered with words that are not its own"});
}

}  // namespace recuda

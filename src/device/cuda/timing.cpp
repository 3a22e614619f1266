#include "device/cuda/timing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "device/cuda/output_check.h"

namespace recuda::cuda {
namespace {

constexpr double kShortestSpanNs = 10000;  // 20 times the resolution of events
constexpr double kWantedSpanNs = 100000;   // where more runs are needed: a graph's start varies by about 3 us (H200)
constexpr double kWorkBeforeRestNs = 5e6, kLongestRestNs = 20e6;
constexpr size_t kQueueLimit =
    512;  // launches behind a hold: the driver's queue takes about 1000 before it blocks the host

/// One sequence, ready to enqueue.
struct Run {
    struct Cleared {
        CUdeviceptr address;
        uint64_t bytes;
    };
    PreparedRun prepared;
    std::vector<Cleared> cleared;
    size_t nodes() const { return prepared.launches.size() + cleared.size(); }
};

class Session {
 public:
    Session(const TimingParts& parts, const TimingRequest& request)
        : parts_(parts),
          driver_(parts.driver),
          request_(request),
          deadline_(after_seconds(request.deadline_s)),
          started_(make_event(driver_)),
          stopped_(make_event(driver_)),
          finished_(make_event(driver_)),
          check_(driver_, parts.stream, parts.memory, parts.kernels, request),
          runs_(std::max(1u, request.runs_per_sample)),
          graphs_(runs_ > 1) {}

    Timing time() {
        if (!prepare() || !load_libraries() || !settle()) return timing_;
        if (check_.any() && failed(check_.reset(0, check_.sequences()))) return timing_;
        for (uint32_t i = 0; i < request_.samples; ++i) {
            double span_ns = 0;
            if (!sample(span_ns)) return timing_;
            timing_.samples_ns.push_back(span_ns / runs_);
            timing_.clock_mhz.push_back(parts_.probe.clock_mhz());
            if (!checked()) return timing_;
            rest(span_ns);
        }
        timing_.method = method();
        return timing_;
    }

 private:
    bool prepare();
    std::vector<Run::Cleared> cleared_by(std::span<const Launch> launches) const;
    bool load_libraries();
    bool settle();
    bool checked();
    void rest(double span_ns);
    bool sample(double& span_ns);
    CUresult enqueue_work();
    CUresult enqueue_runs();
    CUresult capture(GraphExec& graph);
    bool holds() const;
    bool failed(CUresult result);
    std::string method() const;

    const TimingParts& parts_;
    const Driver& driver_;
    const TimingRequest& request_;
    Deadline deadline_;
    Event started_, stopped_, finished_;
    OutputCheck check_;
    uint32_t runs_;
    bool graphs_;
    uint32_t expired_holds_ = 0;
    double worked_ns_ = 0;  // since the last rest
    std::vector<Run> sequences_;
    size_t next_ = 0, begun_ = 0;  // sequences that the next sample begins with, and the last began with
    std::map<size_t, GraphExec> captured_;
    Timing timing_;
};

bool Session::prepare() {
    for (const std::vector<Launch>& launches : request_.sequences) {
        Run run{parts_.launcher.prepare(launches), cleared_by(launches)};
        if (!run.prepared.refusal.empty()) {
            timing_.outcome = Outcome::launch_refused;
            timing_.log = run.prepared.refusal;
            return false;
        }
        sequences_.push_back(std::move(run));
    }
    return true;
}

/// Those of the buffers to be cleared that the launches use: each buffer set has its own scratch.
std::vector<Run::Cleared> Session::cleared_by(std::span<const Launch> launches) const {
    std::set<BufferId> used;
    for (const Launch& launch : launches)
        for (const Argument& argument : launch.arguments) {
            if (argument.kind == Argument::Kind::buffer) used.insert(argument.buffer);
            if (argument.kind == Argument::Kind::tensor_map) used.insert(argument.tensor_map->buffer);
        }
    std::vector<Run::Cleared> cleared;
    for (const BufferId buffer : request_.cleared) {
        const GuardedMemory::Buffer& found = parts_.memory.at(buffer);
        if (used.contains(buffer) && found.bytes > 0) cleared.push_back({found.address, found.bytes});
    }
    return cleared;
}

/// A library loads a kernel at its first launch, which a graph's capture forbids: its launches run once before.
bool Session::load_libraries() {
    bool launched = false;
    for (PreparedLaunch& launch : sequences_.front().prepared.launches) {
        if (!launch.product) continue;
        if (failed(parts_.launcher.enqueue(launch, parts_.stream))) return false;
        launched = true;
    }
    if (!launched) return true;
    driver_.cuEventRecord(finished_.get(), parts_.stream);
    return !failed(await(driver_, finished_.get(), deadline_));
}

/// Warms up, and finds a number of runs whose span events can resolve.
bool Session::settle() {
    size_t nodes = 1;
    for (const Run& run : sequences_) nodes = std::max(nodes, run.nodes());
    uint32_t most = std::max<uint32_t>(runs_, static_cast<uint32_t>(std::max<size_t>(1, kQueueLimit / nodes)));
    // A second run in one place would hide what the first left there.
    if (check_.checks() && request_.cold)
        most = std::max(runs_, std::min(most, static_cast<uint32_t>(sequences_.size())));
    while (true) {
        double span_ns = 0;
        for (uint32_t i = 0; i < std::max(1u, request_.warmups); ++i)
            if (!sample(span_ns)) return false;
        if (span_ns >= kShortestSpanNs || runs_ == most) return true;
        const double wanted = std::ceil(runs_ * kWantedSpanNs / std::max(span_ns, 500.0));
        runs_ = static_cast<uint32_t>(std::clamp<double>(wanted, runs_ + 1, most));
        graphs_ = true;
        captured_.clear();
    }
}

/// Checks and wipes what the last sample has left; false where that failed or was wrong.
bool Session::checked() {
    if (!check_.any()) return true;
    if (check_.checks()) {
        const size_t count = std::min<size_t>(runs_, sequences_.size());
        if (failed(check_.check(begun_, count, timing_.wrong_sequence))) return false;
        timing_.checked_runs += count;
    }
    if (timing_.wrong_sequence) {
        timing_.outcome = Outcome::wrong;
        timing_.log = "a timed run left other outputs than the same program did before on the same input";
        timing_.samples_ns.clear();
        timing_.clock_mhz.clear();
        return false;
    }
    return !failed(check_.reset(begun_, runs_));
}

/// Lets the GPU cool down for as long as it has worked, in the same small portions.
void Session::rest(double span_ns) {
    worked_ns_ += span_ns;
    if (worked_ns_ < kWorkBeforeRestNs) return;
    std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(std::min(worked_ns_, kLongestRestNs)));
    worked_ns_ = 0;
}

/// Takes one sample, again where its hold expired or its span was empty; false where it failed.
bool Session::sample(double& span_ns) {
    const CUstream stream = parts_.stream;
    while (true) {
        const CUresult reset = driver_.cuCtxResetPersistingL2Cache();
        if (is_sticky(reset)) return !failed(reset);
        if (graphs_ && !captured_.contains(next_)) {
            GraphExec graph;
            const CUresult captured = capture(graph);
            if (is_sticky(captured)) return !failed(captured);
            // What cannot be captured is launched one by one.
            if (captured == CUDA_SUCCESS)
                captured_.emplace(next_, std::move(graph));
            else
                graphs_ = false;
        }
        begun_ = next_;
        const bool held = holds();
        if (held) parts_.probe.hold(stream);
        driver_.cuEventRecord(started_.get(), stream);
        const CUresult enqueued = enqueue_work();
        driver_.cuEventRecord(stopped_.get(), stream);
        parts_.probe.measure_clock(stream);
        driver_.cuEventRecord(finished_.get(), stream);
        if (held) parts_.probe.release();
        const CUresult waited = await(driver_, finished_.get(), deadline_);
        if (failed(enqueued) || failed(waited)) return false;
        next_ = (next_ + runs_) % sequences_.size();
        float milliseconds = 0;
        if (failed(driver_.cuEventElapsedTime(&milliseconds, started_.get(), stopped_.get()))) return false;
        span_ns = milliseconds * 1e6;
        if (held && parts_.probe.expired())
            ++expired_holds_;
        else if (span_ns > 0)
            return true;
        if (check_.any() && failed(check_.reset(begun_, runs_))) return false;
        if (std::chrono::steady_clock::now() >= deadline_) return !failed(CUDA_ERROR_NOT_READY);
    }
}

CUresult Session::enqueue_work() {
    const auto graph = captured_.find(next_);
    return graphs_ ? driver_.cuGraphLaunch(graph->second.get(), parts_.stream) : enqueue_runs();
}

CUresult Session::enqueue_runs() {
    for (uint32_t i = 0; i < runs_; ++i) {
        Run& run = sequences_[(next_ + i) % sequences_.size()];
        for (const Run::Cleared& buffer : run.cleared) {
            const CUresult result = driver_.cuMemsetD8Async(buffer.address, 0, buffer.bytes, parts_.stream);
            if (result != CUDA_SUCCESS) return result;
        }
        for (PreparedLaunch& launch : run.prepared.launches) {
            const CUresult result = parts_.launcher.enqueue(launch, parts_.stream);
            if (result != CUDA_SUCCESS) return result;
        }
    }
    return CUDA_SUCCESS;
}

CUresult Session::capture(GraphExec& graph) {
    CUresult result = driver_.cuStreamBeginCapture(parts_.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (result != CUDA_SUCCESS) return result;
    result = enqueue_runs();
    CUgraph recorded = nullptr;
    const CUresult ended = driver_.cuStreamEndCapture(parts_.stream, &recorded);
    Graph owner;
    if (recorded != nullptr) owner = Graph(driver_, recorded);
    if (result == CUDA_SUCCESS) result = ended;
    if (result != CUDA_SUCCESS) return result;
    CUgraphExec made = nullptr;
    result = driver_.cuGraphInstantiateWithFlags(&made, recorded, 0);
    if (result != CUDA_SUCCESS) return result;
    graph = GraphExec(driver_, made);
    return driver_.cuGraphUpload(made, parts_.stream);
}

/// Holding pays unless the queue could fill up behind the hold, which an expired one shows.
bool Session::holds() const {
    size_t nodes = 0;
    for (uint32_t i = 0; i < runs_ && nodes <= kQueueLimit; ++i)
        nodes += sequences_[(next_ + i) % sequences_.size()].nodes();
    return (graphs_ || nodes <= kQueueLimit) && expired_holds_ < 2;
}

/// Puts an error into the outcome; false where there is none.
bool Session::failed(CUresult result) {
    if (result == CUDA_SUCCESS) return false;
    if (result == CUDA_ERROR_NOT_READY) {
        timing_.outcome = Outcome::timed_out;
        timing_.log = fmt::format("timing was not over after {} s", request_.deadline_s);
    } else {
        timing_.outcome = is_sticky(result) ? Outcome::faulted : Outcome::launch_refused;
        timing_.log = driver_.words(result);
    }
    timing_.samples_ns.clear();
    timing_.clock_mhz.clear();
    return true;
}

std::string Session::method() const {
    const char* const plural = runs_ == 1 ? "" : "s";
    std::string text = graphs_ ? fmt::format("events around a graph of {} run{}", runs_, plural)
                               : fmt::format("events around {} run{}", runs_, plural);
    if (runs_ != std::max(1u, request_.runs_per_sample))
        text += fmt::format(" (more than the {} asked for: too short a span)", std::max(1u, request_.runs_per_sample));
    text += holds() ? ", queued behind a holding kernel" : ", not held";
    if (check_.checks()) text += "; outputs of every run hashed after each sample and wiped";
    if (check_.any() && request_.cold) text += "; L2 swept before each sample";
    return text + "; SM clock counted for 20 us after each sample";
}

}  // namespace

Timing time_runs(const TimingParts& parts, const TimingRequest& request) {
    if (request.sequences.empty() || request.samples == 0) throw Error("a timing request needs sequences and samples");
    for (const std::vector<Launch>& launches : request.sequences)
        if (launches.empty()) throw Error("a timing request's sequences need launches");
    return Session(parts, request).time();
}

}  // namespace recuda::cuda

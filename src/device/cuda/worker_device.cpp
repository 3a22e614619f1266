// The parent's side: a Device that forwards every call to a worker process and outlives it.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/process.h"
#include "base/worker_process.h"
#include "device/cuda/cuda.h"
#include "device/cuda/shared_memory.h"
#include "device/cuda/wire.h"
#include "device/hash.h"

namespace recuda {
namespace {

using cuda::packed;
using cuda::unpacked;

constexpr double kCallDeadlineS =
    120;                        // of calls that run no kernel: the driver's start and its compiler are the slow ones
constexpr double kGraceS = 10;  // beyond a run's own deadline, before the worker is taken to hang
constexpr double kCanaryDeadlineS = 10;   // of the job that a fresh worker must do before it is trusted
constexpr double kLeaseDeadlineS = 60;    // of one answer, not of the waiting
constexpr size_t kSharedBytes = 4 << 20;  // transfers go in parts of this size, which the processor's cache holds

/// Ids handed out by us, and what the present worker calls them. Ids are never reused, so an id below `first_` that is
/// not among them belonged to an earlier worker.
class Ids {
 public:
    uint32_t add(uint32_t remote) {
        remote_.emplace(next_, remote);
        return next_++;
    }
    /// The worker's id; throws DeviceLost or Error.
    uint32_t at(uint32_t id, std::string_view what, const std::string& ending) const {
        const auto found = remote_.find(id);
        if (found != remote_.end()) return found->second;
        if (id < first_) throw DeviceLost("{} {} is gone with the worker process that held it ({})", what, id, ending);
        throw Error("there is no {} {}", what, id);
    }
    bool lost(uint32_t id) const { return id < first_ && !remote_.contains(id); }
    void erase(uint32_t id) { remote_.erase(id); }
    void lose_all() {
        remote_.clear();
        first_ = next_;
    }

 private:
    std::map<uint32_t, uint32_t> remote_;
    uint32_t first_ = 1, next_ = 1;
};

class WorkerDevice : public Device {
 public:
    explicit WorkerDevice(std::vector<std::string> command)
        : command_(std::move(command)), shared_(cuda::SharedMemory::create(kSharedBytes)) {
        info_ = cuda::device_info_from_json(call({{"call", "info"}}));
    }

    const DeviceInfo& info() const override { return info_; }

    BufferId allocate(std::string name, uint64_t bytes) override {
        return buffers_.add(call({{"call", "allocate"}, {"name", json_text(name)}, {"bytes", bytes}}).at("id"));
    }

    BufferId allocate_guarded(std::string name, uint64_t bytes, Guard guard) override {
        return buffers_.add(call({{"call", "allocate_guarded"},
                                  {"name", json_text(name)},
                                  {"bytes", bytes},
                                  {"after", guard == Guard::after}})
                                .at("id"));
    }

    std::vector<uint64_t> hashes(std::span<const Region> regions) override {
        Json all = Json::array();
        for (const Region& region : regions) all.push_back(cuda::region_to_json(remote(region)));
        return call({{"call", "hashes"}, {"regions", std::move(all)}}).at("hashes").get<std::vector<uint64_t>>();
    }

    void free(BufferId buffer) override {
        if (buffers_.lost(buffer)) return;
        const uint32_t id = remote_buffer(buffer);
        buffers_.erase(buffer);
        call({{"call", "free"}, {"id", id}});
    }

    void write(BufferId buffer, uint64_t offset_bytes, std::span<const std::byte> bytes) override {
        for (size_t at = 0; at < bytes.size(); at += kSharedBytes) {
            const auto part = bytes.subspan(at, std::min(kSharedBytes, bytes.size() - at));
            const uint32_t id = remote_buffer(buffer);
            std::memcpy(shared_.bytes().data(), part.data(), part.size());
            call({{"call", "write"}, {"id", id}, {"offset", offset_bytes + at}, {"bytes", part.size()}});
        }
    }

    void read(BufferId buffer, uint64_t offset_bytes, std::span<std::byte> bytes) override {
        for (size_t at = 0; at < bytes.size(); at += kSharedBytes) {
            const auto part = bytes.subspan(at, std::min(kSharedBytes, bytes.size() - at));
            call({{"call", "read"},
                  {"id", remote_buffer(buffer)},
                  {"offset", offset_bytes + at},
                  {"bytes", part.size()}});
            std::memcpy(part.data(), shared_.bytes().data(), part.size());
        }
    }

    void fill(BufferId buffer, std::byte value, bool poison) override {
        call({{"call", "fill"},
              {"id", remote_buffer(buffer)},
              {"value", std::to_integer<unsigned>(value)},
              {"poison", poison}});
    }

    ModuleId load(const Binary& binary) override {
        return modules_.add(call({{"call", "load"},
                                  {"target", binary.target},
                                  {"file", json_text(binary.file)},
                                  {"cubin_bytes", binary.cubin.size()}},
                                 binary.cubin + binary.ptx)
                                .at("id"));
    }

    void unload(ModuleId module) override {
        if (modules_.lost(module)) return;
        const uint32_t id = remote_module(module);
        modules_.erase(module);
        call({{"call", "unload"}, {"id", id}});
    }

    Execution run(std::span<const Launch> launches, const RunOptions& options) override;
    Timing time(const TimingRequest& request) override;
    void renew() override {
        if (worker_ != nullptr) lose_worker("it was replaced by a fresh one");
    }

    ProductAlgorithms product_algorithms(const MatrixProduct& product, uint32_t most,
                                         uint64_t workspace_limit) override {
        return cuda::product_algorithms_from_json(call({{"call", "products"},
                                                        {"product", cuda::to_json(product)},
                                                        {"most", most},
                                                        {"workspace_limit", workspace_limit}}));
    }

 private:
    /// How an exchange with the worker ended; the reply's message is in message_.
    enum class Ended { replied, timed_out, died };

    uint32_t remote_buffer(BufferId id) const { return buffers_.at(id, "buffer", ending_); }
    uint32_t remote_module(ModuleId id) const { return modules_.at(id, "module", ending_); }
    Region remote(Region region) const { return {remote_buffer(region.buffer), region.offset_bytes, region.bytes}; }
    Launch remote(Launch launch) const;
    void start_worker();
    void await_lease();
    void canary();
    void lose_worker(std::string ending);
    Ended exchange(const Json& request, std::string_view payload, double deadline_s);
    Json reply();
    Json call(const Json& request, std::string_view payload = {}, double deadline_s = kCallDeadlineS);
    template <typename Result>
    Result launch_call(const Json& request, double deadline_s, Result (*from_json)(const Json&));

    std::vector<std::string> command_;
    cuda::SharedMemory shared_;
    std::unique_ptr<WorkerProcess> worker_;
    std::string ending_;   // how the last lost worker ended
    std::string message_;  // the last reply
    DeviceInfo info_;
    Ids buffers_, modules_;
};

/// Starts a worker, which inherits the shared memory's descriptor; throws Error with its reason when it cannot serve.
/// One that follows another, which a candidate ended, must do a small job of ours before the GPU is trusted again:
/// DeviceWedged where it does not.
void WorkerDevice::start_worker() {
    const std::string before = ending_;
    try {
        shared_.set_inheritable(true);
        worker_ = std::make_unique<WorkerProcess>(command_);
        shared_.set_inheritable(false);
        await_lease();
        call({{"call", "share"}, {"descriptor", shared_.descriptor()}, {"bytes", kSharedBytes}});
        if (!before.empty()) canary();
    } catch (const Error& error) {
        shared_.set_inheritable(false);
        worker_.reset();
        ending_ = before;
        if (before.empty()) throw;
        throw DeviceWedged(
            "the GPU does not work in a fresh process either, after the last one had ended ({}): {}; nvidia-smi tells "
            "whether it needs a reset",
            before, error.what());
    }
}

/// Waits until no other process holds the GPU, and says once for whom.
void WorkerDevice::await_lease() {
    std::string told;
    while (true) {
        const std::string held_by = call({{"call", "lease"}}, {}, kLeaseDeadlineS).at("held_by");
        if (held_by.empty()) break;
        if (told != held_by) fmt::print(stderr, "cuda-rlm: the GPU is in use by {}: waiting for it\n", held_by);
        told = held_by;
    }
    if (!told.empty()) fmt::print(stderr, "cuda-rlm: the GPU is free now\n");
}

/// A job of our own on the GPU: a hash of bytes that are known.
void WorkerDevice::canary() {
    std::array<std::byte, 4099> bytes;
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i >> 3);
    const uint32_t id =
        call({{"call", "allocate"}, {"name", "canary"}, {"bytes", bytes.size()}}, {}, kCanaryDeadlineS).at("id");
    std::memcpy(shared_.bytes().data(), bytes.data(), bytes.size());
    call({{"call", "write"}, {"id", id}, {"offset", 0}, {"bytes", bytes.size()}}, {}, kCanaryDeadlineS);
    const Json regions = Json::array({cuda::region_to_json({id, 0, bytes.size()})});
    const Json found = call({{"call", "hashes"}, {"regions", regions}}, {}, kCanaryDeadlineS);
    call({{"call", "free"}, {"id", id}}, {}, kCanaryDeadlineS);
    if (found.at("hashes").at(0).get<uint64_t>() != hash_of(bytes))
        throw Error("a small kernel of our own gives a wrong result");
}

void WorkerDevice::lose_worker(std::string ending) {
    worker_.reset();
    ending_ = std::move(ending);
    buffers_.lose_all();
    modules_.lose_all();
}

WorkerDevice::Ended WorkerDevice::exchange(const Json& request, std::string_view payload, double deadline_s) {
    if (worker_ == nullptr) start_worker();
    // A failed send means that the worker is gone: receiving then tells how it ended.
    worker_->send(packed(request, payload));
    switch (worker_->receive(message_, deadline_s)) {
        case WorkerProcess::Received::message:
            return Ended::replied;
        case WorkerProcess::Received::timed_out:
            lose_worker(fmt::format("it did not answer within {} s and was killed", deadline_s));
            return Ended::timed_out;
        case WorkerProcess::Received::gone:
            break;
    }
    worker_->kill();
    lose_worker(worker_->ending());
    return Ended::died;
}

/// The header of the last message. A worker that says that it serves no more is replaced at the next call.
Json WorkerDevice::reply() {
    Json header = parse_json(unpacked(message_).header, "a worker's reply");
    if (header.value("lost", false)) lose_worker("its GPU context was lost to a fault or a kernel without end");
    if (header.contains("error")) throw Error("{}", header.at("error").get_ref<const std::string&>());
    return header;
}

/// A call that runs no kernel: a worker that does not survive it is an Error.
Json WorkerDevice::call(const Json& request, std::string_view payload, double deadline_s) {
    if (exchange(request, payload, deadline_s) != Ended::replied)
        throw DeviceLost("the GPU's worker process ended during `{}`: {}",
                         request.at("call").get_ref<const std::string&>(), ending_);
    return reply();
}

/// A call that runs a candidate's kernels: what becomes of the worker is the candidate's outcome.
template <typename Result>
Result WorkerDevice::launch_call(const Json& request, double deadline_s, Result (*from_json)(const Json&)) {
    const Ended ended = exchange(request, {}, deadline_s + kGraceS);
    if (ended == Ended::replied) return from_json(reply());
    Result result;
    result.outcome = ended == Ended::timed_out ? Outcome::timed_out : Outcome::faulted;
    result.log = ended == Ended::timed_out
                     ? fmt::format("the process that ran it did not answer within {} s", deadline_s + kGraceS)
                     : fmt::format("the process that ran it died: {}", ending_);
    return result;
}

/// The launch in the worker's ids.
Launch WorkerDevice::remote(Launch launch) const {
    if (!launch.product) launch.module = remote_module(launch.module);
    for (Argument& argument : launch.arguments) {
        if (argument.kind == Argument::Kind::buffer) argument.buffer = remote_buffer(argument.buffer);
        if (argument.kind == Argument::Kind::tensor_map) {
            TensorMap map = *argument.tensor_map;
            map.buffer = remote_buffer(map.buffer);
            argument.tensor_map = std::make_shared<TensorMap>(std::move(map));
        }
    }
    return launch;
}

Execution WorkerDevice::run(std::span<const Launch> launches, const RunOptions& options) {
    Json request = cuda::to_json(options);
    request["call"] = "run";
    request["launches"] = Json::array();
    for (const Launch& launch : launches) request["launches"].push_back(cuda::to_json(remote(launch)));
    return launch_call(request, options.deadline_s, cuda::execution_from_json);
}

Timing WorkerDevice::time(const TimingRequest& request) {
    TimingRequest theirs = request;
    for (std::vector<Launch>& sequence : theirs.sequences)
        for (Launch& launch : sequence) launch = remote(std::move(launch));
    for (BufferId& buffer : theirs.cleared) buffer = remote_buffer(buffer);
    for (BufferId& buffer : theirs.poisoned) buffer = remote_buffer(buffer);
    for (std::vector<TimedOutput>& wanted : theirs.outputs)
        for (TimedOutput& output : wanted) {
            output.region = remote(output.region);
            if (output.original) output.original = remote(*output.original);
        }
    Json message = cuda::to_json(theirs);
    message["call"] = "time";
    return launch_call(message, request.deadline_s, cuda::timing_from_json);
}

}  // namespace

std::unique_ptr<Device> make_cuda(const CudaOptions& options) {
    std::vector<std::string> command = options.worker;
    if (command.empty()) command = {this_program(), "worker", "--device", std::to_string(options.ordinal)};
    return std::make_unique<WorkerDevice>(std::move(command));
}

}  // namespace recuda

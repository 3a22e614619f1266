// A place where binaries run: `cuda` (a worker process with the driver API) or `vgpu` (the virtual GPU).
//
// A Device owns its buffers and modules and hands out small ids. What a kernel does wrong comes back as data in an
// Execution; Error is thrown only when the device itself is unusable or misused by us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/matrix_product.h"
#include "kernel/binary.h"
#include "kernel/outcome.h"
#include "kernel/report.h"

namespace recuda {

struct Counters;

enum class DeviceKind { vgpu, cuda };

/// Facts of a device. For `vgpu` those of the GPU that it stands for.
struct DeviceInfo {
    DeviceKind kind = DeviceKind::vgpu;
    std::string name;    // "NVIDIA H200", "virtual GPU"
    std::string target;  // "sm_90"
    bool measures_time = false;
    bool integrated = false;  // shares memory with the host
    uint32_t sm_count = 0;
    uint32_t max_threads_per_block = 1024;
    uint32_t max_threads_per_sm = 2048;
    uint32_t max_blocks_per_sm = 32;
    uint32_t max_shared_bytes = 0;  // a block, after opting in
    uint32_t shared_bytes_per_sm = 0;
    uint32_t registers_per_sm = 65536;
    uint32_t max_cluster_blocks = 8;
    uint32_t clock_mhz = 0;  // at which SMs run under load; 0 where unknown
    uint64_t l2_bytes = 0;
    uint64_t memory_bytes = 0;
    double memory_bytes_per_ns = 0;  // theoretical peak bandwidth (1 byte/ns = 1 GB/s); 0 where unknown
    std::string driver;              // version, "" for vgpu
    std::string uuid;                // "GPU-8f3c…" as nvidia-smi has it, "" for vgpu
    int ordinal = 0;                 // among the GPUs that the driver shows
};

using BufferId = uint32_t;
using ModuleId = uint32_t;

/// Bytes of a buffer.
struct Region {
    BufferId buffer = 0;
    uint64_t offset_bytes = 0, bytes = 0;
};

/// At which end of a buffer there is nothing: no page is mapped there, so that even a read beyond it faults (cuda).
enum class Guard { after, before };

/// How a TMA descriptor over a buffer is to be built (cuTensorMapEncodeTiled); dims and box innermost first.
struct TensorMap {
    BufferId buffer = 0;
    std::string dtype;
    std::vector<uint64_t> dims;
    std::vector<uint64_t> strides_bytes;  // of dims 1…; empty: dense
    std::vector<uint32_t> box;
    uint32_t swizzle = 0;                   // 0, 32, 64, 128
    std::vector<uint32_t> element_strides;  // empty: 1
    bool nan_fill = false;                  // elements out of bounds are NaN, else zero
    uint64_t offset_bytes = 0;              // of its first element in the buffer
};

/// One kernel argument, resolved: a buffer's address plus offset, bytes as they stand, or a tensor map.
struct Argument {
    enum class Kind { buffer, value, tensor_map } kind = Kind::value;
    BufferId buffer = 0;
    uint64_t offset_bytes = 0;
    std::vector<std::byte> value;
    std::shared_ptr<const TensorMap> tensor_map;
};

/// One launch, every expression resolved.
struct Launch {
    ModuleId module = 0;
    std::string entry;
    Dim3 grid, block, cluster{1, 1, 1};
    uint32_t shared_bytes = 0;  // dynamic
    bool cooperative = false;
    bool programmatic = false;  // programmatic dependent launch: may start before its predecessor has ended
    std::vector<Argument> arguments;
    std::shared_ptr<const MatrixProduct> product;  // a library's in place of a kernel: the arguments are its left,
                                                   // right, result and workspace, all buffers
};

/// What became of one run of launches.
struct Execution {
    Outcome outcome =
        Outcome::correct;  // correct here means: completed; else faulted, timed_out, unsupported, launch_refused
    std::vector<Report> reports;
    std::string log;                           // "unsupported: opcode at line", the driver's words …
    std::string printed;                       // what the kernels printed with printf
    std::shared_ptr<const Counters> counters;  // vgpu only
    std::vector<BufferId> stored;              // of RunOptions::inputs those that something was stored to (vgpu only)
    double gpu_ns = 0;                         // from the first launch to the end of the last by events; 0: unknown
};

struct RunOptions {
    double deadline_s = 60;  // wall clock; past it the outcome is timed_out
    uint64_t schedule = 0;   // vgpu: seed that permutes warp and block order; 0: natural order
    bool checks = true;      // vgpu: all checks on
    bool count = true;       // vgpu: counters on
    bool noise = false;      // cuda: work of our own in a stream beside it, which disturbs the order of its blocks
    std::vector<BufferId> inputs{};  // vgpu: no launch may store to these, not even the bytes that they hold
};

/// What every run of a timed sequence must leave in a region.
struct TimedOutput {
    Region region;
    uint64_t hash = 0;               // as Device::hashes gives it
    std::optional<Region> original;  // of a tensor written in place: what the region holds before a run; else poison
};

/// What to time: `sequences[i]` is one complete run of the candidate on buffer set i (rotated between samples).
struct TimingRequest {
    std::vector<std::vector<Launch>> sequences;
    uint32_t samples = 30;
    uint32_t warmups = 3;
    uint32_t runs_per_sample =
        1;  // > 1: so many runs, on successive buffer sets, in one graph; times are divided by it
    std::vector<BufferId> cleared;  // set to zero before every run, inside the timed span (scratch … zeroed)
    double deadline_s = 60;
    // Between the samples, outside of the timed spans: the outputs of every run of the sample are hashed and wiped, and
    // workspace is poisoned, so that no run finds what an earlier one left.
    std::vector<std::vector<TimedOutput>> outputs;  // one list a sequence, or none at all: nothing is checked
    std::vector<BufferId> poisoned;
    std::byte poison{0xff};
    bool cold = true;  // the L2 is emptied of what checking left there; false: times of warm data are wanted
};

struct Timing {
    Outcome outcome = Outcome::correct;  // correct: samples are there; wrong: a run left other outputs than it must
    std::vector<double> samples_ns;      // time of one run, each sample
    std::vector<double> clock_mhz;       // SM clock seen beside each sample; may be empty
    std::string method;                  // "graph of 20 runs" …
    std::string log;
    uint64_t checked_runs = 0;               // whose outputs were compared with what was wanted
    std::optional<uint32_t> wrong_sequence;  // the first that left something else, which still lies there
};

/// The process that held a device's buffers and modules is gone: their ids stand for nothing any more.
class DeviceLost : public Error {
 public:
    using Error::Error;
};

/// The device does not work any more, not in a fresh process either.
class DeviceWedged : public Error {
 public:
    using Error::Error;
};

class Device {
 public:
    virtual ~Device() = default;

    virtual const DeviceInfo& info() const = 0;

    /// A new buffer at a random multiple of 256 bytes within guard bands; contents uninitialised. `name` is what
    /// reports call it.
    virtual BufferId allocate(std::string name, uint64_t bytes) = 0;
    /// The same with nothing behind, or before, its first or last byte: at the end that `guard` names the next address
    /// is unmapped, but for the bytes that its beginning at a multiple of 256 leaves over. Where the device cannot do
    /// that, or checks every access anyway, as `allocate`.
    virtual BufferId allocate_guarded(std::string name, uint64_t bytes, Guard guard);
    virtual void free(BufferId buffer) = 0;
    /// Copies bytes into the buffer at `offset_bytes`; they count as initialised from then on.
    virtual void write(BufferId buffer, uint64_t offset_bytes, std::span<const std::byte> bytes) = 0;
    /// Copies bytes out, written by anybody or not.
    virtual void read(BufferId buffer, uint64_t offset_bytes, std::span<std::byte> bytes) = 0;
    /// Fills with one byte value. As `poison` the bytes count as uninitialised for the checks (vgpu).
    virtual void fill(BufferId buffer, std::byte value, bool poison) = 0;
    /// hash_of (device/hash.h) of each region, which begins at a multiple of 8 bytes: made where the bytes lie.
    virtual std::vector<uint64_t> hashes(std::span<const Region> regions);

    /// Loads a binary; throws Error naming the driver's or parser's reason when it cannot be loaded at all.
    virtual ModuleId load(const Binary& binary) = 0;
    virtual void unload(ModuleId module) = 0;

    /// Runs the launches in order and waits for them.
    virtual Execution run(std::span<const Launch> launches, const RunOptions& options = {}) = 0;

    /// How a library would compute the product (whose own algorithm does not count). Throws Error where the device has
    /// no such library or it cannot be used.
    virtual ProductAlgorithms product_algorithms(const MatrixProduct& product, uint32_t most,
                                                 uint64_t workspace_limit) {
        (void)product, (void)most, (void)workspace_limit;
        throw Error("there is no cuBLASLt on this device");
    }

    /// Times sequences; only where info().measures_time.
    virtual Timing time(const TimingRequest& request) = 0;

    /// Begins anew in a fresh process where the device has one: buffers and modules are gone as with DeviceLost.
    virtual void renew() {}
};

}  // namespace recuda

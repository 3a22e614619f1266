// Measuring and comparing, on the virtual GPU with a clock of our own: what a real GPU adds is in tests/gpu.
#include "judge/benchmark.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/process.h"
#include "build/builder.h"
#include "device/limits.h"
#include "device/vgpu/vgpu.h"
#include "judge/canaries.h"
#include "judge/judge.h"
#include "judge/peaks.h"
#include "judge/proof_verdict.h"
#include "judge/reference.h"
#include "judge/ring.h"
#include "judge/session.h"
#include "judge/timed_device_test_support.h"
#include "task/catalogue.h"
#include "task/op.h"

namespace recuda {
namespace {

class BenchmarkTest : public ::testing::Test {
 protected:
    BenchmarkTest()
        : builder_(make_builder({.workers = 2,
                                 .cache_folder = (folder_.path() / "builds").string(),
                                 .worker_command = {this_program(), "compile-worker"}})),
          catalogue_(RECUDA_SOURCE_DIR) {
        write_atomically(folder_.path() / "small.toml", R"(
family = "small"
model = "none"
[rmsnorm]
op = "rmsnorm"
axes = { H = 264 }
scalars = { eps = 1e-5 }
verify = { T = [1, 3] }
bench = { T = [1, 4] }
[add_rmsnorm]
op = "add_rmsnorm"
axes = { H = 264 }
scalars = { eps = 1e-5 }
verify = { T = [1] }
bench = { T = [2] }
[router]
op = "sigmoid_topk_router"
axes = { E = 32, K = 4 }
scalars = { scale = 2.5 }
verify = { T = [1] }
bench = { T = [2] }
)");
    }

    Task task(const std::string& name) {
        return catalogue_.task((folder_.path() / "small.toml").string() + "#" + name);
    }

    /// Judged whole, and proven where it is right and there are baselines.
    Evaluation judged(const std::string& task_name, const std::string& seed, double ns_an_instruction,
                      std::vector<std::string> baselines = {"plain", "reference"},
                      decltype(TimedDevice::after_run) after_run = {}) {
        const Task one = task(task_name);
        auto device = std::make_unique<TimedDevice>(make_vgpu(), ns_an_instruction);
        device->after_run = std::move(after_run);
        const Candidate candidate = candidate_from(
            one.op->folder / "seeds" / seed, std::vector<Axes>{one.verify[0], one.bench[0]}, limits_of(device->info()));
        const std::unique_ptr<Evaluator> judge =
            make_judge(one, std::move(device), *builder_,
                       {.seed = 7,
                        .baselines = std::move(baselines),
                        .fitness_file = folder_.path() / "proofs.json",
                        .proof = {.sessions = 4, .blocks = 2, .block_pairs = 2, .warmup_pairs = 1}});
        Evaluation whole;
        judge->evaluate(std::span(&candidate, 1), Depth::whole, {}, [&](Evaluation done) { whole = std::move(done); });
        if (whole.outcome != Outcome::correct) return whole;
        std::optional<Evaluation> proven = judge->prove(candidate, whole, {1, {}, {}});
        return proven ? *proven : whole;
    }

    TemporaryFolder folder_;
    std::unique_ptr<Builder> builder_;
    Catalogue catalogue_;
};

TEST_F(BenchmarkTest, MeasuresAndProves) {
    const Evaluation screened = judged("rmsnorm", "vector.cu", 100, {});
    ASSERT_EQ(screened.measurements.size(), 2u);
    EXPECT_EQ(screened.measurements[0].samples_ns.size(), 30u);
    EXPECT_TRUE(screened.comparisons.empty()) << "what is not proven is not claimed";
    const Evaluation evaluation = judged("rmsnorm", "vector.cu", 100);
    ASSERT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
    EXPECT_FALSE(evaluation.estimate) << "what has a time has no estimate";
    ASSERT_EQ(evaluation.measurements.size(), 2u);
    const Measurement& first = evaluation.measurements[0];
    EXPECT_EQ(first.axes.at("T"), 1);
    EXPECT_EQ(first.samples_ns.size(), 4u * 2 * 2) << "those of the proof";
    EXPECT_GT(first.median_ns, 0);
    EXPECT_EQ(first.bytes, 2 * 3 * 264);
    EXPECT_NEAR(first.bytes_per_ns, 2 * 3 * 264 / first.median_ns, 1e-9);
    ASSERT_TRUE(first.share_of_peak);
    EXPECT_NEAR(*first.share_of_peak, first.bytes_per_ns / 1.0, 1e-9) << "this memory moves one byte a nanosecond";
    EXPECT_EQ(first.clock_mhz, 1980);
    EXPECT_NE(first.method.find("cold"), std::string::npos) << first.method;
    EXPECT_NE(first.method.find("10 inputs in turn"), std::string::npos) << first.method;
    EXPECT_EQ(first.unstable, "");
    EXPECT_EQ(first.floor_of, "memory");
    EXPECT_GE(first.median_ns, first.floor_ns);
    EXPECT_EQ(first.warm_samples_ns.size(), 10u);
    ASSERT_TRUE(first.warm_ns);
    EXPECT_NEAR(*first.warm_ns, first.median_ns, 1) << "this clock knows no cache";
    ASSERT_TRUE(evaluation.median_ns);
    EXPECT_NEAR(*evaluation.median_ns, std::sqrt(first.median_ns * evaluation.measurements[1].median_ns), 1e-6);
    ASSERT_EQ(evaluation.comparisons.size(), 6u) << evaluation.verdict.log;
    EXPECT_EQ(evaluation.comparisons[0].baseline, "plain");
    EXPECT_TRUE(evaluation.comparisons[0].axes.empty());
    EXPECT_EQ(evaluation.comparisons[3].baseline, "reference");
    for (const Comparison& comparison : evaluation.comparisons) {
        EXPECT_EQ(comparison.outcome, Comparing::faster) << comparison.baseline;
        EXPECT_GT(comparison.low, 1);
        EXPECT_LE(comparison.low, comparison.ratio);
        EXPECT_TRUE(comparison.proof);
        EXPECT_NE(comparison.evidence.find("proof: 4 sessions of 4 pairs, SM clock 1980 to 1980 MHz"),
                  std::string::npos)
            << comparison.evidence;
        EXPECT_EQ(comparison.ships.has_value(), comparison.axes.empty());
    }
    EXPECT_TRUE(*evaluation.comparisons[0].ships);
    ASSERT_EQ(evaluation.proofs.size(), 2u);
    std::set<uint64_t> seeds;
    for (const ProofSession& session : evaluation.proofs[0].workloads.at(0).sessions) seeds.insert(session.seed);
    EXPECT_EQ(seeds.size(), 4u) << "fresh inputs each";
    EXPECT_FALSE(seeds.contains(7));
    EXPECT_NE(read_file(folder_.path() / "proofs.json").find("\"since_test\": 2"), std::string::npos);
    ASSERT_EQ(evaluation.baseline_measurements.size(), 4u);
    const BaselineMeasurement& plain = evaluation.baseline_measurements[0];
    EXPECT_EQ(plain.baseline, "plain");
    EXPECT_EQ(plain.measurement.axes, first.axes);
    EXPECT_EQ(plain.measurement.samples_ns.size(), 16u);
    EXPECT_EQ(plain.candidate_samples_ns.size(), 16u);
    EXPECT_NEAR(plain.measurement.median_ns / first.median_ns, evaluation.comparisons[1].ratio, 1e-9);
    EXPECT_TRUE(plain.measurement.share_of_peak);
}

TEST_F(BenchmarkTest, MeasuresThePeaksOfMemory) {
    TimedDevice device(make_vgpu(), 100);
    const Peaks peaks = measure_peaks(device, *builder_, "sm_90");
    EXPECT_EQ(peaks.problem, "");
    EXPECT_EQ(peaks.read.bytes, 16u * 64 << 10) << "16 times the L2";
    EXPECT_EQ(peaks.copy.bytes, 2u * 16 * 64 << 10) << "read and written";
    for (const Bandwidth* bandwidth : {&peaks.read, &peaks.copy}) {
        EXPECT_DOUBLE_EQ(bandwidth->bytes_per_ns, 1);
        EXPECT_EQ(bandwidth->samples_ns.size(), 15u);
        EXPECT_EQ(bandwidth->clock_mhz, 1980);
    }
    EXPECT_DOUBLE_EQ(peaks.bytes_per_ns(), 1);
    EXPECT_EQ(to_json(peaks).at("read").at("samples_ns").size(), 15u);
    EXPECT_EQ(peaks.mma.problem, "");
    EXPECT_DOUBLE_EQ(peaks.mma.flops, 2.0 * 64 * 256 * 16 * 4 * 2 * 256 * device.info().sm_count);
    EXPECT_DOUBLE_EQ(peaks.mma.flops_per_ns, peaks.mma.flops / 1e5);
    EXPECT_DOUBLE_EQ(peaks.most_flops_per_ns(16), peaks.mma.flops_per_ns);
    EXPECT_DOUBLE_EQ(peaks.most_flops_per_ns(8), 2 * peaks.mma.flops_per_ns);
    EXPECT_EQ(to_json(peaks).at("mma").at("instruction"), "wgmma m64n256k16 of bf16");
}

TEST_F(BenchmarkTest, WithoutAClockOrACompilerThereAreNoPeaks) {
    const std::unique_ptr<Device> untimed = make_vgpu();
    EXPECT_EQ(measure_peaks(*untimed, *builder_, "sm_90").bytes_per_ns(), 0);
    TimedDevice device(make_vgpu(), 100);
    const Peaks peaks = measure_peaks(device, *builder_, "sm_1");
    EXPECT_EQ(peaks.bytes_per_ns(), 0);
    EXPECT_NE(peaks.problem.find("sm_1"), std::string::npos) << peaks.problem;
}

TEST_F(BenchmarkTest, PlainEqualsItself) {
    const Evaluation evaluation = judged("rmsnorm", "plain.cu", 100, {"plain"});
    ASSERT_EQ(evaluation.comparisons.size(), 3u) << evaluation.verdict.log;
    for (const Comparison& comparison : evaluation.comparisons) EXPECT_EQ(comparison.outcome, Comparing::equivalent);
}

TEST_F(BenchmarkTest, AMachineIsTestedWithAKernelAgainstItsCopy) {
    const Task one = task("rmsnorm");
    Session session(one, std::make_unique<TimedDevice>(make_vgpu(), 100), *builder_,
                    {.seed = 7,
                     .baselines = {},
                     .axes = {axes_from_text(one, "T=2")},
                     .proof = {.sessions = 4, .blocks = 2, .block_pairs = 2, .warmup_pairs = 1}});
    const std::optional<Proof> proof = session.self_test({});
    ASSERT_TRUE(proof);
    const std::vector<Comparison> comparisons = comparisons_of(*proof);
    ASSERT_EQ(comparisons.size(), 2u);
    EXPECT_EQ(comparisons[0].baseline, "plain");
    EXPECT_EQ(comparisons[0].outcome, Comparing::equivalent);
    std::stop_source stopped;
    stopped.request_stop();
    EXPECT_FALSE(session.self_test(stopped.get_token()));
}

TEST_F(BenchmarkTest, RanksByTimeAndLeavesOutWhatFails) {
    const Task one = task("rmsnorm");
    auto device = std::make_unique<TimedDevice>(make_vgpu(), 100);
    const DeviceLimits limits = limits_of(device->info());
    std::vector<Candidate> candidates;
    for (const char* seed : {"plain.cu", "vector.cu"})
        candidates.push_back(candidate_from(one.op->folder / "seeds" / seed, one.bench, limits));
    const KernelFile plain = read_kernel_file(one.op->folder / "seeds" / "plain.cu");
    candidates.push_back(make_candidate(
        std::make_shared<const KernelFile>(parse_kernel_file(plain.text + "#error no\n", "no.cu", Language::cuda)),
        {}));
    const std::unique_ptr<Evaluator> judge =
        make_judge(one, std::move(device), *builder_, {.seed = 7, .axes = {one.bench[0]}});
    EXPECT_EQ(judge->rank(candidates, std::vector<double>{100, 100, 100}, {}), (std::vector<size_t>{1, 0}));
    EXPECT_EQ(judge->rank(candidates, std::vector<double>{100, 300, 100}, {}), (std::vector<size_t>{0}));
}

TEST_F(BenchmarkTest, TensorsInPlaceAndAuxiliariesOfAReference) {
    for (const char* name : {"add_rmsnorm", "router"}) {
        const Evaluation evaluation = judged(name, "vector.cu", 100);
        EXPECT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
        EXPECT_EQ(evaluation.comparisons.size(), 4u) << evaluation.verdict.log;
    }
}

TEST_F(BenchmarkTest, FasterThanTheMemoryIsImpossible) {
    const Evaluation evaluation = judged("rmsnorm", "plain.cu", 0);
    EXPECT_EQ(evaluation.outcome, Outcome::impossible);
    EXPECT_FALSE(evaluation.median_ns);
    EXPECT_NE(evaluation.verdict.log.find("than at 1 GB/s measured"), std::string::npos) << evaluation.verdict.log;
}

/// Adds `by` to the last byte of the first output of the run `wanted`th of all.
decltype(TimedDevice::after_run) disturbing(int wanted, unsigned by, uint64_t from_end) {
    return [wanted, by, from_end, run = 0](Device& device, const TimingRequest& request, size_t sequence) mutable {
        if (request.outputs.empty() || request.outputs[sequence].empty() || run++ != wanted) return;
        const Region& region = request.outputs[sequence][0].region;
        std::byte byte{};
        device.read(region.buffer, region.offset_bytes + region.bytes - from_end, std::span(&byte, 1));
        byte ^= std::byte(by);
        device.write(region.buffer, region.offset_bytes + region.bytes - from_end, std::span(&byte, 1));
    };
}

TEST_F(BenchmarkTest, OneWrongRunOfManyIsFound) {
    for (const int run : {0, 150}) {
        const Evaluation evaluation = judged("rmsnorm", "plain.cu", 100, {}, disturbing(run, 0x40, 1));
        EXPECT_EQ(evaluation.outcome, Outcome::wrong) << run;
        EXPECT_TRUE(evaluation.verdict.log.starts_with("in a timed run: ")) << evaluation.verdict.log;
        EXPECT_NE(evaluation.verdict.log.find("y[0, 263]"), std::string::npos) << evaluation.verdict.log;
    }
}

TEST_F(BenchmarkTest, OtherBitsAreJudgedByValue) {
    const Evaluation evaluation = judged("rmsnorm", "plain.cu", 100, {}, disturbing(17, 0x01, 2));
    ASSERT_EQ(evaluation.outcome, Outcome::correct) << evaluation.verdict.log;
    EXPECT_NE(evaluation.measurements[0].method.find("judged: its results are not the same bits each time"),
              std::string::npos)
        << evaluation.measurements[0].method;
}

TEST_F(BenchmarkTest, UnknownBaselineIsWrongUsage) {
    EXPECT_THROW(judged("rmsnorm", "plain.cu", 100, {"plian"}), UsageError);
}

TEST(Canaries, ARoundThatDeviatesVoidsTheSession) {
    using Rounds = std::vector<CanaryTimes>;
    EXPECT_EQ(canary_deviation({}), "");
    EXPECT_EQ(canary_deviation(Rounds{{100, 200}, {102, 196}, {99, 205}}), "");
    EXPECT_EQ(canary_deviation(Rounds{{100, 0}, {102, 0}}), "") << "a card without a matrix kernel";
    EXPECT_EQ(canary_deviation(Rounds{{60000, 200}, {63000, 200}, {60000, 200}}),
              "the memory canary took 63.0 us in round 2 of 3, +5.0 % from the session's 60.0 us");
    EXPECT_NE(canary_deviation(Rounds{{100, 200}, {100, 200}, {100, 180}}).find("compute canary"), std::string::npos);
    EXPECT_EQ(canary_deviation(Rounds{{100, 200}, {100, 200}, {100, 180}}, 0.2), "");
}

/// A program without anything built, as a library's product is one.
struct BareProgram : LoadedProgram {
    explicit BareProgram(Device& device) : LoadedProgram(device, Compilation()) {}
};

// What was measured is kept by serial: two programs with one number got each other's right outputs.
TEST(LoadedProgram, EveryKindHasANumberOfItsOwn) {
    const std::unique_ptr<Device> device = make_vgpu();
    std::set<uint64_t> serials;
    alignas(BareProgram) std::array<std::byte, sizeof(BareProgram)> place;
    for (const std::byte before : {std::byte{0}, std::byte{0}, std::byte{0xff}, std::byte{0xff}}) {
        place.fill(before);
        auto* const program = new (place.data()) BareProgram(*device);
        serials.insert(program->serial());
        program->~BareProgram();
    }
    serials.insert(LoadedProgram(*device, {}, {}, limits_of(device->info())).serial());
    EXPECT_EQ(serials.size(), 5u);
}

TEST_F(BenchmarkTest, RingTurnsThroughMoreThanTheCache) {
    const Task one = task("rmsnorm");
    const std::unique_ptr<Device> device = make_vgpu();
    const Axes& axes = one.bench[1];
    const InputContents first = make_inputs(one, axes, Battery::normal, 3),
                        second = make_inputs(one, axes, Battery::normal, 4);
    Ring ring(one, *device, axes, {&first, &second}, 64 << 10);
    EXPECT_TRUE(ring.is_cold());
    EXPECT_GE(ring.sets() * 264 * 2 * 9, 3u * 64 << 10);
    EXPECT_EQ(ring.take(3), 0u);
    EXPECT_EQ(ring.take(ring.sets() - 2), 3u);
    EXPECT_EQ(ring.take(1), 1u);
    EXPECT_EQ(ring.sets() % 2, 0u) << "neighbours differ at the ring's end too";
    std::vector<std::byte> seen(first.at("x").bytes.size());
    std::set<uint64_t> places;
    for (size_t set = 0; set < ring.sets(); ++set) {
        const Place place = ring.places(set).at("x");
        EXPECT_EQ(place.offset_bytes % 256, 0u);
        places.insert(place.offset_bytes);
        device->read(place.buffer, place.offset_bytes, seen);
        EXPECT_EQ(seen, (set % 2 == 0 ? first : second).at("x").bytes) << set;
        EXPECT_EQ(ring.places(set + ring.sets()).at("x").offset_bytes, place.offset_bytes);
    }
    EXPECT_EQ(places.size(), ring.sets());
    EXPECT_EQ(ring.changed_input(), "");
    const Place place = ring.places(1).at("w");
    device->write(place.buffer, place.offset_bytes, std::array{std::byte{1}, std::byte{2}});
    EXPECT_EQ(ring.changed_input(), "a timed run overwrote the input w");
}

}  // namespace
}  // namespace recuda

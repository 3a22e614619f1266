#include "judge/selftest_attacks.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "build/builder.h"
#include "judge/acceptance.h"
#include "judge/scripted_clock.h"
#include "judge/selftest_cases.h"
#include "judge/session.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;
using ClockNs = std::function<double(const ClockedRun&)>;

constexpr double kHonestNs = 2000;
constexpr uint64_t kSeed = 29;  // of noise and inputs: an attack ends the same way each time

std::string right_kernel(const AttackTools& tools) {
    return read_file(tools.catalogue.home() / "selftest" / "right" / "rmsnorm.cu", 1 << 20);
}

Candidate candidate_of(const std::string& text) {
    return make_candidate(std::make_shared<const KernelFile>(parse_kernel_file(text, "rmsnorm.cu", Language::cuda)),
                          {});
}

/// One session of the judge by a clock that an attacker made, with the plain seed as baseline.
class Attacked {
 public:
    Attacked(const AttackTools& tools, ClockNs clock)
        : builder_(tools.builder),
          session_(tools.catalogue.task(selftest_tasks(tools.catalogue.home()).string() + "#rmsnorm"),
                   with_scripted_clock(tools.make_device(DeviceKind::vgpu), std::move(clock)), tools.builder,
                   {.seed = kSeed,
                    .baselines = {"plain"},
                    .axes = {{{"H", 264}, {"T", 1}}, {{"H", 264}, {"T", 8}}},
                    .count = false,
                    .fitness_file = folder_.path() / "proofs.json",
                    .proof = {.sessions = 6, .blocks = 4}}) {}

    Evaluation judge(const std::string& kernel) {
        const Candidate candidate = candidate_of(kernel);
        return session_.judge(candidate, built(candidate), Depth::whole, true, {}).evaluation;
    }

    /// With the comparisons of a proof, as the winner of a run gets them.
    Evaluation prove(const std::string& kernel, Evaluation whole) {
        return session_.prove(std::move(whole), built(candidate_of(kernel)), {.stop = {}, .progress = {}}).value();
    }

 private:
    Built built(const Candidate& candidate) {
        std::vector<Order> orders;
        orders.push_back(session_.order(candidate, Depth::whole));
        return std::move(build_all(builder_, std::move(orders)).front());
    }

    TemporaryFolder folder_;
    Builder& builder_;
    Session session_;
};

bool is_peak(const ClockedRun& run) { return run.launches.front().entry.starts_with("peak_"); }

/// The peaks of the card must not be what stops an attack: its memory seems to be very fast.
double honest_ns(const ClockedRun& run) { return is_peak(run) ? 1 : kHonestNs; }

bool has_eight_rows(const ClockedRun& run) { return run.launches.front().grid.x == 8; }

/// What the proof says of all workloads together.
Comparing claimed(const Evaluation& proven) { return proven.comparisons.at(0).outcome; }

/// One time of zero makes a geometric mean zero, whatever the other times are.
std::string zero_time(const AttackTools& tools) {
    const Evaluation evaluation = Attacked(tools, [](const ClockedRun& run) {
                                      return has_eight_rows(run) ? 0 : honest_ns(run);
                                  }).judge(right_kernel(tools));
    if (evaluation.outcome == Outcome::correct) return "";
    return fmt::format("{}: {}", name(evaluation.outcome), one_line(evaluation.verdict.log, 120));
}

/// A shape whose time is not a number, in the hope that it is left out of the mean.
std::string missing_shape(const AttackTools& tools) {
    const Evaluation evaluation = Attacked(tools, [](const ClockedRun& run) {
                                      return has_eight_rows(run) ? std::nan("") : honest_ns(run) / 4;
                                  }).judge(right_kernel(tools));
    if (evaluation.outcome == Outcome::correct) return "";
    return fmt::format("{}: {}", name(evaluation.outcome), one_line(evaluation.verdict.log, 120));
}

/// The card slows down while the session lasts, so that who is measured later looks slower.
std::string slowed_baseline(const AttackTools& tools) {
    double slow = 1;
    Attacked attacked(tools, [&](const ClockedRun& run) {
        slow *= 1.001;
        return slow * honest_ns(run);
    });
    const std::string kernel = right_kernel(tools);
    const Evaluation proven = attacked.prove(kernel, attacked.judge(kernel));
    if (proven.outcome != Outcome::correct || claimed(proven) == Comparing::faster) return "";
    return fmt::format("candidate and baseline take turns: {}", name(claimed(proven)));
}

/// Many equal kernels: the luckiest must not be called faster.
std::string clone_spam(const AttackTools& tools) {
    constexpr int kClones = 16;
    Rng noise(kSeed);
    Attacked attacked(tools, [&](const ClockedRun& run) { return honest_ns(run) * (1 + 0.02 * noise.normal()); });
    std::string luckiest;
    Evaluation best;
    for (int i = 0; i < kClones; ++i) {
        const std::string clone = right_kernel(tools) + fmt::format("\nconstexpr int kClone = {};\n", i);
        Evaluation evaluation = attacked.judge(clone);
        if (evaluation.outcome != Outcome::correct) return "";
        if (luckiest.empty() || ranks_before(evaluation, best)) luckiest = clone, best = std::move(evaluation);
    }
    const Comparing outcome = claimed(attacked.prove(luckiest, best));
    if (outcome == Comparing::faster) return "";
    return fmt::format("the luckiest of {} clones is proven {}", kClones, name(outcome));
}

/// The one file below the folder.
fs::path only_file(const fs::path& folder) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) return entry.path();
    throw Error("nothing was kept in {}", shown(folder));
}

/// Builds the right kernel, puts the binary of another kernel in its place in the cache, and builds it again.
std::string swapped_binary(const AttackTools& tools) {
    const TemporaryFolder folder;
    const auto built = [&](const char* cache, const std::string& text) {
        BuildRequest request{.source = text, .file = "rmsnorm.cu", .target = "sm_90", .defines = {{"H", "264"}}};
        request.cubin = false;
        const std::unique_ptr<Builder> builder =
            make_builder({.workers = 1, .cache_folder = (folder.path() / cache).string()});
        BuildResult result = builder->build(request);
        if (result.outcome != Outcome::correct) throw Error("rmsnorm.cu is {}: {}", name(result.outcome), result.log);
        return std::move(result.binaries.front().ptx);
    };
    const std::string right = right_kernel(tools);
    std::string faster = right;
    faster.replace(faster.find("i < H"), 5, "i < 1");
    const std::string ptx = built("right", right);
    (void)built("other", faster);
    fs::copy_file(only_file(folder.path() / "other"), only_file(folder.path() / "right"),
                  fs::copy_options::overwrite_existing);
    if (built("right", right) != ptx) return "";
    if (candidate_of(faster).digest == candidate_of(right).digest) return "";
    return "the cache's digest covers the key: the kernel was built again; an edited file has another digest";
}

/// Every single element of outputs of odd shapes, wrong by one: a check that visits a part of them would miss some.
std::string unvisited_element(const AttackTools&) {
    Rng random(kSeed);
    size_t visited = 0;
    for (const Shape& shape : {Shape{1, 1}, Shape{1, 7}, Shape{5, 37}, Shape{3, 257}}) {
        std::vector<double> right(static_cast<size_t>(shape[0] * shape[1]));
        for (double& value : right) value = std::round(random.normal() * 4) / 4;
        Tensor exact(DType::f32, shape);
        for (size_t i = 0; i < right.size(); ++i) exact.as<float>()[i] = static_cast<float>(right[i]);
        const Expected rounded = expect("y", DType::bf16, shape, right, true),
                       bitwise = expect("y", DType::f32, shape, right, false);
        if (!compare(rounded, right, nullptr).right() || !compare_exactly(bitwise, exact).right()) return "";
        for (size_t i = 0; i < right.size(); ++i, ++visited) {
            std::vector<double> wrong = right;
            wrong[i] += 1;
            Tensor wrong_bits = exact;
            wrong_bits.as<float>()[i] += 1;
            if (compare(rounded, wrong, nullptr).right() || compare_exactly(bitwise, wrong_bits).right()) return "";
        }
    }
    return fmt::format("each of {} elements of 4 shapes, wrong alone, is found by both comparisons", visited);
}

/// NaN compares false with everything: neither side's may stand for a number.
std::string nan_wildcard(const AttackTools&) {
    for (const double special : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        std::vector<double> numbers(64, 1.0), one_special = numbers;
        one_special[40] = special;
        for (const auto& [wanted, seen] : {std::pair(numbers, one_special), std::pair(one_special, numbers)})
            if (compare(expect("y", DType::bf16, {8, 8}, wanted, true), seen, nullptr).right()) return "";
        if (!compare(expect("y", DType::bf16, {8, 8}, one_special, true), one_special, nullptr).right()) return "";
    }
    return "criterion special: NaN and infinities stand where the reference has them, on both sides";
}

const std::map<std::string, std::string (*)(const AttackTools&), std::less<>> kAttacks{
    {"zero_time", zero_time},       {"missing_shape", missing_shape},   {"slowed_baseline", slowed_baseline},
    {"clone_spam", clone_spam},     {"swapped_binary", swapped_binary}, {"unvisited_element", unvisited_element},
    {"nan_wildcard", nan_wildcard},
};

}  // namespace

std::string run_attack(const std::string& name, const AttackTools& tools) {
    const auto found = kAttacks.find(name);
    if (found == kAttacks.end()) {
        std::vector<std::string> names;
        for (const auto& [known, attack] : kAttacks) names.push_back(known);
        throw Error("there is no attack {}{}", name, did_you_mean(name, names));
    }
    return found->second(tools);
}

}  // namespace recuda

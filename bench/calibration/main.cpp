// calibration: what the estimate of src/judge/estimate.h is fitted and judged by.
//
//   calibration count   [--only WORD] [--points N]   counts the corpus on the virtual GPU
//   calibration measure [--only WORD] [--points N]   times the corpus on a GPU
//   calibration estimate <VARIANTS                   what the estimate gives for kept variants, by its own constants
//   calibration fit <VARIANTS                        the same by constants fitted to all, and to each half of the ops
//
// All print one JSON object a line; the first of count and measure describes the device. bench/calibrate.py drives it.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/paths.h"
#include "calibration/fit.h"
#include "calibration/trial.h"
#include "device/cuda/cuda.h"
#include "device/vgpu/vgpu.h"
#include "judge/peaks.h"
#include "recuda_version.h"

namespace recuda::calibration {
namespace {

struct Words {
    std::string verb, only;
    TrialOptions options;
};

Words parse(std::span<char*> words) {
    Words parsed;
    if (words.size() < 2) throw UsageError("usage: calibration count|measure|estimate|fit [--only WORD] [--points N]");
    parsed.verb = words[1];
    for (size_t i = 2; i + 1 < words.size(); i += 2) {
        const std::string_view option = words[i];
        if (option == "--only")
            parsed.only = words[i + 1];
        else if (option == "--points")
            parsed.options.points = std::stoul(words[i + 1]);
        else
            throw UsageError("there is no option {}", option);
    }
    return parsed;
}

void print(const Json& record) {
    std::puts(dump(record).c_str());
    std::fflush(stdout);
}

Json environment(const Device& device, const Peaks& peaks) {
    const DeviceInfo& info = device.info();
    return {{"environment",
             {{"program", fmt::format("cuda-rlm {}", kVersion)},
              {"device", info.name},
              {"target", info.target},
              {"driver", info.driver},
              {"sm_count", info.sm_count},
              {"l2_bytes", info.l2_bytes},
              {"memory_peaks", to_json(peaks)}}}};
}

std::vector<Variant> read_variants() {
    std::vector<Variant> variants;
    for (std::string line; std::getline(std::cin, line);)
        variants.push_back(variant_from_json(parse_json(line, "a variant")));
    return variants;
}

void print_estimates(std::span<const Variant> variants, const EstimateConstants& constants,
                     const std::string& fitted_to) {
    print({{"constants", to_json(constants)}, {"fitted_to", fitted_to}});
    for (const Variant& variant : variants)
        print({{"id", variant.id}, {"fitted_to", fitted_to}, {"estimate", estimate_of(variant, constants)}});
}

/// Ops in the order of their names go to the first and the second half in turns.
int fit(std::span<const Variant> variants) {
    std::set<std::string> ops;
    for (const Variant& variant : variants) ops.insert(variant.op);
    std::vector<Variant> halves[2];
    for (const Variant& variant : variants)
        halves[std::distance(ops.begin(), ops.find(variant.op)) % 2].push_back(variant);
    print_estimates(variants, documented(), "nothing");
    print_estimates(variants, fitted(variants), "all");
    print_estimates(variants, fitted(halves[0]), "first half");
    print_estimates(variants, fitted(halves[1]), "second half");
    return 0;
}

int run(const Words& words) {
    if (words.verb == "estimate") return print_estimates(read_variants(), {}, "kept"), 0;
    if (words.verb == "fit") return fit(read_variants());
    const std::unique_ptr<Device> device = words.verb == "measure" ? make_cuda() : make_vgpu({.seed = 1});
    const std::unique_ptr<Builder> builder = make_builder();
    print(environment(*device, measure_peaks(*device, *builder, device->info().target)));
    const Corpus corpus = read_corpus(home_folder(), home_folder() / "bench" / "calibration");
    const auto wanted = [&](const std::string& name) { return name.find(words.only) != std::string::npos; };
    std::vector<Micro> micros;
    for (const Micro& micro : corpus.micros)
        if (wanted(micro.op)) micros.push_back(micro);
    if (!micros.empty()) try_micros(micros, *device, *builder, words.options, print);
    for (const TaskEntry& entry : corpus.tasks)
        if (wanted(entry.task.name)) try_task(entry, *device, *builder, words.options, print);
    return 0;
}

}  // namespace
}  // namespace recuda::calibration

/// The program is its own compile worker and its own GPU worker.
int main(int count, char** words) {
    using namespace recuda;
    const std::string_view verb = count > 1 ? words[1] : "";
    try {
        if (verb == "compile-worker") return serve_compile_worker();
        if (verb == "worker") return serve_cuda_worker(0);
        return calibration::run(calibration::parse({words, static_cast<size_t>(count)}));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "calibration: error: %s\n", error.what());
        return 1;
    }
}

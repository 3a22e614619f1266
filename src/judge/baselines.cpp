#include "judge/baselines.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "judge/cublaslt_baseline.h"
#include "judge/program_baseline.h"
#include "judge/torch_baseline.h"
#include "judge/triton_baseline.h"

namespace recuda {
namespace {

struct Known {
    std::string_view name;
    Offer (*offer)(const BaselineParts& parts);
};
constexpr std::array kKnown{
    Known{"plain", offer_plain},
    Known{"reference", offer_reference},
    Known{"cublaslt", offer_cublaslt},
    Known{"triton", offer_triton},
    Known{"torch-eager", offer_torch_eager},
    Known{"torch-eager-graph", offer_torch_eager_graph},
    Known{"torch-compile", offer_torch_compile},
    Known{"torch-compile-graph", offer_torch_compile_graph},
};
// Names of the design that this version does not have.
constexpr std::array<std::string_view, 2> kLater{"cutlass", "incumbent"};

const Known* known_named(std::string_view name) {
    const auto found = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& one) { return one.name == name; });
    return found == kKnown.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> baseline_names() {
    std::vector<std::string> names;
    for (const Known& known : kKnown) names.emplace_back(known.name);
    return names;
}

void check_baselines(std::span<const std::string> names) {
    const std::vector<std::string> there_are = baseline_names();
    for (const std::string& name : names) {
        if (known_named(name) != nullptr) continue;
        if (std::find(kLater.begin(), kLater.end(), name) != kLater.end())
            throw UsageError("the baseline {} is not in this version; there are {}", name, joined(there_are, ", "));
        throw UsageError("there is no baseline {}{}; there are {}", name, did_you_mean(name, there_are),
                         joined(there_are, ", "));
    }
}

void Baselines::open(const BaselineParts& parts) {
    made_.clear(), absent_.clear(), warnings_.clear();
    if (!parts.place.device.info().measures_time) {
        for (const std::string& name : names_) absent_.push_back({name, "this device measures no time"});
        // Whoever asked for nothing beyond the usual need not hear of it.
        if (!names_.empty() && names_ != std::vector<std::string>{"plain"})
            warnings_.push_back("this device measures no time: nothing is compared with " + joined(names_, ", "));
        return;
    }
    for (const std::string& name : names_) {
        Offer offer = known_named(name)->offer(parts);
        if (offer.baseline) {
            made_.push_back(std::move(offer.baseline));
        } else {
            warnings_.push_back(fmt::format("no baseline {}: {}", name, offer.why));
            absent_.push_back({name, std::move(offer.why)});
        }
    }
}

Json Baselines::record() const {
    Json all = Json::array();
    for (const auto& baseline : made_)
        all.push_back({{"name", baseline->name()}, {"used", true}, {"about", json_text(baseline->about())}});
    for (const Absent& absent : absent_)
        all.push_back({{"name", absent.name}, {"used", false}, {"about", json_text(absent.why)}});
    return all;
}

void Baselines::forget() {
    for (const auto& baseline : made_) baseline->forget();
}

void Baselines::renew() {
    for (const auto& baseline : made_) baseline->renew();
}

}  // namespace recuda

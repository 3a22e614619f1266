// The judge's proof of itself: runs the catalogue of cheats and faults (judge/selftest_cases.h) through the same
// sessions that candidates go through, and says what caught each.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "judge/selftest_cases.h"

namespace recuda {

class Builder;
class Catalogue;

struct SelftestResult {
    enum class Got { caught, missed, not_applicable };

    const SelftestCase* one = nullptr;
    Got got = Got::missed;
    bool accepted = false;  // of a right kernel, which is neither caught nor missed
    std::string by;         // outcome and check or criterion, of a caught one
    std::string why;        // of one that does not apply or was missed
    std::string device;     // "vgpu" or "cuda": where it was judged; "" for an attack on the judge's own functions
    double seconds = 0;     // of judging, not of building

    /// As it must be: a cheat caught, a right kernel accepted.
    bool good() const {
        if (one->kind == SelftestCase::Kind::right) return accepted || got == Got::not_applicable;
        return got != Got::missed || !one->catchable;
    }
};

std::string_view name(SelftestResult::Got got);

struct SelftestOptions {
    DeviceKind device = DeviceKind::vgpu;
    std::function<std::unique_ptr<Device>(DeviceKind)> make_device;
    std::string target;  // "": each device's own
    uint64_t seed = 0;
    std::stop_token stop;  // asked between cases; what was found so far comes back
    std::function<void(size_t done, size_t total, const SelftestCase& next)> progress;
};

/// Results in the order of the cases, which must outlive them. A right kernel is judged before and after all cases of
/// its task and accepted where it is correct both times.
std::vector<SelftestResult> run_selftest(std::span<const SelftestCase> cases, Catalogue& catalogue, Builder& builder,
                                         const SelftestOptions& options);

}  // namespace recuda

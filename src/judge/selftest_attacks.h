// Attacks on the judge's own functions: cheats on how results are added up, compared and kept, which no kernel can
// carry out by itself. They need no GPU: kernels run on the virtual one, and a scripted clock says how long.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/device.h"

namespace recuda {

class Builder;
class Catalogue;

struct AttackTools {
    Catalogue& catalogue;
    Builder& builder;
    std::function<std::unique_ptr<Device>(DeviceKind)> make_device;
};

/// Carries the attack out on this program's own functions. Returns what stopped it, "" where it had its effect. Throws
/// Error for a name that is no attack.
std::string run_attack(const std::string& name, const AttackTools& tools);

}  // namespace recuda

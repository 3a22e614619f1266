// Which device a command runs on: the only place that picks one.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace recuda {

class CommandLine;
class Device;
struct DeviceInfo;

struct DeviceChoice {
    std::string device = "auto";  // auto | vgpu | cuda | cuda:N
    std::string target;           // the architecture that vgpu stands for; "": sm_90
    uint64_t seed = 0;
    unsigned threads = 0;  // vgpu: host threads; 0: all cores

    /// Declares --device, --target and --seed.
    void declare(CommandLine& line);
};

/// Makes the device; `auto` takes a GPU where one works, else the virtual one, and says which on stderr.
/// Throws UsageError for a word that is no device, Error for a GPU that is not there.
std::unique_ptr<Device> make_device(const DeviceChoice& choice);

/// Makes virtual GPUs of one host thread that stand for a card, as its first filter; none for a device that is virtual
/// itself, or whose architecture is not known there.
std::function<std::unique_ptr<Device>()> filter_for(const DeviceInfo& card);

}  // namespace recuda

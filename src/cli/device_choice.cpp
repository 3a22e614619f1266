#include "cli/device_choice.h"

#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "device/cuda/cuda.h"
#include "device/device.h"
#include "device/vgpu/vgpu.h"

namespace recuda {
namespace {

constexpr std::string_view kDefaultTarget = "sm_90";

/// "sm_90", "sm_90a", "sm_120f".
bool is_target(std::string_view text) {
    if (!text.starts_with("sm_")) return false;
    int number = 0;
    const std::string_view digits = text.substr(3);
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const std::string_view suffix(end, static_cast<size_t>(digits.data() + digits.size() - end));
    return problem == std::errc() && number >= 80 && number < 200 && (suffix.empty() || suffix == "a" || suffix == "f");
}

std::unique_ptr<Device> make_virtual(const DeviceChoice& choice) {
    const std::string target = choice.target.empty() ? std::string(kDefaultTarget) : choice.target;
    if (!is_target(target))
        throw UsageError("--target takes an architecture from sm_80 on, such as sm_90, not `{}`", target);
    return make_vgpu({.target = target, .seed = choice.seed, .threads = choice.threads});
}

int ordinal_of(std::string_view device) {
    if (device == "cuda") return 0;
    const std::string_view digits = device.substr(5);
    int ordinal = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (digits.empty() || problem != std::errc() || end != digits.data() + digits.size() || ordinal < 0)
        throw UsageError("--device takes auto, vgpu, cuda or cuda:N, not `{}`", device);
    return ordinal;
}

}  // namespace

void DeviceChoice::declare(CommandLine& line) {
    line.option("--device", "auto|vgpu|cuda|cuda:N", device,
                "Where kernels run; auto: a GPU where one works, else the virtual GPU");
    line.option("--target", "sm_XX", target, "Architecture that the virtual GPU stands for (sm_90)");
    line.option("--seed", "N", seed, "Makes the command repeatable");
}

std::unique_ptr<Device> make_device(const DeviceChoice& choice) {
    if (choice.device == "vgpu") return make_virtual(choice);
    if (choice.device == "cuda" || choice.device.starts_with("cuda:"))
        return make_cuda({.ordinal = ordinal_of(choice.device)});
    if (choice.device != "auto") {
        const std::vector<std::string> known{"auto", "vgpu", "cuda"};
        throw UsageError("there is no device {}{}; --device takes auto, vgpu, cuda or cuda:N",
                         valid_utf8(choice.device), did_you_mean(choice.device, known));
    }
    const CudaSurvey survey = survey_cuda();
    if (!survey.devices.empty()) {
        tell(fmt::format("device cuda:0, {}", survey.devices[0].name));
        return make_cuda();
    }
    tell("device vgpu: no GPU works here; cuda-rlm inspect-env says why");
    return make_virtual(choice);
}

std::function<std::unique_ptr<Device>()> filter_for(const DeviceInfo& card) {
    if (card.kind == DeviceKind::vgpu || !is_target(card.target)) return nullptr;
    return [target = card.target] { return make_vgpu({.target = target, .threads = 1}); };
}

}  // namespace recuda

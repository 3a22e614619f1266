#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/process.h"
#include "base/text.h"
#include "device/cuda/cuda.h"
#include "device/cuda/wire.h"

namespace recuda {
namespace {

constexpr double kDeadlineS = 20;

CudaSurvey survey_from_json(const Json& json) {
    CudaSurvey survey;
    for (const Json& device : json.at("devices")) survey.devices.push_back(cuda::device_info_from_json(device));
    survey.driver_version = json.at("driver_version");
    survey.driver_path = json.at("driver_path");
    survey.problem = json.at("problem");
    return survey;
}

}  // namespace

CudaSurvey survey_cuda(const std::vector<std::string>& command) {
    CudaSurvey failed;
    try {
        ProcessOptions options;
        options.deadline_s = kDeadlineS;
        const ProcessResult result = run_process(
            command.empty() ? std::vector<std::string>{this_program(), "worker", "--survey"} : command, options);
        if (result.timed_out) {
            failed.problem = fmt::format("NVIDIA's driver did not answer within {} s: look at nvidia-smi", kDeadlineS);
        } else if (result.status != 0) {
            failed.problem = fmt::format("asking NVIDIA's driver ended with status {}: {}", result.status,
                                         trimmed(bounded(result.err, 1000)));
        } else {
            return survey_from_json(parse_json(result.out, "the survey of GPUs"));
        }
    } catch (const std::exception& error) {
        failed.problem = fmt::format("cannot ask NVIDIA's driver: {}", error.what());
    }
    return failed;
}

}  // namespace recuda

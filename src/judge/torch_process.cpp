#include "judge/torch_process.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"

namespace recuda {
namespace {

constexpr double kOpenDeadlineS = 180;  // importing PyTorch from a cold disk

std::vector<std::string> command_of(const TorchOptions& options, const std::filesystem::path& folder) {
    std::vector<std::string> command{options.interpreter,
                                     (home_folder() / "python" / "torch_adapter.py").string(),
                                     "--reference",
                                     options.reference,
                                     "--folder",
                                     folder.string(),
                                     "--cache",
                                     (cache_folder() / "torch").string(),
                                     "--mode",
                                     options.mode,
                                     "--device",
                                     std::to_string(options.device),
                                     "--l2-bytes",
                                     std::to_string(options.l2_bytes)};
    if (options.graph) command.emplace_back("--graph");
    return command;
}

}  // namespace

TorchProcess::TorchProcess(const TorchOptions& options) : folder_("recuda-torch") {
    worker_.emplace(command_of(options, folder_.path()));
    const Json told = call({{"call", "open"}}, kOpenDeadlineS);
    about_ = fmt::format("PyTorch {} on {}", told.at("torch").get<std::string>(), told.at("device").get<std::string>());
}

Json TorchProcess::call(const Json& request, double deadline_s) {
    const std::string& what = request.at("call").get_ref<const std::string&>();
    if (!worker_) throw Error("PyTorch's process has ended");
    worker_->send(dump(request));
    std::string message;
    const WorkerProcess::Received received = worker_->receive(message, deadline_s);
    if (received != WorkerProcess::Received::message) {
        worker_->kill();
        const std::string ending = worker_->ending();
        worker_.reset();
        if (received == WorkerProcess::Received::timed_out)
            throw Error("PyTorch's process did not {} within {} s and was killed", what, deadline_s);
        throw Error("PyTorch's process ended during {}: {}", what, ending);
    }
    Json answer = parse_json(message, "PyTorch's answer");
    if (answer.contains("error")) throw Error("{}", answer.at("error").get<std::string>());
    return answer;
}

}  // namespace recuda

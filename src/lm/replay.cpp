#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "lm/back_ends.h"
#include "lm/record.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

class Replay final : public BackEnd {
 public:
    explicit Replay(const fs::path& folder) : record_(folder), folder_(shown(folder)) {
        if (record_.size() == 0) throw Error("{} holds no recorded prompt", folder_);
    }

    LmResponse complete(const LmRequest& request, const std::stop_token&) override {
        if (std::optional<LmResponse> answer = record_.find_any(question_of(request))) return std::move(*answer);
        throw LmError(LmFault::no_record, "the replay of {} has no recorded answer to this prompt{}", folder_,
                      request.step.empty() ? "" : fmt::format(" of the step {}", request.step));
    }

    std::string model() const override { return ""; }
    bool tells_cost() const override { return true; }

 private:
    Record record_;
    std::string folder_;
};

}  // namespace

std::unique_ptr<BackEnd> make_replay(const fs::path& folder) {
    std::error_code ignored;
    const fs::path prompts = fs::is_directory(folder / "prompts", ignored) ? folder / "prompts" : folder;
    if (!fs::is_directory(prompts, ignored))
        throw Error("--replay {}: there is no such folder of a run", shown(folder));
    return std::make_unique<Replay>(prompts);
}

}  // namespace recuda

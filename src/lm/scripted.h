// A model that says what a script makes it say: for tests of everything that asks a model.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "lm/model.h"

namespace recuda {

class ScriptedModel final : public LanguageModel {
 public:
    /// `script` gets each request; it may throw LmError.
    explicit ScriptedModel(std::function<std::string(const LmRequest&)> script) : script_(std::move(script)) {}

    LmResponse complete(const LmRequest& request, const std::stop_token&) override {
        const std::lock_guard lock(mutex_);
        asked_.push_back(request);
        return {.text = script_(request), .finish = "stop", .model = "scripted"};
    }

    /// The requests in their order.
    const std::vector<LmRequest>& asked() const { return asked_; }

 private:
    std::mutex mutex_;
    std::function<std::string(const LmRequest&)> script_;
    std::vector<LmRequest> asked_;
};

}  // namespace recuda

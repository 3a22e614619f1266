// A server with OpenAI's interface. Answers are taken whole, not streamed: usage then comes with every answer, and one
// that trickles in is waited for all the same.
#include <algorithm>
#include <mutex>

#include "base/error.h"
#include "base/text.h"
#include "lm/back_ends.h"
#include "lm/chat.h"
#include "lm/endpoint.h"

namespace recuda {
namespace {

class HttpModel final : public BackEnd {
 public:
    explicit HttpModel(const Preset& preset)
        : preset_(preset), secrets_(variables(preset)), base_(trimmed(preset.base_url)), model_(preset.model) {
        if (const std::string why = why_no_endpoint(base_); !why.empty())
            throw Error("the preset {}: {}", preset.name, why);
        while (base_.ends_with('/')) base_.pop_back();
        if (preset.api_key_env.empty()) return;
        const std::string key = environment_value(preset.api_key_env.c_str());
        for (const char c : key)
            if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f')
                throw Error("the key in {} holds a blank or a control character", preset.api_key_env);
        if (!key.empty()) headers_.push_back("Authorization: Bearer " + key);
    }

    LmResponse complete(const LmRequest& request, const std::stop_token& stop) override {
        HttpRequest post = asking("/chat/completions");
        post.body = chat_body(request, preset_, listed_model(stop));
        post.headers.emplace_back("Content-Type: application/json");
        post.headers.emplace_back("Expect:");  // no round trip before a long body
        return read_chat(http_exchange(post, stop), secrets_);
    }

    std::string model() const override {
        const std::lock_guard lock(mutex_);
        return model_;
    }

    /// Where nobody named one, the first that the server lists.
    std::string listed_model(const std::stop_token& stop) override {
        const std::lock_guard lock(mutex_);
        if (model_.empty()) {
            HttpRequest list = asking("/models");
            list.deadline_s = std::min(list.deadline_s, 30.0);
            model_ = first_model(http_exchange(list, stop), secrets_);
        }
        return model_;
    }

 private:
    static std::vector<std::string> variables(const Preset& preset) {
        std::vector<std::string> all = key_variables();
        if (!preset.api_key_env.empty()) all.push_back(preset.api_key_env);
        return all;
    }

    HttpRequest asking(const char* path) const {
        return {.url = base_ + path, .headers = headers_, .deadline_s = preset_.max_seconds};
    }

    const Preset preset_;
    const Secrets secrets_;
    std::string base_;
    std::vector<std::string> headers_;
    mutable std::mutex mutex_;
    std::string model_;
};

}  // namespace

std::unique_ptr<BackEnd> make_http_model(const Preset& preset) { return std::make_unique<HttpModel>(preset); }

}  // namespace recuda

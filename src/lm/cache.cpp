#include "lm/cache.h"

#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "lm/usage_json.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLimitBytes = 128 << 20;

class Cached final : public LanguageModel {
 public:
    Cached(std::unique_ptr<LanguageModel> inner, fs::path folder, std::string preset, ModelName model)
        : inner_(std::move(inner)), folder_(std::move(folder)), preset_(std::move(preset)), model_(std::move(model)) {}

    LmResponse complete(const LmRequest& request, const std::stop_token& stop) override {
        if (const std::optional<Place> place = place_of(request, stop))
            if (std::optional<LmResponse> known = read(*place)) return std::move(*known);
        LmResponse response = inner_->complete(request, stop);
        if (const std::optional<Place> place = place_of(request, stop)) write(*place, response);
        return response;
    }

 private:
    struct Place {
        std::string model, digest;
        fs::path file;
    };

    std::optional<Place> place_of(const LmRequest& request, const std::stop_token& stop) const {
        try {
            const std::string model = model_(stop);
            const std::string digest = digest_of(request, preset_, model);
            return Place{model, digest, folder_ / digest.substr(0, 2) / (digest + ".json")};
        } catch (const LmError&) {
            return std::nullopt;
        }
    }

    static std::optional<LmResponse> read(const Place& place) {
        try {
            const Json kept = parse_json(read_own_file(place.file, kLimitBytes), "");
            const Json& answer = kept.at("answer");
            if (kept.at("digest") != place.digest || kept.at("sha256") != sha256(dump(answer))) return std::nullopt;
            return LmResponse{.text = answer.at("text"),
                              .reasoning = answer.at("reasoning"),
                              .finish = answer.at("finish"),
                              .model = answer.at("model"),
                              .cached = true};
        } catch (const std::exception&) {
            return std::nullopt;
        }
    }

    void write(const Place& place, const LmResponse& response) const {
        const Json answer{{"text", json_text(response.text)},
                          {"reasoning", json_text(response.reasoning)},
                          {"finish", json_text(response.finish)},
                          {"model", json_text(response.model)}};
        const Json kept{{"digest", place.digest},          {"preset", preset_},
                        {"asked", json_text(place.model)}, {"usage", to_json(response.usage)},
                        {"sha256", sha256(dump(answer))},  {"answer", answer}};
        try {
            make_folder(place.file.parent_path());
            write_atomically(place.file, dump(kept, 2) + "\n");
        } catch (const Error&) {
            // A cache that is read-only or full: the answer is here all the same.
        }
    }

    std::unique_ptr<LanguageModel> inner_;
    const fs::path folder_;
    const std::string preset_;
    const ModelName model_;
};

}  // namespace

fs::path answer_cache() { return cache_folder() / "answers"; }

std::unique_ptr<LanguageModel> make_cached(std::unique_ptr<LanguageModel> inner, const fs::path& folder,
                                           const std::string& preset, ModelName model) {
    return std::make_unique<Cached>(std::move(inner), folder, preset, std::move(model));
}

}  // namespace recuda

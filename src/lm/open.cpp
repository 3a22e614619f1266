#include "lm/open.h"

#include <atomic>

#include "base/error.h"
#include "base/file.h"
#include "lm/again.h"
#include "lm/back_ends.h"
#include "lm/budget.h"
#include "lm/cache.h"
#include "lm/preset.h"
#include "lm/record.h"

namespace recuda {
namespace {

/// The preset with what the command line says instead of it.
Preset with_options(Preset preset, const LmOptions& options) {
    const bool is_other_model = !options.model.empty() && !preset.model.empty() && options.model != preset.model;
    if (is_other_model) preset.input_usd_per_million = preset.output_usd_per_million = std::nullopt;
    if (!options.model.empty()) preset.model = options.model;
    if (!options.base_url.empty()) preset.base_url = options.base_url;
    if (options.max_seconds > 0) preset.max_seconds = options.max_seconds;
    return preset;
}

void refuse_what_does_not_fit(const Preset& preset, const LmOptions& options) {
    const auto only_for = [&](PresetKind kind, bool given, const char* option) {
        if (given && preset.kind != kind)
            throw UsageError("{} is an option of presets of the kind {}; {} is of the kind {}", option, name(kind),
                             preset.name, name(preset.kind));
        if (!given && preset.kind == kind && kind != PresetKind::http)
            throw UsageError("the preset {} needs {} DIR", preset.name, option);
    };
    only_for(PresetKind::http, !options.base_url.empty(), "--base-url");
    only_for(PresetKind::mailbox, !options.mailbox.empty(), "--mailbox");
    only_for(PresetKind::replay, !options.replay.empty(), "--replay");
}

void refuse_unknown_costs(const Preset& preset, const LmOptions& options, const BackEnd& back_end) {
    const bool has_prices = preset.input_usd_per_million && preset.output_usd_per_million;
    if (options.max_cost_usd > 0 && !has_prices && !back_end.tells_cost())
        throw Error(
            "--max-cost cannot be kept: nobody says what {} of the preset {} costs; a preset with "
            "input_usd_per_million and output_usd_per_million does, and --max-tokens bounds it without",
            preset.model.empty() ? "the model" : preset.model, preset.name);
}

std::unique_ptr<BackEnd> make_back_end(const Preset& preset, const LmOptions& options) {
    switch (preset.kind) {
        case PresetKind::http:
            return make_http_model(preset);
        case PresetKind::cli:
            return make_program_model(preset);
        case PresetKind::mailbox:
            return make_mailbox(options.mailbox, options.mailbox_wait_s);
        case PresetKind::replay:
            return make_replay(options.replay);
        case PresetKind::offline:
            break;
    }
    throw Error("the preset {} asks no model", preset.name);
}

/// Hands a call on to a model that somebody else owns.
class Borrowed final : public LanguageModel {
 public:
    explicit Borrowed(LanguageModel& model) : model_(model) {}
    LmResponse complete(const LmRequest& request, const std::stop_token& stop) override {
        return model_.complete(request, stop);
    }

 private:
    LanguageModel& model_;
};

class Opened final : public OpenModel {
 public:
    Opened(const Preset& preset, const LmOptions& options) {
        refuse_what_does_not_fit(preset, options);
        const bool is_asked = preset.kind == PresetKind::http || preset.kind == PresetKind::cli;
        if (!options.record.empty()) {
            make_folder(options.record);
            record_ = std::make_unique<Record>(options.record);
        }
        Spent earlier;
        if (record_) earlier = {.calls = record_->earlier_calls(), .usage = record_->earlier_usage()};
        const Limits limits{options.max_calls, options.max_tokens, options.max_cost_usd};
        budget_.emplace(limits, Prices{preset.input_usd_per_million, preset.output_usd_per_million}, earlier);
        back_end_ = make_back_end(preset, options);
        refuse_unknown_costs(preset, options, *back_end_);
        stack_ = std::make_unique<Borrowed>(*back_end_);
        if (preset.kind != PresetKind::replay) stack_ = make_counted(std::move(stack_), *budget_);
        Patience patience;
        if (options.attempts > 0)
            patience.attempts = patience.lone_attempts = patience.slow_attempts = options.attempts;
        if (is_asked) stack_ = make_patient(std::move(stack_), patience);
        if (!options.cache.empty() && preset.kind != PresetKind::replay)
            stack_ = make_cached(std::move(stack_), options.cache, preset.name,
                                 [this, named = preset.model](const std::stop_token& stop) {
                                     return named.empty() ? back_end_->listed_model(stop) : named;
                                 });
        if (record_)
            stack_ = make_recorded(std::move(stack_), *record_, {"", preset.name, preset.model, is_asked ? 1u : 0u});
    }

    LmResponse complete(const LmRequest& request, const std::stop_token& stop) override {
        LmResponse response = stack_->complete(request, stop);
        cached_ += response.cached ? 1 : 0;
        return response;
    }

    Spent spent() const override {
        Spent spent = budget_->spent();
        spent.cached = cached_;
        return spent;
    }

    std::string model() const override { return back_end_->model(); }

 private:
    std::unique_ptr<Record> record_;
    std::optional<Budget> budget_;
    std::unique_ptr<BackEnd> back_end_;
    std::unique_ptr<LanguageModel> stack_;
    std::atomic<uint64_t> cached_ = 0;
};

}  // namespace

std::unique_ptr<OpenModel> open_model(const Preset& preset, const LmOptions& options) {
    return std::make_unique<Opened>(with_options(preset, options), options);
}

}  // namespace recuda

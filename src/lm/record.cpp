#include "lm/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "lm/conversation.h"
#include "lm/usage_json.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

/// The number of "0012.json", else 0.
uint64_t number_of(const std::string& name) {
    constexpr std::string_view kEnding = ".json";
    uint64_t number = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    return problem == std::errc() && std::string_view(end) == kEnding ? number : 0;
}

Json facts_of(const LmRequest& request, const RecordKey& key) {
    Json documents = Json::array();
    for (const std::string& document : request.documents) documents.push_back(json_text(document));
    return {{"step", json_text(request.step)},
            {"digest", key.digest},
            {"question", question_of(request)},
            {"preset", key.preset},
            {"model", json_text(key.model)},
            {"temperature", request.temperature ? Json(json_number(*request.temperature)) : Json()},
            {"rollout", request.rollout},
            {"documents", documents},
            {"state", "asked"},
            {"calls", key.open_calls}};
}

}  // namespace

std::string question_of(const LmRequest& request) { return digest_of(request, "", ""); }

Record::Record(const fs::path& folder) : folder_(folder) {
    std::vector<uint64_t> numbers;
    std::error_code problem;
    for (fs::directory_iterator entry(folder_, problem), end; !problem && entry != end; entry.increment(problem)) {
        const std::string name = entry->path().filename();
        last_ = std::max(last_, number_of(name.substr(0, name.find('.')) + ".json"));
        if (const uint64_t number = number_of(name); number != 0) numbers.push_back(number);
    }
    std::sort(numbers.begin(), numbers.end());
    for (const uint64_t number : numbers) read(number);
}

fs::path Record::path(uint64_t number, const char* ending) const {
    return folder_ / fmt::format("{:04}{}", number, ending);
}

void Record::read(uint64_t number) {
    constexpr uint64_t kLimitBytes = 64 << 20;
    try {
        const Json facts = parse_json(read_own_file(path(number, ".json"), kLimitBytes), "");
        by_digest_.emplace(facts.at("digest").get<std::string>(), number);
        by_question_.emplace(facts.at("question").get<std::string>(), number);
        Spending spent{.calls = facts.value("calls", uint64_t{0})};
        if (facts.contains("usage")) spent.usage = usage_from_json(facts.at("usage"));
        earlier_calls_ += spent.calls;
        earlier_usage_ += spent.usage;
        spent_[number] = spent;
    } catch (const std::exception&) {
        // A file of somebody else, or one that was damaged: its number stays taken.
    }
}

std::optional<LmResponse> Record::answer(uint64_t number) const {
    try {
        LmResponse response{.text = valid_utf8(read_own_file(path(number, ".answer.md")))};
        const Json facts = parse_json(read_own_file(path(number, ".json")), "");
        response.reasoning = facts.value("reasoning", "");
        response.finish = facts.value("finish", "");
        response.model = facts.value("answered_by", "");
        response.cached = true;
        return response;
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

std::optional<LmResponse> Record::find(const std::string& digest) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_digest_.find(digest);
    return found == by_digest_.end() ? std::nullopt : answer(found->second);
}

std::optional<LmResponse> Record::find_any(const std::string& question) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_question_.find(question);
    return found == by_question_.end() ? std::nullopt : answer(found->second);
}

uint64_t Record::begin(const LmRequest& request, const RecordKey& key) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = by_digest_.emplace(key.digest, last_ + 1);
    const uint64_t number = place->second;
    if (is_new) ++last_;
    Json facts = facts_of(request, key);
    by_question_.emplace(facts["question"], number);
    facts["calls"] = key.open_calls + spent_[number].calls;
    facts["usage"] = to_json(spent_[number].usage);
    write_atomically(path(number, ".prompt.md"), readable(request.messages));
    facts_[number] = dump(facts, 2) + "\n";
    write_atomically(path(number, ".json"), facts_[number]);
    return number;
}

void Record::answered(uint64_t number, const LmResponse& response, double seconds) {
    const std::lock_guard lock(mutex_);
    write_atomically(path(number, ".answer.md"), response.text);
    finish(number, response.calls, response.usage, seconds,
           {{"state", "answered"},
            {"answered_by", json_text(response.model)},
            {"finish", json_text(response.finish)},
            {"reasoning", json_text(response.reasoning)},
            {"cached", response.cached}});
}

void Record::failed(uint64_t number, const LmError& error, double seconds) {
    const std::lock_guard lock(mutex_);
    finish(number, error.calls, error.usage, seconds,
           {{"state", "failed"},
            {"fault", {{"kind", name(error.fault)}, {"status", error.status}, {"message", json_text(error.what())}}}});
}

void Record::finish(uint64_t number, uint64_t calls, const Usage& usage, double seconds, const Json& more) {
    Spending& spent = spent_[number];
    spent.calls += calls;
    spent.usage += usage;
    Json facts = parse_json(facts_.at(number), "a call's record");
    facts.update(more);
    facts.update({{"calls", spent.calls}, {"usage", to_json(spent.usage)}, {"seconds", seconds}});
    write_atomically(path(number, ".json"), dump(facts, 2) + "\n");
    facts_.erase(number);
}

size_t Record::size() const {
    const std::lock_guard lock(mutex_);
    return by_digest_.size();
}

namespace {

/// The digests that are being asked about: at most one caller holds each.
class Asked {
 public:
    /// False when stop was requested before the digest was free.
    bool take(const std::string& digest, const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        if (!freed_.wait(lock, stop, [&] { return !held_.contains(digest); })) return false;
        held_.insert(digest);
        return true;
    }
    void give_back(const std::string& digest) {
        {
            const std::lock_guard lock(mutex_);
            held_.erase(digest);
        }
        freed_.notify_all();
    }

 private:
    std::mutex mutex_;
    std::condition_variable_any freed_;
    std::set<std::string> held_;
};

class Recorded final : public LanguageModel {
 public:
    Recorded(std::unique_ptr<LanguageModel> inner, Record& record, RecordKey key)
        : inner_(std::move(inner)), record_(record), key_(std::move(key)) {}

    LmResponse complete(const LmRequest& request, const std::stop_token& stop) override {
        RecordKey key = key_;
        key.digest = digest_of(request, key.preset, key.model);
        if (!asked_.take(key.digest, stop)) throw LmError(LmFault::stopped, "the call was ended");
        const std::unique_ptr<Asked, std::function<void(Asked*)>> held(
            &asked_, [&](Asked* asked) { asked->give_back(key.digest); });
        if (std::optional<LmResponse> known = record_.find(key.digest)) return std::move(*known);
        return ask(request, key, stop);
    }

 private:
    LmResponse ask(const LmRequest& request, const RecordKey& key, const std::stop_token& stop) {
        const uint64_t number = record_.begin(request, key);
        const auto began = std::chrono::steady_clock::now();
        const auto seconds = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        };
        try {
            LmResponse response = inner_->complete(request, stop);
            record_.answered(number, response, seconds());
            return response;
        } catch (const LmError& error) {
            record_.failed(number, error, seconds());
            throw;
        }
    }

    std::unique_ptr<LanguageModel> inner_;
    Record& record_;
    const RecordKey key_;
    Asked asked_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_recorded(std::unique_ptr<LanguageModel> inner, Record& record, RecordKey key) {
    return std::make_unique<Recorded>(std::move(inner), record, std::move(key));
}

}  // namespace recuda

#include "lm/explore/session.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/worker_process.h"
#include "lm/explore/values.h"
#include "lm/model.h"

namespace recuda {
namespace {

constexpr double kStartSeconds = 60, kPatienceSeconds = 20;
constexpr double kShareOfMachine = 0.1;                 // of one core, that a program gets at least
constexpr double kGlanceSeconds = 0.05;                 // between two looks at the stop token
constexpr uint32_t kMessageBytes = uint32_t{32} << 20;  // a value of values.h, every byte escaped
constexpr uint64_t kShownBytes = 4000;                  // of an error
constexpr uint64_t kSpareBytes = 200;                   // for the line that says what was left out

/// The object in a message of the other side, nothing where there is none; one that is nested deeper than a value can
/// be (values.h) would end us where it is walked through.
std::optional<Json> read_object(const std::string& message) {
    constexpr int kDepth = kValueDepth + 4;
    const auto shallow = [](int depth, Json::parse_event_t, const Json&) {
        if (depth > kDepth) throw Error("too deep");
        return true;
    };
    try {
        Json told = Json::parse(message, shallow);
        if (told.is_object()) return told;
    } catch (const Error&) {
    } catch (const Json::exception&) {
    }
    return std::nullopt;
}

/// Whether a model that failed so may be asked again from within a program.
bool is_for_the_program(const LmError& error) { return error.is_passing() || error.fault == LmFault::bad_request; }

}  // namespace

class LuaSession::State {
 public:
    State(SessionOptions options, Json variables, std::vector<SessionFunction> functions)
        : options_(std::move(options)), variables_(std::move(variables)), functions_(std::move(functions)) {
        start();
    }

    Turn run(const std::string& code, const std::stop_token& stop) {
        ended_ = false;
        if (!worker_) start();
        if (!worker_->send(dump({{"run", code}}), kPatienceSeconds)) return lost("its process was gone");
        try {
            while (true) {
                const std::optional<Json> told = receive(stop);
                if (!told) return lost(why_lost_);
                if (!told->contains("call")) return turn_of(*told);
                const std::string reply = dump(call(*told));
                if (!worker_->send(reply, kPatienceSeconds)) return lost("its process was gone");
            }
        } catch (const Json::exception&) {
            return lost("its process answered what it does not answer");
        } catch (...) {
            worker_.reset();  // it waits for a reply that it will not get
            throw;
        }
    }

 private:
    void start() {
        Json names = Json::array();
        for (const SessionFunction& function : functions_) names.push_back(function.name);
        worker_.emplace(options_.command);
        std::string word;
        WorkerProcess::Received received = WorkerProcess::Received::gone;
        if (worker_->send(dump({{"variables", variables_},
                                {"functions", names},
                                {"memory_bytes", options_.limits.memory_bytes},
                                {"instructions", options_.limits.instructions},
                                {"output_bytes", options_.limits.output_bytes},
                                {"seconds", options_.seconds},
                                {"seed", options_.seed}}),
                          kStartSeconds))
            received = worker_->receive(word, kStartSeconds, kMessageBytes);
        if (received == WorkerProcess::Received::message && Json::parse(word, nullptr, false).contains("ready")) return;
        worker_->kill();
        const std::string why = received == WorkerProcess::Received::message ? one_line(word) : worker_->ending();
        worker_.reset();
        throw Error("the session of the explore step cannot start: {}", why);
    }

    /// The next message, nothing when there is none that can be read; why_lost_ says why.
    std::optional<Json> receive(const std::stop_token& stop) {
        const double patience = options_.seconds / kShareOfMachine + kPatienceSeconds;
        for (double waited = 0; waited < patience && !worker_->stirs(kGlanceSeconds); waited += kGlanceSeconds)
            if (stop.stop_requested()) throw LmError(LmFault::stopped, "stopped while a program of the model ran");
        std::string message;
        const WorkerProcess::Received received = worker_->receive(message, kPatienceSeconds, kMessageBytes);
        if (received == WorkerProcess::Received::message) {
            if (std::optional<Json> told = read_object(message)) return told;
            why_lost_ = "its process answered what it does not answer";
        } else {
            why_lost_ = received == WorkerProcess::Received::timed_out ? "its process did not come to an end"
                                                                       : "its process ended";
        }
        return std::nullopt;
    }

    /// A fresh process in the place of the one that is lost.
    Turn lost(const std::string& why) {
        worker_.reset();
        if (ended_) return {.output = "", .error = "", .ended = true};
        start();
        return {
            .output = "",
            .error = fmt::format("the program was lost with its session ({}). A new session holds the given variables; "
                                 "those that programs made are gone.",
                                 why)};
    }

    Turn turn_of(const Json& told) const {
        if (ended_ && told.contains("died")) return {.output = "", .error = "", .ended = true};
        if (told.contains("died"))
            return {.output = "",
                    .error = fmt::format("the program was killed: {}. All variables are as they were before it.",
                                         one_line(told.at("died").get<std::string>()))};
        return {.output = bounded(told.at("output").get<std::string>(), options_.limits.output_bytes + kSpareBytes),
                .error = bounded(told.at("error").get<std::string>(), kShownBytes),
                .ended = ended_};
    }

    /// The reply to a call.
    Json call(const Json& told) {
        const auto& name = told.at("call").get_ref<const std::string&>();
        const auto function = std::find_if(functions_.begin(), functions_.end(),
                                           [&](const SessionFunction& known) { return known.name == name; });
        if (function == functions_.end() || !told.at("arguments").is_array())
            return {{"error", "there is no such function"}};
        if (++calls_[name] > function->most_calls)
            return {{"error", fmt::format("{} may be called {} times only", name, function->most_calls)}};
        try {
            Json value = function->call(told.at("arguments"));
            ended_ = ended_ || function->ends;
            return function->ends ? Json{{"end", true}} : Json{{"value", std::move(value)}};
        } catch (const LmError& error) {
            if (!is_for_the_program(error)) throw;
            return {{"error", json_text(error.what())}};
        } catch (const Error& error) {
            return {{"error", json_text(bounded(error.what(), kShownBytes))}};
        }
    }

    SessionOptions options_;
    Json variables_;
    std::vector<SessionFunction> functions_;
    std::map<std::string, uint64_t, std::less<>> calls_;
    bool ended_ = false;
    std::optional<WorkerProcess> worker_;
    std::string why_lost_;
};

LuaSession::LuaSession(SessionOptions options, Json variables, std::vector<SessionFunction> functions)
    : state_(std::make_unique<State>(std::move(options), std::move(variables), std::move(functions))) {}
LuaSession::~LuaSession() = default;

LuaSession::Turn LuaSession::run(const std::string& code, const std::stop_token& stop) {
    return state_->run(code, stop);
}

}  // namespace recuda

#include "judge/judge.h"

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "build/toolchain.h"
#include "judge/session.h"
#include "recuda_version.h"

namespace recuda {
namespace {

/// Candidates that are built together: twice as many as compile at a time, so that no worker waits for the slowest.
size_t build_ahead() { return 2 * std::max(1u, std::thread::hardware_concurrency()); }

std::string device_words(const DeviceInfo& info, const std::string& target) {
    std::string text = fmt::format("{} ({}), {} SMs, L2 {} MiB", info.name, target, info.sm_count, info.l2_bytes >> 20);
    if (info.memory_bytes_per_ns > 0)
        text += fmt::format(", memory {:.0f} GB/s by its data sheet", info.memory_bytes_per_ns);
    if (!info.driver.empty()) text += ", driver " + info.driver;
    return text;
}

/// "NVRTC 13.0.88, ptxas 13.0.88, Triton 3.6.0": those that work here.
std::string compiler_words() {
    std::vector<std::string> words;
    for (const Tool& tool : inspect_toolchain())
        if (tool.state == Tool::State::ok) words.push_back(tool.name + " " + tool.version);
    return joined(words, ", ");
}

class Judge : public Evaluator {
 public:
    Judge(Task task, std::unique_ptr<Device> device, Builder& builder, const JudgeOptions& options)
        : session_(std::move(task), std::move(device), builder, options) {}

    void prepare() override { session_.open(); }

    void evaluate(std::span<const Candidate> candidates, Depth depth, const std::stop_token& stop,
                  const std::function<void(Evaluation)>& done) override {
        if (candidates.empty() || stop.stop_requested()) return;
        session_.open();
        const size_t ahead = build_ahead();
        std::future<std::vector<Built>> next =
            begin_builds(candidates.first(std::min(ahead, candidates.size())), depth);
        for (size_t first = 0; first < candidates.size(); first += ahead) {
            std::vector<Built> built = next.get();
            const std::span<const Candidate> now = candidates.subspan(first, built.size());
            const size_t behind = first + built.size();
            if (behind < candidates.size())
                next = begin_builds(candidates.subspan(behind, std::min(ahead, candidates.size() - behind)), depth);
            for (size_t i = 0; i < now.size(); ++i) {
                if (stop.stop_requested()) return;
                Judged judged = session_.judge(now[i], std::move(built[i]), depth, true, stop);
                if (judged.stopped) return;
                done(std::move(judged.evaluation));
            }
        }
    }

    std::vector<size_t> rank(std::span<const Candidate> candidates, std::span<const double> first_ns,
                             const std::stop_token& stop) override {
        if (!measures_time() || stop.stop_requested()) {
            std::vector<size_t> as_given(candidates.size());
            std::iota(as_given.begin(), as_given.end(), size_t{0});
            return as_given;
        }
        session_.open();
        return session_.rank(begin_builds(candidates, Depth::screen).get(), first_ns, stop);
    }

    std::optional<Evaluation> prove(const Candidate& candidate, Evaluation whole, const Promotion& promotion) override {
        if (!measures_time() || promotion.stop.stop_requested()) return std::nullopt;
        session_.open();
        std::vector<Built> built = begin_builds(std::span(&candidate, 1), Depth::whole).get();
        return session_.prove(std::move(whole), std::move(built.front()), promotion);
    }

    std::vector<std::string> warnings() const override { return session_.baselines().warnings(); }

    std::string device_description() const override {
        Json description{{"program", fmt::format("cuda-rlm {}", kVersion)},
                         {"device", json_text(device_words(session_.info(), session_.target()))},
                         {"compilers", json_text(compiler_words())}};
        if (measures_time()) description["memory_peaks"] = to_json(session_.peaks());
        description["baselines"] = session_.baselines().record();
        return dump(description);
    }
    std::string device_kind() const override { return session_.info().kind == DeviceKind::vgpu ? "vgpu" : "cuda"; }
    std::string device_name() const override { return session_.info().name; }
    std::string device_target() const override { return session_.target(); }
    bool measures_time() const override { return session_.info().measures_time; }
    const DeviceLimits& limits() const override { return session_.limits(); }

 private:
    std::future<std::vector<Built>> begin_builds(std::span<const Candidate> candidates, Depth depth) {
        std::vector<Order> orders;
        for (const Candidate& candidate : candidates) orders.push_back(session_.order(candidate, depth));
        return std::async(std::launch::async, [this, orders = std::move(orders)]() mutable {
            return build_all(session_.builder(), std::move(orders));
        });
    }

    Session session_;
};

}  // namespace

std::unique_ptr<Evaluator> make_judge(Task task, std::unique_ptr<Device> device, Builder& builder,
                                      const JudgeOptions& options) {
    return std::make_unique<Judge>(std::move(task), std::move(device), builder, options);
}

}  // namespace recuda

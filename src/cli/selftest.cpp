// `cuda-rlm selftest`: known cheats and seeded faults against the judge of this machine.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/progress.h"
#include "base/text.h"
#include "build/builder.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/device_choice.h"
#include "device/device.h"
#include "judge/selftest.h"
#include "report/table.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

using Got = SelftestResult::Got;
using Kind = SelftestCase::Kind;

struct SelftestWords {
    std::vector<std::string> only;
    bool source = false;
    DeviceChoice device;

    bool parse(CommandLine& line) {
        line.option("--only", "NAME", only, "This case alone; repeat it for several");
        line.flag("--source", source, "Print the kernels of the cases and judge nothing");
        device.declare(line);
        line.example("cuda-rlm selftest --only missing_barrier --device vgpu");
        return line.parse();
    }
};

/// The named cases with the right kernels of their tasks; all where none is named.
std::vector<SelftestCase> chosen(std::vector<SelftestCase> all, const std::vector<std::string>& only) {
    if (only.empty()) return all;
    std::vector<std::string> names;
    for (const SelftestCase& one : all) names.push_back(one.name);
    for (const std::string& name : only)
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw UsageError("there is no case {}{}; `cuda-rlm selftest` lists them", one_line(name, 100),
                             did_you_mean(name, names));
    std::vector<SelftestCase> some;
    for (const SelftestCase& one : all) {
        const bool named = std::find(only.begin(), only.end(), one.name) != only.end();
        const bool control =
            one.kind == Kind::right && std::any_of(all.begin(), all.end(), [&](const SelftestCase& other) {
                return other.kernel == one.kernel && std::find(only.begin(), only.end(), other.name) != only.end();
            });
        if (named || control) some.push_back(one);
    }
    return some;
}

Json to_json(const SelftestResult& result) {
    const SelftestCase& one = *result.one;
    return {{"name", one.name},
            {"number", one.number == 0 ? Json() : Json(one.number)},
            {"kind", name(one.kind)},
            {"what", one.what},
            {"expect", one.catchable ? "caught" : "uncatchable"},
            {"got", name(result.got)},
            {"by", json_text(result.by)},
            {"why", json_text(result.why)},
            {"device", result.device.empty() ? Json() : Json(result.device)},
            {"seconds", json_number(result.seconds)}};
}

size_t missed(const std::vector<SelftestResult>& results) {
    return static_cast<size_t>(std::count_if(results.begin(), results.end(), [](const SelftestResult& result) {
        return result.one->kind != Kind::right && !result.good();
    }));
}

Json document_of(const std::vector<SelftestResult>& results, const DeviceInfo& device, double seconds) {
    Json cases = Json::array(), right = Json::array();
    for (const SelftestResult& result : results) {
        const SelftestCase& one = *result.one;
        if (one.kind != Kind::right)
            cases.push_back(to_json(result));
        else
            right.push_back({{"kernel", one.kernel}, {"accepted", result.accepted}, {"why", json_text(result.why)}});
    }
    const Json judged_on{{"kind", device.kind == DeviceKind::vgpu ? "vgpu" : "cuda"},
                         {"name", json_text(device.name)},
                         {"target", device.target},
                         {"driver", device.driver}};
    return {{"cases", cases},
            {"right", right},
            {"missed", missed(results)},
            {"device", judged_on},
            {"seconds", json_number(seconds)}};
}

std::string shown_got(const SelftestResult& result) {
    if (result.one->kind == Kind::right)
        return result.accepted ? "accepted" : result.good() ? "not applicable" : "REFUSED";
    if (result.got == Got::not_applicable) return "not applicable";
    if (result.got == Got::caught) return "caught";
    return result.good() ? "not caught" : "MISSED";
}

std::string story(const std::vector<SelftestResult>& results) {
    Table table{.titles = {"", "case", "result", "by, or why"}, .right = {true, false, false, false}, .rows = {}};
    std::map<std::string, size_t> count;
    for (const SelftestResult& result : results) {
        const SelftestCase& one = *result.one;
        table.rows.push_back({one.number == 0 ? "" : fmt::format("{}", one.number), one.name, shown_got(result),
                              result.by.empty() ? result.why : result.by});
        ++count[shown_got(result)];
    }
    std::vector<std::string> parts;
    for (const auto& [got, cases] : count) parts.push_back(fmt::format("{} {}", cases, got));
    return aligned(table) + "\n" + joined(parts, ", ") + "\n";
}

int print_sources(const CommandLine& line, const std::vector<SelftestCase>& cases) {
    Json document = Json::array();
    std::string text;
    for (const SelftestCase& one : cases) {
        if (one.kind == Kind::right || one.text.empty()) continue;
        document.push_back(
            {{"name", one.name}, {"kind", name(one.kind)}, {"file", one.kernel}, {"source", json_text(one.text)}});
        text += fmt::format("{} {}: {}\n{}\n", one.kernel.ends_with(".py") ? "#" : "//", one.name, one.what, one.text);
    }
    if (line.json())
        print_json(document);
    else
        print_text(text);
    return 0;
}

}  // namespace

int selftest_command(CommandLine& line) {
    SelftestWords words;
    if (!words.parse(line)) return 0;
    Catalogue catalogue(home_folder());
    const std::vector<SelftestCase> cases = chosen(read_selftest(catalogue.home()), words.only);
    if (words.source) return print_sources(line, cases);
    const std::stop_token stop = stop_on_interrupt();
    const std::unique_ptr<Builder> builder = make_builder();
    SelftestOptions options{.target = words.device.target, .seed = words.device.seed, .stop = stop};
    const auto start = std::chrono::steady_clock::now();
    const DeviceInfo device = make_device(words.device)->info();
    options.device = device.kind;
    options.make_device = [&](DeviceKind kind) {
        DeviceChoice choice = words.device;
        if (kind == DeviceKind::vgpu) choice.device = "vgpu";
        if (kind == DeviceKind::cuda && choice.device == "auto") choice.device = "cuda";
        return make_device(choice);
    };
    Progress progress("selftest");
    options.progress = [&](size_t done, size_t total, const SelftestCase& next) {
        progress.update(static_cast<double>(done), static_cast<double>(total), next.name);
    };
    const std::vector<SelftestResult> results = run_selftest(cases, catalogue, *builder, options);
    progress.clear();
    if (line.json())
        print_json(document_of(results, device,
                               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()));
    else
        print_text(story(results));
    if (stop.stop_requested()) return 130;
    const bool good =
        std::all_of(results.begin(), results.end(), [](const SelftestResult& result) { return result.good(); });
    return good ? 0 : 3;
}

}  // namespace recuda

#include "judge/selftest_cases.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "task/toml.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;
using Kind = SelftestCase::Kind;

constexpr uint64_t kLimitBytes = uint64_t{1} << 20;
constexpr std::array<std::string_view, 3> kKinds{"cheat", "fault", "right"};

std::vector<fs::path> sorted_files(const fs::path& folder, std::string_view extension) {
    std::vector<fs::path> files;
    std::error_code problem;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem))
        if (extension.empty() || entry.path().extension() == extension) files.push_back(entry.path());
    if (problem) throw Error("cannot read {}: {}", shown(folder), problem.message());
    std::sort(files.begin(), files.end());
    return files;
}

/// A right kernel is judged for the task of its name: rmsnorm.cu and rmsnorm.py for rmsnorm.
std::string task_of(const std::string& kernel) { return fs::path(kernel).stem().string(); }

int whole_number(const TomlTable& table, std::string_view key) {
    if (!table.has(key)) return 0;
    const auto value = table.raw().get(key)->value_exact<int64_t>();
    if (!value || *value < 1 || *value > 1000) table.fail(key, fmt::format("`{}` must be a number", key));
    return static_cast<int>(*value);
}

/// `changes = [[old, new], …]`: each old text stands in the kernel exactly once.
std::string changed(std::string text, const TomlTable& table) {
    if (!table.has("changes")) table.fail("changes", "`changes` is missing");
    const toml::array* changes = table.raw().get("changes")->as_array();
    if (changes == nullptr) table.fail("changes", "`changes` must be a list of pairs of texts");
    for (const toml::node& change : *changes) {
        const toml::array* pair = change.as_array();
        const bool texts = pair != nullptr && pair->size() == 2 && (*pair)[0].is_string() && (*pair)[1].is_string();
        if (!texts) table.fail("changes", "`changes` must be a list of pairs of texts");
        const std::string old = *(*pair)[0].value<std::string>(), by = *(*pair)[1].value<std::string>();
        const size_t at = old.empty() ? std::string::npos : text.find(old);
        if (at == std::string::npos || text.find(old, at + 1) != std::string::npos)
            table.fail("changes", fmt::format("the kernel does not have this text exactly once: {}", one_line(old)));
        text.replace(at, old.size(), by);
    }
    return text;
}

std::vector<CaughtBy> read_caught_by(const TomlTable& table) {
    std::vector<CaughtBy> all;
    for (const std::string& text : table.texts("caught_by")) {
        const size_t colon = std::min(text.find(':'), text.size());
        try {
            all.push_back({outcome_named(trimmed(text.substr(0, colon))),
                           std::string(trimmed(text.substr(std::min(colon + 1, text.size()))))});
        } catch (const Error& unknown) {
            table.fail("caught_by", unknown.what());
        }
    }
    return all;
}

void read_devices(const TomlTable& table, SelftestCase& one) {
    if (!table.has("devices")) return;
    const std::vector<std::string> devices = table.texts("devices");
    const auto has = [&](std::string_view name) {
        return std::find(devices.begin(), devices.end(), name) != devices.end();
    };
    one.on_vgpu = has("vgpu");
    one.on_cuda = has("cuda");
    if (devices.size() != size_t{one.on_vgpu} + size_t{one.on_cuda} || devices.empty())
        table.fail("devices", "`devices` takes vgpu and cuda");
    if (one.why.empty()) table.fail("devices", "`why` must say why it does not show on the other device");
}

SelftestCase read_case(const std::string& name, const TomlTable& table, const fs::path& folder) {
    table.allow({"kind", "number", "what", "why", "expect", "kernel", "task", "changes", "attack", "honest", "devices",
                 "caught_by"});
    SelftestCase one{.name = name, .number = whole_number(table, "number"), .what = table.text("what")};
    const auto kind = std::find(kKinds.begin(), kKinds.end() - 1, table.text("kind"));
    if (kind == kKinds.end() - 1) table.fail("kind", "`kind` is cheat or fault");
    one.kind = static_cast<Kind>(kind - kKinds.begin());
    one.why = table.text("why", "");
    const std::string expect = table.text("expect", "caught");
    if (expect != "caught" && expect != "uncatchable") table.fail("expect", "`expect` is caught or uncatchable");
    one.catchable = expect == "caught";
    if (!one.catchable && one.why.empty()) table.fail("expect", "`why` must say why nothing catches it");
    read_devices(table, one);
    one.attack = table.text("attack", "");
    if (!one.attack.empty()) return one;
    one.kernel = table.text("kernel");
    one.task = table.text("task", task_of(one.kernel));
    one.text = changed(read_file(folder / "right" / one.kernel, kLimitBytes), table);
    one.honest = table.text("honest", "");
    if (!one.honest.empty()) one.honest_text = read_file(folder / "right" / one.honest, kLimitBytes);
    if (one.catchable) one.caught_by = read_caught_by(table);
    return one;
}

}  // namespace

std::string_view name(Kind kind) { return kKinds[static_cast<size_t>(kind)]; }

fs::path selftest_tasks(const fs::path& home) { return home / "selftest" / "tasks.toml"; }

std::vector<SelftestCase> read_selftest(const fs::path& home) {
    const fs::path folder = home / "selftest";
    std::vector<SelftestCase> cases;
    for (const fs::path& file : sorted_files(folder / "right", "")) {
        const std::string kernel = file.filename().string();
        cases.push_back({.name = "right/" + kernel,
                         .kind = Kind::right,
                         .what = "a right kernel",
                         .task = task_of(kernel),
                         .kernel = kernel,
                         .text = read_file(file, kLimitBytes)});
    }
    std::set<std::string> names;
    for (const fs::path& file : sorted_files(folder / "cases", ".toml")) {
        const toml::table parsed = read_toml(file);
        const TomlTable table(parsed, shown(file));
        for (const std::string& name : table.keys()) {
            if (!names.insert(name).second) table.fail(name, fmt::format("there are two cases {}", name));
            cases.push_back(read_case(name, table.table(name), folder));
        }
    }
    return cases;
}

}  // namespace recuda

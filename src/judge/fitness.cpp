#include "judge/fitness.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace recuda {
namespace {

Json read(const std::filesystem::path& file) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return Json::object();
    try {
        Json json = parse_json(read_file(file), shown(file));
        return json.is_object() ? json : Json::object();
    } catch (const Error&) {
        return Json::object();
    }
}

}  // namespace

Fitness::Record Fitness::record() const {
    const Json all = read(file_);
    if (!all.contains(machine_)) return {};
    try {
        const Json& one = all.at(machine_);
        return {one.at("proofs"), one.at("since_test"), one.at("tested"), one.at("unfit")};
    } catch (const Json::exception&) {
        return {};
    }
}

template <typename Change>
void Fitness::change(Change how) const {
    make_folder(file_.parent_path());
    const FileLock lock(file_.string() + ".lock");
    Record one = record();
    how(one);
    Json all = read(file_);
    all[machine_] = {{"proofs", one.proofs},
                     {"since_test", one.since_test},
                     {"tested", one.tested},
                     {"unfit", json_text(one.unfit)}};
    write_atomically(file_, dump(all, 2) + "\n");
}

bool Fitness::test_is_due() const {
    const Record one = record();
    return !one.unfit.empty() || one.since_test >= kProofsPerTest;
}

void Fitness::tested(const Comparison& comparison) const {
    change([&](Record& one) {
        one.since_test = 0;
        one.tested = utc_now();
        one.unfit.clear();
        if (comparison.outcome == Comparing::faster || comparison.outcome == Comparing::slower)
            one.unfit = fmt::format("on {} it called {} {} than its copy, by {:.4f} ({:.4f} to {:.4f})", one.tested,
                                    comparison.baseline, name(comparison.outcome), comparison.ratio, comparison.low,
                                    comparison.high);
    });
}

void Fitness::proven() const {
    change([](Record& one) { ++one.proofs, ++one.since_test; });
}

std::string Fitness::unfit() const { return record().unfit; }

}  // namespace recuda

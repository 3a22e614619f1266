#include "store/results.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "store/store.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

constexpr size_t kShortestPrefix = 4, kMatchesNamed = 5;

// The last row of each run and candidate; ids of one run end in a number that grows.
constexpr char kLastRows[] =
    "SELECT run, device, evaluation FROM evaluations "
    "QUALIFY row_number() OVER (PARTITION BY run, digest ORDER BY stage = 'whole' DESC, "
    "TRY_CAST(regexp_extract(id, '[0-9]+$') AS BIGINT) DESC) = 1 "
    "ORDER BY task, outcome = 'correct' DESC, median_ns ASC NULLS LAST, estimate ASC NULLS LAST, \"when\" DESC, run, "
    "digest";

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(path, ignored));
}

Json result(const Row& row) {
    const Json evaluation = parse_json(text(row[2]), "an evaluation of the store");
    Json result{{"run", text(row[0])}, {"device", text(row[1])}};
    for (const char* field : {"task", "digest", "outcome", "median_ns", "estimate", "comparisons", "when", "id",
                              "origin", "stage", "language", "tunables", "idea", "target"})
        result[field] = evaluation.contains(field) ? evaluation.at(field) : Json();
    return result;
}

bool is_digest(const std::string& text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// The one stored digest that begins so.
std::string whole_digest(Store& store, const fs::path& path, const std::string& digest) {
    if (digest.size() < kShortestPrefix || !is_digest(digest))
        throw Error("{} is no digest: give at least {} of its hexadecimal digits", digest, kShortestPrefix);
    std::vector<std::string> found;
    for (const Row& row : store.database().run(
             "SELECT DISTINCT digest FROM evaluations WHERE starts_with(digest, ?) ORDER BY digest", {digest}))
        found.push_back(text(row[0]));
    if (found.empty())
        throw Error("the store {} has no candidate {}; `cuda-rlm results --all` lists them", shown(path), digest);
    if (found.size() == 1) return found.front();
    std::string named;
    for (size_t i = 0; i < std::min(found.size(), kMatchesNamed); ++i)
        named += (i == 0 ? "" : ", ") + found[i].substr(0, digest.size() + 8);
    throw Error("{} candidates have a digest that begins with {}: {}{}; give more of it", found.size(), digest, named,
                found.size() > kMatchesNamed ? ", …" : "");
}

}  // namespace

Json results(const fs::path& path, const ResultsQuery& query) {
    Json list = Json::array();
    if (!is_there(path)) return list;
    Store store(path, Access::read);
    for (const Row& row : store.database().run(kLastRows)) {
        Json found = result(row);
        if (!query.task.empty() && found["task"] != query.task) continue;
        if (query.all || found["outcome"] == "correct") list.push_back(std::move(found));
    }
    return list;
}

Json show(const fs::path& path, const std::string& digest) {
    if (!is_there(path))
        throw Error("there is no candidate {}: the store {} does not exist; name one with --db", digest, shown(path));
    Store store(path, Access::read);
    const std::string whole = whole_digest(store, path, digest);
    const auto rows = store.database().run(
        "SELECT evaluations.run, evaluation, source, out_dir FROM evaluations "
        "LEFT JOIN runs ON runs.run = evaluations.run WHERE digest = ? "
        "ORDER BY stage = 'whole' DESC, \"when\" DESC, id DESC",
        {whole});
    Json shown_one, all = Json::array();
    for (const Row& row : rows) {
        Json evaluation = parse_json(text(row[1]), "an evaluation of the store");
        evaluation["run"] = text(row[0]);
        if (shown_one.is_null()) {
            shown_one = evaluation;
            shown_one["source"] = text(row[2]);
            shown_one["out_dir"] = text(row[3]);
        }
        all.push_back(std::move(evaluation));
    }
    shown_one["evaluations"] = std::move(all);
    return shown_one;
}

Recorded recorded(const fs::path& path, const std::string& id) {
    if (!is_there(path))
        throw Error("there is no evaluation {}: the store {} does not exist; name the run's folder with --out-dir", id,
                    shown(path));
    Store store(path, Access::read);
    const std::string find =
        "SELECT evaluations.run, id, digest, out_dir FROM evaluations LEFT JOIN runs ON runs.run = evaluations.run ";
    std::vector<Row> rows = store.database().run(find + "WHERE id = ?", {id});
    if (rows.empty())
        rows = store.database().run(find + "WHERE digest = ? ORDER BY \"when\" DESC, id DESC",
                                    {whole_digest(store, path, id)});
    return {text(rows[0][0]), text(rows[0][1]), text(rows[0][2]), text(rows[0][3])};
}

}  // namespace recuda

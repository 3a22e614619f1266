// `cuda-rlm results`, `show` and `merge-results`: what the store knows.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "store/merge.h"
#include "store/results.h"
#include "store/store.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

constexpr const char* kDbHelp = "The store; default: RECUDA_DB, else results.duckdb in the current folder";

std::string cell(const Json& value) {
    return value.is_null() ? "-" : value.is_string() ? value.get<std::string>() : dump(value);
}

std::string best_ratio(const Json& row) {
    for (const Json& comparison : row.at("comparisons"))
        if (comparison.at("ratio").is_number())
            return fmt::format("{:.2f}x {}", comparison.at("ratio").get<double>(), cell(comparison.at("baseline")));
    return "-";
}

std::string table(const Json& rows) {
    std::string text = fmt::format("{:<28} {:<12} {:<14} {:>11}  {:<16} {:<26} {}\n", "TASK", "DIGEST", "OUTCOME",
                                   "MEDIAN ns", "COMPARED", "DEVICE", "WHEN");
    for (const Json& row : rows)
        text += fmt::format(
            "{:<28} {:<12} {:<14} {:>11}  {:<16} {:<26} {}\n", cell(row.at("task")),
            cell(row.at("digest")).substr(0, 12), cell(row.at("outcome")),
            row.at("median_ns").is_number() ? fmt::format("{:.0f}", row.at("median_ns").get<double>()) : "-",
            best_ratio(row), cell(row.at("device")), cell(row.at("when")));
    return text;
}

std::string story(const Json& shown) {
    Json facts = shown;
    facts.erase("source");
    return dump(facts, 2) + "\n\n" + shown.value("source", "") + "\n";
}

/// Rows of tasks that the catalogue does not have (any more) are shown too; a name that nobody knows is a mistake.
Json rows_of(const std::filesystem::path& store, ResultsQuery query) {
    Json rows = results(store, query);
    if (!rows.empty() || query.task.empty()) return rows;
    query.task = Catalogue(home_folder()).task(query.task).name;
    return results(store, query);
}

}  // namespace

int results_command(CommandLine& line) {
    ResultsQuery query;
    std::string db;
    line.option("--task", "NAME", query.task, "Only this task");
    line.option("--db", "FILE", db, kDbHelp);
    line.flag("--all", query.all, "Those that are not correct too");
    line.example("cuda-rlm results --task nano30b_rmsnorm");
    if (!line.parse()) return 0;
    const Json rows = rows_of(main_store(db), query);
    if (line.json())
        print_json(rows);
    else
        print_text(table(rows));
    return 0;
}

int show_command(CommandLine& line) {
    std::string digest, db;
    line.word("DIGEST", digest, "A candidate's digest, or its beginning", true);
    line.option("--db", "FILE", db, kDbHelp);
    line.example("cuda-rlm show 3fa9c01d");
    if (!line.parse()) return 0;
    const Json shown = show(main_store(db), digest);
    if (line.json())
        print_json(shown);
    else
        print_text(story(shown));
    return 0;
}

int merge_results_command(CommandLine& line) {
    std::vector<std::string> paths;
    std::string into;
    MergeOptions options;
    line.words("PATH", paths, "Stores, or folders with stores below them; default: the current folder");
    line.option("--into", "DB", into,
                "The store to merge into; default: RECUDA_DB, else results.duckdb in the current folder");
    line.flag("--dry-run", options.dry_run, "Count, and change nothing");
    line.example("cuda-rlm merge-results artifacts --into all.duckdb");
    if (!line.parse()) return 0;
    std::vector<std::filesystem::path> sources(paths.begin(), paths.end());
    if (sources.empty()) sources.emplace_back(".");
    const MergeReport report = merge(sources, main_store(into), options);
    if (line.json()) {
        print_json(to_json(report));
        return 0;
    }
    print_text(fmt::format("{} stores found, {} merged: {} rows added, {} were there\n", report.found.size(),
                           report.merged.size(), report.added, report.present));
    for (const MergeReport::Skipped& skipped : report.skipped)
        print_text(fmt::format("skipped {}: {}\n", skipped.path, skipped.why));
    return 0;
}

}  // namespace recuda

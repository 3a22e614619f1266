// `cuda-rlm index`: makes the kernel index, renews it, asks it.
#include "retrieval/index.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "retrieval/refresh.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

constexpr size_t kLongestInput = size_t{16} << 20;
constexpr int64_t kMostDocuments = 1000;

struct Words {
    std::string action, text, task, db;
    std::vector<std::string> kinds;
    int64_t documents = 10;
};

std::string standard_input() {
    std::string text;
    char buffer[1 << 16];
    for (ssize_t got; text.size() < kLongestInput && (got = ::read(STDIN_FILENO, buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<size_t>(got));
    return text;
}

Json to_json(const IndexReport& report) {
    Json skipped = Json::array();
    for (const auto& [path, why] : report.skipped)
        skipped.push_back({{"path", json_text(path)}, {"why", json_text(why)}});
    return {{"index", index_folder().string()},
            {"documents", report.documents},
            {"added", report.added},
            {"changed", report.changed},
            {"removed", report.removed},
            {"sources_read", report.sources_read},
            {"skipped", skipped},
            {"sources_unchanged", report.sources_unchanged}};
}

int make(const Words& words, bool json) {
    if (!words.text.empty()) throw UsageError("index {} takes no text; see cuda-rlm index --help", words.action);
    const IndexPlaces places = usual_places(words.db);
    const IndexReport report =
        words.action == "build" ? build_index(index_folder(), places) : refresh_index(index_folder(), places);
    if (json) {
        print_json(to_json(report));
        return 0;
    }
    print_text(fmt::format("{}: {} documents, {} added, {} changed, {} removed; {} sources read, {} as they were\n",
                           index_folder().string(), report.documents, report.added, report.changed, report.removed,
                           report.sources_read, report.sources_unchanged));
    for (const IndexReport::Skipped& skipped : report.skipped)
        print_text(fmt::format("skipped {}: {}\n", valid_utf8(skipped.path), valid_utf8(skipped.why)));
    return 0;
}

IndexQuery query_of(const Words& words) {
    if (words.documents < 1 || words.documents > kMostDocuments)
        throw UsageError("-k is a number of documents from 1 to {}, not {}", kMostDocuments, words.documents);
    if (words.text.empty() && words.task.empty())
        throw UsageError("index query needs a TEXT or a --task; see cuda-rlm index --help");
    IndexQuery query{.text = words.text == "-" ? standard_input() : words.text,
                     .kinds = words.kinds,
                     .at_most = static_cast<size_t>(words.documents)};
    if (words.task.empty()) return query;
    const Task task = Catalogue(home_folder()).task(words.task);
    query.task = task.name;
    query.op = task.op->name;
    query.family = task.family;
    return query;
}

/// The line of an excerpt that is shown in a table: the first that says something.
std::string_view telling_line(std::string_view excerpt) {
    for (const std::string_view line : split_lines(excerpt))
        if (trimmed(line).size() > 3) return trimmed(line);
    return excerpt;
}

std::string table(const std::vector<Found>& found) {
    std::string text = fmt::format("{:<10} {:>7}  {:<52} {}\n", "KIND", "SCORE", "DOCUMENT", "EXCERPT");
    for (const Found& one : found)
        text += fmt::format("{:<10} {:>7.2f}  {:<52} {}\n", one.kind, one.score, one_line(one.document, 120),
                            one_line(telling_line(one.excerpt), 90));
    return text;
}

int ask(const Words& words, bool json) {
    const IndexQuery query = query_of(words);
    const std::vector<Found> found = KernelIndex(index_folder()).query(query);
    if (!json) {
        print_text(table(found));
        return 0;
    }
    Json list = Json::array();
    for (const Found& one : found)
        list.push_back({{"document", json_text(one.document)},
                        {"kind", one.kind},
                        {"score", json_number(one.score)},
                        {"excerpt", json_text(one.excerpt)}});
    print_json(list);
    return 0;
}

}  // namespace

int index_command(CommandLine& line) {
    Words words;
    line.word("ACTION", words.action, "build: make it anew; refresh: read what is new or changed; query TEXT: search",
              true);
    line.word("TEXT", words.text, "Words, or a diagnostic as it stands; -: standard input", false);
    line.option("--task", "NAME", words.task, "Raises kernels of the task's op, of the task most");
    line.option("-k", "N", words.documents, "How many documents at most; default: 10");
    line.option("--kind", "KIND", words.kinds, "Only kernel, seed, reference, candidate or note; may be repeated");
    line.option(
        "--db", "FILE", words.db,
        "The store whose candidates are taken in; default: RECUDA_DB, else results.duckdb in the current folder");
    line.example(
        "cuda-rlm index build\n  cuda-rlm index query 'two pass row sum in registers' --task nano30b_rmsnorm -k 3\n"
        "  cuda-rlm index query - --kind note <build.log");
    if (!line.parse()) return 0;
    if (words.action == "build" || words.action == "refresh") return make(words, line.json());
    if (words.action == "query") return ask(words, line.json());
    const std::vector<std::string> known{"build", "refresh", "query"};
    throw UsageError("index has no action {}{}; it has build, refresh and query", words.action,
                     did_you_mean(words.action, known));
}

}  // namespace recuda

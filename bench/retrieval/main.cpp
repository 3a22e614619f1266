// retrieval: what the kernel index is worth, and how fast it is.
//
//   retrieval worth INDEX        for 15 tasks, without the documents of the task and of its family: is a kernel of the
//                                same op among the first three?
//   retrieval speed N [FOLDER]   how long a query takes over N made-up documents, written to FOLDER
//
// Prints one JSON object. `worth` asks in four ways: the op's summary as words alone, the source of the op's reference
// alone, a search's own query (summary, task, op and family), and each of them among candidates of runs alone, where
// runs of another family have some. The op's name is taken out of texts that are asked as words.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <regex>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/rng.h"
#include "base/text.h"
#include "recuda_version.h"
#include "retrieval/document.h"
#include "retrieval/engine.h"
#include "retrieval/generations.h"
#include "retrieval/index.h"
#include "retrieval/sources.h"
#include "task/catalogue.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

/// One or two of each op, from all six families.
constexpr const char* kTasks[] = {"nano30b_rmsnorm",
                                  "nemotron9b_rmsnorm",
                                  "nemotron3_add_rmsnorm",
                                  "nemotron4b_gated_groupnorm",
                                  "nano30b_relu2",
                                  "nemotron3_router_topk",
                                  "qwen35_argmax",
                                  "nano30b_o_proj",
                                  "qwen35_partial_rope",
                                  "qwen35_rmsnorm",
                                  "qwen35moe_add_rmsnorm",
                                  "qwen35_l2norm",
                                  "qwen35moe_silu_mul",
                                  "qwen35_mrope",
                                  "qwen35moe_router_softmax_topk"};
constexpr size_t kFirst = 3;

// ---- worth ----

struct Way {
    const char* name;
    bool reference, fields, candidates;
};
constexpr Way kWays[] = {{"summary as words", false, false, false},
                         {"reference as words", true, false, false},
                         {"summary, task, op and family", false, true, false},
                         {"summary as words, candidates alone", false, false, true},
                         {"reference as words, candidates alone", true, false, true},
                         {"summary, task, op and family, candidates alone", false, true, true}};

std::string op_of(const std::string& document, const KnownTasks& known) {
    const std::string place = document.substr(document.find(':') + 1);
    if (document.starts_with("candidate:")) {
        const auto task = known.tasks.find(place.substr(0, place.rfind('/')));
        return task == known.tasks.end() ? "" : task->second.op;
    }
    if (!place.starts_with("ops/")) return "";
    return place.substr(4, place.find('/', 4) - 4);
}

IndexQuery query_for(const Task& task, const Way& way) {
    IndexQuery query{.text = way.reference ? read_file(task.op->folder / "reference.cu") : task.op->summary,
                     .without_tasks = {task.name},
                     .without_families = {task.family},
                     .at_most = kFirst};
    query.kinds = way.candidates ? std::vector<std::string>{"candidate"}
                                 : std::vector<std::string>{"kernel", "seed", "candidate"};
    if (!way.fields) {
        query.text = std::regex_replace(query.text, std::regex("\\b" + task.op->name + "\\b"), "");
        return query;
    }
    query.task = task.name;
    query.op = task.op->name;
    query.family = task.family;
    return query;
}

Json asked(const KernelIndex& index, Catalogue& catalogue, const KnownTasks& known, const Way& way) {
    Json rows = Json::array();
    int found = 0, possible = 0;
    for (const char* name : kTasks) {
        const Task task = catalogue.task(name);
        IndexQuery any = query_for(task, way);
        any.text.clear();
        any.op = task.op->name;
        any.at_most = 1;
        const std::vector<Found> best = index.query(any);
        const bool is_possible = !best.empty() && op_of(best.front().document, known) == task.op->name;
        Json documents = Json::array();
        bool hit = false;
        for (const Found& one : index.query(query_for(task, way))) {
            documents.push_back(one.document);
            hit = hit || op_of(one.document, known) == task.op->name;
        }
        possible += is_possible ? 1 : 0;
        found += hit ? 1 : 0;
        rows.push_back({{"task", name}, {"possible", is_possible}, {"found", hit}, {"first", documents}});
    }
    return {{"way", way.name}, {"possible", possible}, {"found", found}, {"tasks", rows}};
}

Json worth(const fs::path& folder) {
    const KernelIndex index(folder);
    Catalogue catalogue(home_folder());
    const KnownTasks known = known_tasks(home_folder());
    Json ways = Json::array();
    for (const Way& way : kWays) ways.push_back(asked(index, catalogue, known, way));
    return {{"version", kVersion}, {"documents", index.size()}, {"first", kFirst}, {"ways", ways}};
}

// ---- speed ----

constexpr const char* kWords[] = {"shared",     "register", "vector",   "warp",  "block", "barrier", "row",
                                  "tile",       "swizzle",  "pipeline", "async", "stage", "split",   "fused",
                                  "persistent", "unroll",   "bank",     "cache", "queue", "cluster"};

std::string made_up_words(Rng& rng, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
        text += (i == 0 ? "" : " ") + std::string(rng.below(4) == 0 ? "v" + std::to_string(rng.below(50'000))
                                                                    : kWords[rng.below(std::size(kWords))]);
    return text;
}

/// A kernel of the catalogue with other names and constants and a log, as a candidate of some task.
Document made_up(const std::vector<Document>& seeds, const std::vector<Task>& tasks, size_t number, Rng& rng) {
    Document document = seeds[rng.below(seeds.size())];
    const Task& task = tasks[rng.below(tasks.size())];
    const bool right = rng.below(2) == 0;
    document.kind = "candidate";
    document.name = fmt::format("candidate:{}/{}", task.name, number);
    document.digest = std::to_string(number);
    document.task = task.name;
    document.op = task.op->name;
    document.family = task.family;
    document.target = "sm_90";
    document.outcome = right ? "correct" : "build_failed";
    if (right) document.median_ns = 1000.0 + static_cast<double>(rng.below(9000));
    document.title = made_up_words(rng, 12);
    std::string log;
    for (size_t line = right ? 20 : 0; line < 20; ++line)
        log += fmt::format("kernel.cu({}): error: identifier \"{}\" is undefined\n", rng.below(200),
                           made_up_words(rng, 1));
    document.text = document.title + "\n" + log + document.text;
    return document;
}

std::string made_up_query(const std::vector<Task>& tasks, size_t number, Rng& rng) {
    if (number % 3 == 0) return tasks[rng.below(tasks.size())].op->summary + " " + made_up_words(rng, 6);
    if (number % 3 == 1) return made_up_words(rng, 4);
    std::string log;
    for (int line = 0; line < 60; ++line)
        log += fmt::format("/tmp/k.cu({}): error: identifier \"{}\" is undefined; misaligned address {}\n", line,
                           made_up_words(rng, 2), rng.below(1000));
    return log;
}

double at_share(const std::vector<double>& sorted, double share) {
    return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

void write_documents(const fs::path& folder, size_t count, const std::vector<Task>& tasks) {
    std::vector<Document> seeds;
    const auto known = std::make_shared<const KnownTasks>(known_tasks(home_folder()));
    for (const Source& source : sources({.home = home_folder(), .artifacts = {}, .store = {}}, known))
        if (source.key.find("/seeds/") != std::string::npos)
            source.read([&](Document document) { seeds.push_back(std::move(document)); });
    fs::create_directories(folder);
    const fs::path generation = new_generation(folder);
    const auto writer = open_index_writer(generation, Opening::fresh);
    Rng rng(1);
    for (size_t number = 0; number < count; ++number) writer->put(engine_document(made_up(seeds, tasks, number, rng)));
    writer->commit();
    publish_generation(folder, generation);
}

Json speed(size_t count, const fs::path& folder) {
    using Clock = std::chrono::steady_clock;
    constexpr size_t kQueries = 300;
    const std::vector<Task> tasks = Catalogue(home_folder()).tasks();
    const auto began = Clock::now();
    write_documents(folder, count, tasks);
    const double write_s = std::chrono::duration<double>(Clock::now() - began).count();
    const auto opening = Clock::now();
    const KernelIndex index(folder);
    const double open_ms = std::chrono::duration<double, std::milli>(Clock::now() - opening).count();
    Rng rng(2);
    std::vector<double> ms;
    for (size_t number = 0; number < kQueries; ++number) {
        IndexQuery query{.text = made_up_query(tasks, number, rng)};
        if (number % 2 == 0) {
            const Task& task = tasks[rng.below(tasks.size())];
            query.task = task.name;
            query.op = task.op->name;
            query.family = task.family;
        }
        const auto start = Clock::now();
        index.query(query);
        ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    }
    std::vector<double> sorted = ms;
    std::sort(sorted.begin(), sorted.end());
    return {{"version", kVersion},
            {"documents", index.size()},
            {"write_seconds", write_s},
            {"open_ms", open_ms},
            {"queries", kQueries},
            {"median_ms", at_share(sorted, 0.5)},
            {"p95_ms", at_share(sorted, 0.95)},
            {"max_ms", sorted.back()},
            {"samples_ms", ms}};
}

int run(std::span<char*> words) {
    const std::string what = words.size() > 2 ? words[1] : "";
    if (what == "worth")
        std::puts(dump(worth(words[2]), 1).c_str());
    else if (what == "speed")
        std::puts(dump(speed(std::stoul(words[2]), words.size() > 3 ? words[3] : "artifacts/speed_index"), 1).c_str());
    else
        throw UsageError("usage: retrieval worth INDEX | speed N [FOLDER]");
    return 0;
}

}  // namespace
}  // namespace recuda

int main(int count, char** words) {
    try {
        return recuda::run({words, static_cast<size_t>(count)});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "retrieval: error: %s\n", error.what());
        return 1;
    }
}

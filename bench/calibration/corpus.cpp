#include "calibration/corpus.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "task/catalogue.h"

namespace recuda::calibration {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kManyTokens = 1024;
constexpr int64_t kMostBytes = 64 << 20;  // of one workload

TaskEntry task_entry(Catalogue& catalogue, const std::string& name, const std::vector<std::string>& others,
                     const fs::path& folder) {
    TaskEntry entry{catalogue.task(name), {}, {}};
    entry.workloads = entry.task.bench;
    Axes many = entry.workloads.back();
    many["T"] = kManyTokens;
    if (bytes_of(entry.task, many) <= kMostBytes) entry.workloads.push_back(many);
    for (const fs::path& path : seed_files(*entry.task.op))
        entry.files.push_back(std::make_shared<const KernelFile>(read_kernel_file(path)));
    for (const std::string& other : others)
        entry.files.push_back(std::make_shared<const KernelFile>(read_kernel_file(folder / "kernels" / other)));
    return entry;
}

/// One launch for every value of `each` (NAME: [values]), which becomes a definition.
void add_micros(std::vector<Micro>& micros, const Json& row, const fs::path& folder) {
    Micro micro{
        row.at("op"), folder / "kernels" / row.at("file").get<std::string>(), {}, row.at("launch"), row.at("buffers")};
    if (row.contains("defines"))
        for (const auto& [name, value] : row.at("defines").items()) micro.defines[name] = value.dump();
    if (!row.contains("each")) {
        micros.push_back(std::move(micro));
        return;
    }
    for (const Json& point : row.at("each")) {
        for (const auto& [name, value] : point.items()) micro.defines[name] = value.dump();
        micros.push_back(micro);
    }
}

}  // namespace

Corpus read_corpus(const fs::path& home, const fs::path& folder) {
    const fs::path path = folder / "corpus.json";
    const Json json = parse_json(read_file(path, 1 << 20), path.string());
    Catalogue catalogue(home);
    Corpus corpus;
    for (const auto& [name, others] : json.at("tasks").items())
        corpus.tasks.push_back(task_entry(catalogue, name, others.get<std::vector<std::string>>(), folder));
    for (const Json& row : json.at("micros")) add_micros(corpus.micros, row, folder);
    return corpus;
}

std::vector<Candidate> spread_candidates(const std::shared_ptr<const KernelFile>& file, const TaskEntry& entry,
                                         size_t points, const DeviceLimits& limits) {
    const std::vector<Point> legal = legal_points(*file, entry.workloads, limits);
    std::vector<Candidate> candidates;
    const size_t count = std::min(points, legal.size());
    for (size_t i = 0; i < count; ++i) {
        const size_t index = count == 1 ? 0 : i * (legal.size() - 1) / (count - 1);
        candidates.push_back(make_candidate(file, legal[index]));
    }
    return candidates;
}

}  // namespace recuda::calibration

#include "retrieval/index.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "retrieval/document.h"
#include "retrieval/engine.h"
#include "retrieval/excerpt.h"
#include "retrieval/generations.h"
#include "retrieval/refresh.h"
#include "retrieval/tokens.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

// Shares of the best match by words. The op's are more than a half of it, so that any kernel of the op comes before
// what fits the words by halves, and a note that fits them well still comes before a kernel that does not.
constexpr double kOp = 0.6, kTask = 0.25, kFamily = 0.1, kLanguage = 0.05, kTarget = 0.05, kPrior = 0.2;
constexpr size_t kMost = 1000;

std::vector<std::string> fields(const char* key, const std::vector<std::string>& values) {
    std::vector<std::string> made;
    for (const std::string& value : values) made.push_back(std::string(key) + ":" + value);
    return made;
}

EngineQuery engine_query(const IndexQuery& query) {
    EngineQuery made{
        .terms = query_words(query.text), .prior_share = kPrior, .at_most = std::min(query.at_most, kMost)};
    const auto want = [&](const char* key, const std::string& value, double share) {
        if (!value.empty()) made.wanted.emplace_back(std::string(key) + ":" + value, share);
    };
    want("op", query.op, kOp);
    want("task", query.task, kTask);
    want("family", query.family, kFamily);
    want("language", query.language, kLanguage);
    want("target", query.target, kTarget);
    if (!query.kinds.empty()) made.one_of.push_back(fields("kind", query.kinds));
    if (query.right)
        made.one_of.push_back({"outcome:correct", "kind:kernel", "kind:seed", "kind:reference", "kind:note"});
    made.none_of = fields("task", query.without_tasks);
    for (std::string& field : fields("family", query.without_families)) made.none_of.push_back(std::move(field));
    return made;
}

}  // namespace

struct KernelIndex::Parts {
    fs::path folder;
    std::unique_ptr<IndexReader> reader;

    template <typename Function>
    auto read(Function&& function) const {
        try {
            return function(*reader);
        } catch (const std::exception& error) {
            throw damaged_index(folder, error.what());
        }
    }
};

KernelIndex::KernelIndex(const fs::path& folder) : parts_(std::make_unique<Parts>()) {
    parts_->folder = folder;
    find_index_engine();
    const fs::path database = index_database(folder);
    try {
        parts_->reader = open_index_reader(database);
    } catch (const Error& first) {
        // A build elsewhere may have put another database in its place meanwhile.
        const fs::path newer = index_database(folder);
        if (newer == database) throw damaged_index(folder, first.what());
        parts_->reader = open_index_reader(newer);
    }
}

KernelIndex::KernelIndex(KernelIndex&&) noexcept = default;
KernelIndex::~KernelIndex() = default;

std::vector<Found> KernelIndex::query(const IndexQuery& query) const {
    if (query.at_most == 0) return {};
    return parts_->read([&](IndexReader& reader) {
        const EngineQuery asked = engine_query(query);
        std::vector<Found> found;
        if (!query.text.empty() && asked.terms.empty() && asked.wanted.empty()) return found;
        const EngineHits hits = reader.search(asked);
        for (const EngineHits::Hit& hit : hits.hits) {
            Document document = document_from_data(hit.data);
            found.push_back({.document = std::move(document.name),
                             .kind = std::move(document.kind),
                             .score = hit.score,
                             .excerpt = excerpt(document.text, hits.weight)});
        }
        // Equal ones by name, so that the order does not depend on the order in which they came into the index.
        std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
            return a.score != b.score ? a.score > b.score : a.document < b.document;
        });
        return found;
    });
}

Document KernelIndex::read(std::string_view document) const {
    const auto data = parts_->read([&](IndexReader& reader) { return reader.data(std::string(document)); });
    if (!data) throw Error("the kernel index has no document {}", one_line(document, 200));
    return document_from_data(*data);
}

std::string KernelIndex::text(std::string_view document) const { return read(document).text; }

std::string KernelIndex::kernel(std::string_view document) const {
    const Document found = read(document);
    return found.kernel_at && *found.kernel_at <= found.text.size() ? found.text.substr(*found.kernel_at) : "";
}

size_t KernelIndex::size() const {
    return parts_->read([](IndexReader& reader) { return static_cast<size_t>(reader.size()); });
}

fs::path index_folder() { return "artifacts/kernel_index"; }

void make_index_current(const std::string& db) { refresh_index(index_folder(), usual_places(db)); }

}  // namespace recuda

#include "search/documents.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace recuda {
namespace {

constexpr size_t kMostTextBytes = 64 << 10;

Json to_json(const IndexQuery& query, bool kernels) {
    return {{"text", json_text(query.text)}, {"task", json_text(query.task)},
            {"op", json_text(query.op)},     {"family", json_text(query.family)},
            {"language", query.language},    {"target", query.target},
            {"kinds", query.kinds},          {"at_most", query.at_most},
            {"right", query.right},          {"kernels", kernels}};
}

Json to_json(const ShownDocument& document) {
    return {{"document", json_text(document.found.document)},
            {"kind", document.found.kind},
            {"score", json_number(document.found.score)},
            {"excerpt", json_text(document.found.excerpt)},
            {"text", json_text(document.text)}};
}

ShownDocument document_from_json(const Json& json) {
    ShownDocument document;
    json.at("document").get_to(document.found.document);
    json.at("kind").get_to(document.found.kind);
    document.found.score = number_from_json(json.at("score"));
    json.at("excerpt").get_to(document.found.excerpt);
    json.at("text").get_to(document.text);
    return document;
}

}  // namespace

Documents::Documents(const KernelIndex& index, std::filesystem::path file) : index_(index), file_(std::move(file)) {
    std::error_code ignored;
    if (!std::filesystem::exists(file_, ignored)) return;
    const std::string text = read_own_file(file_);
    for (const std::string_view line : split_lines(std::string_view(text).substr(0, text.rfind('\n') + 1))) {
        try {
            const Json json = Json::parse(line);
            std::vector<ShownDocument> documents;
            for (const Json& one : json.at("documents")) documents.push_back(document_from_json(one));
            known_[dump(json.at("query"))] = std::move(documents);
        } catch (const Json::exception& problem) {
            throw Error("{}: a damaged line ({}); name another folder with --out-dir", shown(file_), problem.what());
        }
    }
}

const std::vector<ShownDocument>& Documents::find(const IndexQuery& query, bool kernels) {
    const Json asked = to_json(query, kernels);
    const auto known = known_.find(dump(asked));
    if (known != known_.end()) return known->second;
    std::vector<ShownDocument> documents;
    for (Found& found : index_.query(query)) {
        std::string text = kernels ? index_.kernel(found.document) : "";
        if (kernels && text.empty()) continue;
        documents.push_back({std::move(found), std::move(text)});
    }
    return keep(asked, documents);
}

const std::string& Documents::text(const std::string& document) {
    const Json asked{{"read", json_text(document)}};
    const auto known = known_.find(dump(asked));
    if (known != known_.end()) return known->second.at(0).text;
    return keep(asked, {{{.document = document}, bounded(index_.text(document), kMostTextBytes)}}).at(0).text;
}

/// Writes an answer down and gives it back as it is read again.
std::vector<ShownDocument>& Documents::keep(const Json& asked, const std::vector<ShownDocument>& documents) {
    Json list = Json::array();
    for (const ShownDocument& one : documents) list.push_back(to_json(one));
    append_line(file_, dump({{"query", asked}, {"documents", list}}));
    std::vector<ShownDocument> kept;
    for (const Json& one : list) kept.push_back(document_from_json(one));
    return known_[dump(asked)] = std::move(kept);
}

}  // namespace recuda

#include "retrieval/document.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "retrieval/tokens.h"

namespace recuda {
namespace {

constexpr uint32_t kTitleTimes = 4;
constexpr size_t kSniffedBytes = 8192;

/// Members that are text, by the key under which the data has them.
struct TextMember {
    const char* key;
    std::string Document::*member;
};
constexpr TextMember kTexts[] = {
    {"name", &Document::name},     {"kind", &Document::kind},       {"op", &Document::op},
    {"family", &Document::family}, {"task", &Document::task},       {"language", &Document::language},
    {"target", &Document::target}, {"outcome", &Document::outcome}, {"digest", &Document::digest},
    {"when", &Document::when},     {"title", &Document::title},     {"text", &Document::text},
    {"words", &Document::words}};
/// Those that are matched whole.
constexpr TextMember kFields[] = {{"op", &Document::op},         {"family", &Document::family},
                                  {"task", &Document::task},     {"language", &Document::language},
                                  {"target", &Document::target}, {"outcome", &Document::outcome},
                                  {"kind", &Document::kind}};

/// 1 at 100 ns, 0 at a second and beyond; falls with the logarithm.
double share_of_speed(double ns) { return std::clamp(1 - std::log10(std::max(ns, 1.0) / 100) / 7, 0.0, 1.0); }

double prior_of_candidate(const Document& document) {
    if (document.outcome != "correct") return document.outcome == "build_failed" ? 0.05 : 0.1;
    if (document.median_ns) return 0.7 + 0.3 * share_of_speed(*document.median_ns);
    return 0.5 + 0.2 * (document.estimate ? share_of_speed(*document.estimate) : 0);
}

std::optional<double> number_in(const Json& json, const char* key) {
    return json.contains(key) ? std::optional(json.at(key).get<double>()) : std::nullopt;
}

}  // namespace

std::optional<std::string> document_text(std::string_view source) {
    if (source.substr(0, kSniffedBytes).find('\0') != std::string_view::npos) return std::nullopt;
    return bounded(source, kLongestText);
}

double prior_of(const Document& document) {
    if (document.kind == "kernel") return 1;
    if (document.kind == "candidate") return prior_of_candidate(document);
    if (document.kind == "seed") return 0.45;
    return document.kind == "note" ? 0.3 : 0.2;
}

EngineDocument engine_document(const Document& document) {
    EngineDocument made{.name = document.name, .same = document.digest, .prior = prior_of(document)};
    Json data = Json::object();
    for (const TextMember& text : kTexts)
        if (!(document.*text.member).empty()) data[text.key] = json_text(document.*text.member);
    if (document.median_ns) data["median_ns"] = *document.median_ns;
    if (document.estimate) data["estimate"] = *document.estimate;
    if (document.kernel_at) data["kernel_at"] = *document.kernel_at;
    made.data = dump(data);
    for (const TextMember& field : kFields)
        if (!(document.*field.member).empty())
            made.fields.push_back(std::string(field.key) + ":" + document.*field.member);
    count_words(document.title, kTitleTimes, made.terms);
    for (const std::string* text : {&document.text, &document.words, &document.op, &document.task, &document.digest})
        count_words(*text, 1, made.terms);
    return made;
}

Document document_from_data(const std::string& data) {
    const Json json = parse_json(data, "a document of the kernel index");
    Document document;
    for (const TextMember& text : kTexts) document.*text.member = json.value(text.key, "");
    document.median_ns = number_in(json, "median_ns");
    document.estimate = number_in(json, "estimate");
    if (json.contains("kernel_at")) document.kernel_at = json.at("kernel_at").get<size_t>();
    return document;
}

}  // namespace recuda

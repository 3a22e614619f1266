// A document of the kernel index, before it becomes terms: what is known of a kernel, or a note.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "retrieval/engine.h"

namespace recuda {

inline constexpr size_t kLongestText = size_t{1} << 16;

struct Document {
    std::string name, kind;                 // as in Found
    std::string op, family, task;           // "" where it is of none
    std::string language, target, outcome;  // likewise
    std::string digest;                     // of a candidate
    std::string when;                       // of a candidate's evaluation, UTC
    std::string title;                      // what it is about: words that count most
    std::optional<double> median_ns, estimate;
    std::string text;   // at most kLongestText; what a reader gets
    std::string words;  // found by these too, not read
    /// Where in `text` a kernel file begins that goes to its end; none where there is none, or a part of one.
    std::optional<size_t> kernel_at;
};

/// A source as the text of a document: UTF-8 and bounded. nullopt for a binary file.
std::optional<std::string> document_text(std::string_view source);

/// How good a document is before anything is asked, 0 to 1: checked-in kernels, right candidates by their speed
/// (measured ones before estimated ones), seeds, notes, references, candidates that were not right.
double prior_of(const Document& document);

EngineDocument engine_document(const Document& document);

/// What `engine_document` keeps as data, read again.
Document document_from_data(const std::string& data);

}  // namespace recuda

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lm/adapter.h"
#include "lm/python_text.h"
#include "targets.h"

namespace recuda::fuzz {
namespace {

/// One field of each kind.
Signature signature() {
    using Kind = FieldType::Kind;
    const FieldType text, whole{.kind = Kind::integer};
    return {
        .instructions = "",
        .inputs = {},
        .outputs = {{.name = "code"},
                    {.name = "n", .type = {.kind = Kind::optional, .element = {whole}}, .at_least = -5},
                    {.name = "ok", .type = {.kind = Kind::optional, .element = {{.kind = Kind::boolean}}}},
                    {.name = "tags", .type = {.kind = Kind::optional, .element = {{Kind::list, {}, {text}}}}},
                    {.name = "backend", .type = {.kind = Kind::optional, .element = {{Kind::literal, {"a", "b"}, {}}}}},
                    {.name = "f", .type = {.kind = Kind::optional, .element = {{.kind = Kind::number}}}},
                    {.name = "note", .type = {.kind = Kind::optional, .element = {text}}}}};
}

}  // namespace

void try_answer(std::string_view input) {
    static const Signature kSignature = signature();
    FieldValues values;
    try {
        values = parse_answer(kSignature, std::string(input));
    } catch (const AnswerError& error) {
        return expect_line(error.what());
    }
    const std::string written = python_json(nlohmann::json(values), 2);
    if (parse_answer(kSignature, written) == values) return;
    std::fprintf(stderr, "read otherwise the second time: %s\n", written.c_str());
    std::abort();
}

}  // namespace recuda::fuzz

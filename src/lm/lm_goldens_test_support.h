// What the tests of programs share: outputs of Python's DSPy below tests/goldens/lm, and the signature they are of.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "lm/signature.h"

namespace recuda {

inline std::string golden_path(const std::string& name) {
    return std::string(RECUDA_SOURCE_DIR) + "/tests/goldens/lm/" + name;
}

inline nlohmann::json golden(const std::string& name) { return nlohmann::json::parse(read_file(golden_path(name))); }

inline FieldType literal(std::vector<std::string> choices) {
    return {.kind = FieldType::Kind::literal, .literals = std::move(choices)};
}
inline FieldType list_of(FieldType element) { return {.kind = FieldType::Kind::list, .element = {std::move(element)}}; }
inline FieldType optional(FieldType element) {
    return {.kind = FieldType::Kind::optional, .element = {std::move(element)}};
}
inline FieldType of(FieldType::Kind kind) { return {.kind = kind}; }

/// The signature of the messages and of prog.json and cot.json.
inline Signature golden_signature() {
    using Kind = FieldType::Kind;
    return {.instructions = "Write a Triton kernel for the task.\n\nReturn only code that compiles.",
            .inputs = {{.name = "task", .description = "task description"},
                       {.name = "reference"},
                       {.name = "retrieved", .type = list_of({}), .description = "related kernels"}},
            .outputs = {{.name = "reasoning"},
                        {.name = "code", .description = "python source"},
                        {.name = "backend", .type = literal({"triton", "cutlass"})},
                        {.name = "confidence", .type = of(Kind::number)},
                        {.name = "tags", .type = list_of({})},
                        {.name = "ok", .type = of(Kind::boolean)},
                        {.name = "note", .type = optional({})},
                        {.name = "blocks", .type = of(Kind::integer), .at_least = 1, .at_most = 1024}}};
}

}  // namespace recuda

// Signatures as DSPy has them: instructions, and typed input and output fields (dspy 3.3, signatures/signature.py).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recuda {

/// The types of fields that prompts can state and answers be read as.
struct FieldType {
    enum class Kind { text, integer, number, boolean, literal, list, optional } kind = Kind::text;
    std::vector<std::string> literals;  // of a literal
    std::vector<FieldType> element;     // one, of a list or an optional

    bool operator==(const FieldType&) const = default;
};

struct Field {
    std::string name;
    FieldType type;
    std::string description;                  // "": none
    std::optional<double> at_least, at_most;  // ge, le

    bool operator==(const Field&) const = default;
};

struct Signature {
    std::string instructions;
    std::vector<Field> inputs, outputs;

    const Field* input(std::string_view name) const;
    const Field* output(std::string_view name) const;
};

/// The signature with `reasoning` before its other outputs: what dspy.ChainOfThought makes of it.
Signature with_reasoning(Signature signature);

/// "str", "list[str]", "Literal['a', 'b']", "Union[str, NoneType]": as DSPy's prompts name a type.
std::string name(const FieldType& type);

/// "Error Log:" of "error_log": the prefix that saved states hold.
std::string prefix_of(std::string_view field);

}  // namespace recuda

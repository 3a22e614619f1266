#include "lm/adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "lm/field_value.h"
#include "lm/python_text.h"

namespace recuda {
namespace {

using Json = nlohmann::json;
using Kind = FieldType::Kind;

constexpr std::string_view kIndent = "        ";
constexpr const char* kNotSupplied = "Not supplied for this particular example. ";

std::string marker(std::string_view field) { return fmt::format("[[ ## {} ## ]]", field); }

/// The JSON schema that pydantic gives for a type, `type` first.
nlohmann::ordered_json schema(const FieldType& type) {
    switch (type.kind) {
        case Kind::text:
            return {{"type", "string"}};
        case Kind::integer:
            return {{"type", "integer"}};
        case Kind::number:
            return {{"type", "number"}};
        case Kind::boolean:
            return {{"type", "boolean"}};
        case Kind::list:
            return {{"type", "array"}, {"items", schema(type.element.at(0))}};
        case Kind::optional:
            return {{"anyOf", {schema(type.element.at(0)), {{"type", "null"}}}}};
        case Kind::literal:
            break;
    }
    if (type.literals.size() == 1) return {{"type", "string"}, {"const", type.literals[0]}};
    return {{"type", "string"}, {"enum", type.literals}};
}

std::string with_bounds(const Field& field) {
    std::vector<std::string> bounds;
    if (field.at_least) bounds.push_back(fmt::format("greater than or equal to: {}", *field.at_least));
    if (field.at_most) bounds.push_back(fmt::format("less than or equal to: {}", *field.at_most));
    return bounds.empty() ? "" : "\nConstraints: " + joined(bounds, ", ");
}

std::string field_list(const std::vector<Field>& fields) {
    std::vector<std::string> lines;
    for (const Field& field : fields)
        lines.push_back(fmt::format("{}. `{}` ({}): {}{}", lines.size() + 1, field.name, name(field.type),
                                    field.description, with_bounds(field)));
    return std::string(python_strip(joined(lines, "\n")));
}

/// "{name}", for outputs with what their values must be.
std::string placeholder(const Field& field, bool with_type) {
    const auto note = [&field, with_type]() -> std::string {
        if (!with_type) return "";
        switch (field.type.kind) {
            case Kind::text:
                return "";
            case Kind::boolean:
                return "must be True or False";
            case Kind::integer:
            case Kind::number:
                return "must be a single " + name(field.type) + " value";
            case Kind::literal:
                return "must exactly match (no extra characters) one of: " + joined(field.type.literals, "; ");
            default:
                return "must adhere to the JSON schema: " + python_json(schema(field.type));
        }
    }();
    if (note.empty()) return fmt::format("{{{}}}", field.name);
    return fmt::format("{{{}}}{}# note: the value you produce {}", field.name, kIndent, note);
}

using TextOf = std::function<std::string(const Field&)>;

/// Each field below its marker.
std::string sections(const std::vector<Field>& fields, const TextOf& text) {
    std::vector<std::string> parts;
    for (const Field& field : fields) parts.push_back(marker(field.name) + "\n" + text(field));
    return std::string(python_strip(joined(parts, "\n\n")));
}

/// The outputs as an answer in the adapter's form.
std::string outputs_in_form(AdapterKind adapter, const Signature& signature,
                            const std::function<Json(const Field&)>& value) {
    if (adapter == AdapterKind::chat)
        return sections(signature.outputs, [&value](const Field& f) { return format_value(f.type, value(f)); });
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const Field& field : signature.outputs) object[field.name] = value(field);
    return python_json(object, 2);
}

std::string structure(AdapterKind adapter, const Signature& signature) {
    const std::string inputs = sections(signature.inputs, [](const Field& f) { return placeholder(f, false); });
    const std::string outputs =
        outputs_in_form(adapter, signature, [](const Field& field) { return Json(placeholder(field, true)); });
    const std::string opening =
        "All interactions will be structured in the following way, with the appropriate values filled in.\n\n";
    if (adapter == AdapterKind::chat) return opening + inputs + "\n\n" + outputs + "\n\n" + marker("completed");
    return opening + "Inputs will have the following structure:\n\n" + inputs +
           "\n\nOutputs will be a JSON object with the following fields.\n\n" + outputs;
}

/// Tabs as blanks up to each eighth column, as str.expandtabs has them.
std::string without_tabs(std::string_view text) {
    constexpr size_t kColumns = 8;
    std::string expanded;
    size_t column = 0;
    for (const char c : text) {
        if (c == '\t') {
            const size_t blanks = kColumns - column % kColumns;
            expanded.append(blanks, ' ');
            column += blanks;
            continue;
        }
        expanded += c;
        if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++column;  // a byte that begins a character
        if (c == '\n' || c == '\r') column = 0;
    }
    return expanded;
}

/// The lines of instructions as inspect.cleandoc gives them: without the indentation that all but the first share, and
/// without blank lines at both ends.
std::vector<std::string> cleaned_lines(std::string_view instructions) {
    const std::string text = without_tabs(instructions);
    std::vector<std::string> lines;
    size_t margin = std::string::npos;
    for (std::string_view line : split(text, '\n')) {
        const size_t indent = line.find_first_not_of(' ');
        if (indent == std::string_view::npos) line = {};
        if (lines.empty())
            line.remove_prefix(line.empty() ? 0 : indent);
        else if (!line.empty())
            margin = std::min(margin, indent);
        lines.emplace_back(line);
    }
    for (size_t i = 1; i < lines.size(); ++i) lines[i].erase(0, std::min(margin, lines[i].size()));
    const auto is_blank = [](const std::string& line) { return line.empty(); };
    lines.erase(std::ranges::find_if_not(lines.rbegin(), lines.rend(), is_blank).base(), lines.end());
    lines.erase(lines.begin(), std::ranges::find_if_not(lines, is_blank));
    return lines;
}

std::string objective(std::string_view instructions) {
    const std::string text = joined(cleaned_lines(instructions), "\n");
    std::string shown = "In adhering to this structure, your objective is: ";
    for (std::string_view rest = text; !rest.empty();) shown += fmt::format("\n{}{}", kIndent, take_line(rest));
    return shown;
}

std::string system_text(AdapterKind adapter, const Signature& signature) {
    return fmt::format("Your input fields are:\n{}\nYour output fields are:\n{}\n{}\n{}", field_list(signature.inputs),
                       field_list(signature.outputs), structure(adapter, signature), objective(signature.instructions));
}

std::string user_text(const Signature& signature, const FieldValues& inputs, std::string_view before,
                      std::string_view after) {
    std::vector<std::string> parts{std::string(before)};
    for (const Field& field : signature.inputs)
        if (const auto value = inputs.find(field.name); value != inputs.end())
            parts.push_back(marker(field.name) + "\n" + format_value(field.type, value->second));
    parts.emplace_back(after);
    return std::string(python_strip(joined(parts, "\n\n")));
}

std::string demo_answer(AdapterKind adapter, const Signature& signature, const FieldValues& demo) {
    const std::string answer = outputs_in_form(adapter, signature, [&demo](const Field& field) {
        const auto value = demo.find(field.name);
        return value == demo.end() ? Json(kNotSupplied) : value->second;
    });
    return adapter == AdapterKind::chat ? answer + "\n\n" + marker("completed") + "\n" : answer;
}

bool is_complete(const Signature& signature, const FieldValues& demo) {
    const auto has = [&demo](const Field& field) {
        const auto value = demo.find(field.name);
        return value != demo.end() && !value->second.is_null();
    };
    return std::ranges::all_of(signature.inputs, has) && std::ranges::all_of(signature.outputs, has);
}

bool shows_something(const Signature& signature, const FieldValues& demo) {
    const auto has = [&demo](const Field& field) { return demo.contains(field.name); };
    return std::ranges::any_of(signature.inputs, has) && std::ranges::any_of(signature.outputs, has);
}

}  // namespace

std::vector<Message> format_messages(AdapterKind adapter, const Signature& signature,
                                     const std::vector<FieldValues>& demos, const FieldValues& inputs) {
    constexpr std::string_view kIncomplete =
        "This is an example of the task, though some input or output fields are not supplied.";
    std::vector<Message> messages{{"system", system_text(adapter, signature)}};
    for (const bool complete : {false, true}) {
        for (const FieldValues& demo : demos) {
            if (is_complete(signature, demo) != complete || !shows_something(signature, demo)) continue;
            messages.push_back({"user", user_text(signature, demo, complete ? "" : kIncomplete, "")});
            messages.push_back({"assistant", demo_answer(adapter, signature, demo)});
        }
    }
    messages.push_back({"user", user_text(signature, inputs, "", required_form(adapter, signature))});
    return messages;
}

std::string required_form(AdapterKind adapter, const Signature& signature) {
    std::vector<std::string> fields;
    for (const Field& field : signature.outputs) {
        const std::string shown = adapter == AdapterKind::chat ? marker(field.name) : field.name;
        const std::string type =
            field.type.kind == Kind::text ? "" : " (must be formatted as a valid Python " + name(field.type) + ")";
        fields.push_back("`" + shown + "`" + type);
    }
    const std::string list = joined(fields, ", then ");
    if (adapter == AdapterKind::json)
        return "Respond with a JSON object in the following order of fields: " + list + ".";
    return "Respond with the corresponding output fields, starting with the field " + list +
           ", and then ending with the marker for `" + marker("completed") + "`.";
}

}  // namespace recuda

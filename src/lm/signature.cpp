#include "lm/signature.h"

#include <algorithm>
#include <cctype>
#include <regex>

#include "base/text.h"

namespace recuda {
namespace {

const Field* find(const std::vector<Field>& fields, std::string_view name) {
    const auto found = std::ranges::find(fields, name, &Field::name);
    return found == fields.end() ? nullptr : &*found;
}

/// A text as an argument of Literal[…].
std::string quoted(const std::string& text) {
    const bool single = text.find('\'') != std::string::npos, twofold = text.find('"') != std::string::npos;
    if (!single) return "'" + text + "'";
    if (!twofold) return "\"" + text + "\"";
    return "'" + std::regex_replace(text, std::regex("'"), "\\'") + "'";
}

/// str.capitalize of a word that is not all capitals.
std::string title_cased(std::string_view word) {
    const auto is = [word](int (*what)(int)) {
        return std::ranges::any_of(word, [what](unsigned char c) { return what(c) != 0; });
    };
    std::string cased(word);
    if (is(std::isupper) && !is(std::islower)) return cased;
    for (size_t i = 0; i < cased.size(); ++i) {
        const auto c = static_cast<unsigned char>(cased[i]);
        cased[i] = static_cast<char>(i == 0 ? std::toupper(c) : std::tolower(c));
    }
    return cased;
}

}  // namespace

const Field* Signature::input(std::string_view name) const { return find(inputs, name); }

const Field* Signature::output(std::string_view name) const { return find(outputs, name); }

Signature with_reasoning(Signature signature) {
    signature.outputs.insert(signature.outputs.begin(), Field{.name = "reasoning"});
    return signature;
}

std::string name(const FieldType& type) {
    using Kind = FieldType::Kind;
    switch (type.kind) {
        case Kind::text:
            return "str";
        case Kind::integer:
            return "int";
        case Kind::number:
            return "float";
        case Kind::boolean:
            return "bool";
        case Kind::list:
            return "list[" + name(type.element.at(0)) + "]";
        case Kind::optional:
            return "Union[" + name(type.element.at(0)) + ", NoneType]";
        case Kind::literal:
            break;
    }
    std::vector<std::string> choices;
    for (const std::string& literal : type.literals) choices.push_back(quoted(literal));
    return "Literal[" + joined(choices, ", ") + "]";
}

std::string prefix_of(std::string_view field) {
    // The four steps of DSPy's infer_prefix, in its order: each sees what the one before it made.
    static const std::regex steps[] = {std::regex("(.)([A-Z][a-z]+)"), std::regex("([a-z0-9])([A-Z])"),
                                       std::regex("([a-zA-Z])([0-9])"), std::regex("([0-9])([a-zA-Z])")};
    std::string parted(field);
    for (const std::regex& step : steps) parted = std::regex_replace(parted, step, "$1_$2");
    std::vector<std::string> words;
    for (const std::string_view word : split(parted, '_')) words.push_back(title_cased(word));
    return joined(words, " ") + ":";
}

}  // namespace recuda

#include "lm/dspy_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"

namespace recuda {
namespace {

using State = nlohmann::ordered_json;
using Type = State::value_t;

/// A member of that type; `where` is what messages call the object.
const State& member(const State& object, const std::string& key, Type type, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end()) throw Error("{} has no `{}`", where, key);
    const std::string_view kind = State(type).type_name();
    if (found->type() != type) throw Error("`{}` of {} must be {} {}", key, where, kind == "string" ? "a" : "an", kind);
    return *found;
}

/// A member that may be absent, an empty array then.
const State& array_or_none(const State& object, const std::string& key, const std::string& where) {
    static const State none = State::array();
    return object.contains(key) ? member(object, key, Type::array, where) : none;
}

std::string called(const std::string& path) { return "predictor `" + one_line(path, 100) + "`"; }

bool is_flat(const std::vector<Predictor>& predictors) {
    return predictors.size() == 1 && predictors[0].path == "self";
}

std::vector<Field*> fields_of(Signature& signature) {
    std::vector<Field*> fields;
    for (Field& field : signature.inputs) fields.push_back(&field);
    for (Field& field : signature.outputs) fields.push_back(&field);
    return fields;
}

std::vector<const Field*> fields_of(const Signature& signature) {
    std::vector<const Field*> fields;
    for (const Field& field : signature.inputs) fields.push_back(&field);
    for (const Field& field : signature.outputs) fields.push_back(&field);
    return fields;
}

/// What stands for no description, and the reverse.
std::string no_description(const Field& field) { return "${" + field.name + "}"; }

std::string read_description(const Field& field, const std::string& text) {
    return text == no_description(field) ? "" : text;
}

void check_metadata(const State& document) {
    static const std::set<std::string> kKnown{"python", "dspy", "cloudpickle"};
    const State& metadata = member(document, "metadata", Type::object, "the state");
    for (const auto& [key, version] : member(metadata, "dependency_versions", Type::object, "`metadata`").items())
        if (!kKnown.contains(key))
            throw Error("`metadata.dependency_versions` holds `{}`, which DSPy does not load", one_line(key, 100));
}

State names_of(const std::vector<Field>& fields) {
    State names = State::array();
    for (const Field& field : fields) names.push_back(field.name);
    return names;
}

State names_of(const Signature& signature) {
    return {{"inputs", names_of(signature.inputs)}, {"outputs", names_of(signature.outputs)}};
}

/// Null where the document does not say the names of that predictor's fields.
State saved_names(const State& document, const std::string& path) {
    const State::json_pointer place = State::json_pointer("/metadata/recuda/signatures") / path;
    return document.contains(place) ? document.at(place) : State();
}

/// Throws where the saved fields are not those of the signature, in its order.
void check_fields(const Predictor& predictor, const State& fields, const State& names) {
    const std::string where = called(predictor.path);
    if (!names.is_null() && names != names_of(predictor.signature))
        throw Error("{} has other fields here: {}, not {}", where, one_line(names.dump(-1, ' ', true), 300),
                    names_of(predictor.signature).dump());
    const std::vector<const Field*> ours = fields_of(predictor.signature);
    if (fields.size() != ours.size())
        throw Error("{} has {} fields where it must have {}", where, fields.size(), ours.size());
    for (size_t i = 0; i < ours.size(); ++i) {
        if (!fields[i].is_object()) throw Error("a field of {} must be an object", where);
        const std::string& prefix =
            member(fields[i], "prefix", Type::string, "a field of " + where).get_ref<const std::string&>();
        if (names.is_null() && prefix != prefix_of(ours[i]->name))
            throw Error("{} has the field \"{}\" where `{}` must stand", where, one_line(prefix, 100), ours[i]->name);
    }
}

FieldValues demo_from(const State& saved) {
    FieldValues demo;
    for (const auto& [key, value] : saved.items()) demo[key] = nlohmann::json(value);
    return demo;
}

void read_predictor(Predictor& predictor, const State& state, const State& names) {
    const std::string where = called(predictor.path);
    if (state.contains("extended_signature"))
        throw Error("{} was saved by a DSPy before 2.6: save it again with a newer one", where);
    if (!state.contains("lm")) throw Error("{} has no `lm`", where);
    array_or_none(state, "traces", where);
    array_or_none(state, "train", where);
    const State& signature = member(state, "signature", Type::object, where);
    const State& fields = member(signature, "fields", Type::array, where);
    check_fields(predictor, fields, names);
    predictor.signature.instructions = member(signature, "instructions", Type::string, where);
    const std::vector<Field*> ours = fields_of(predictor.signature);
    for (size_t i = 0; i < ours.size(); ++i)
        ours[i]->description =
            read_description(*ours[i], member(fields[i], "description", Type::string, "a field of " + where));
    if (!state.contains("demos")) return;
    predictor.demos.clear();
    for (const State& demo : array_or_none(state, "demos", where)) {
        if (!demo.is_object()) throw Error("a demo of {} must be an object", where);
        predictor.demos.push_back(demo_from(demo));
    }
}

/// A demo's values in the order of the fields, others after them.
State saved_demo(const Signature& signature, const FieldValues& demo) {
    State saved = State::object();
    for (const Field* field : fields_of(signature))
        if (const auto value = demo.find(field->name); value != demo.end()) saved[field->name] = State(value->second);
    for (const auto& [key, value] : demo)
        if (!saved.contains(key)) saved[key] = State(value);
    return saved;
}

State saved_demos(const Predictor& predictor, const State& before) {
    State demos = State::array();
    for (const FieldValues& demo : predictor.demos) {
        const size_t i = demos.size();
        const bool same = i < before.size() && demo_from(before[i]) == demo;
        demos.push_back(same ? before[i] : saved_demo(predictor.signature, demo));
    }
    return demos;
}

void write_predictor(const Predictor& predictor, State& state) {
    for (const char* key : {"traces", "train", "demos"})
        if (!state.contains(key)) state[key] = State::array();
    state["demos"] = saved_demos(predictor, state["demos"]);
    State& signature = state["signature"];
    signature["instructions"] = predictor.signature.instructions;
    State& fields = signature["fields"];
    const std::vector<const Field*> ours = fields_of(predictor.signature);
    for (size_t i = 0; i < ours.size(); ++i) {
        State& field = fields[i];
        if (!field.contains("prefix")) field["prefix"] = prefix_of(ours[i]->name);
        const bool same =
            field.contains("description") && read_description(*ours[i], field["description"]) == ours[i]->description;
        if (same) continue;
        field["description"] = ours[i]->description.empty() ? no_description(*ours[i]) : ours[i]->description;
    }
    if (!state.contains("lm")) state["lm"] = nullptr;
}

}  // namespace

State parse_state(std::string_view text) {
    static constexpr int kDeepest = 200;  // what DSPy itself can write is shallower than 255
    try {
        State document = State::parse(text, [](int depth, State::parse_event_t, State&) {
            if (depth > kDeepest) throw Error("it is nested deeper than {}", kDeepest);
            return true;
        });
        if (!document.is_object()) throw Error("the state must be an object");
        return document;
    } catch (const State::exception& error) {
        throw Error("this is no JSON: {}", one_line(error.what(), 300));
    }
}

std::vector<Predictor> with_state(std::vector<Predictor> predictors, const State& document) {
    check_metadata(document);
    for (Predictor& predictor : predictors) {
        const State& state =
            is_flat(predictors) ? document : member(document, predictor.path, Type::object, "the state");
        read_predictor(predictor, state, saved_names(document, predictor.path));
    }
    return predictors;
}

State state_of(const std::vector<Predictor>& predictors, State document) {
    const bool is_new = document.empty();
    for (const Predictor& predictor : predictors)
        write_predictor(predictor, is_flat(predictors) ? document : document[predictor.path]);
    if (!is_new) return document;
    State& metadata = document["metadata"];
    metadata["dependency_versions"] = State::object();
    for (const Predictor& predictor : predictors)
        metadata["recuda"]["signatures"][predictor.path] = names_of(predictor.signature);
    return document;
}

}  // namespace recuda

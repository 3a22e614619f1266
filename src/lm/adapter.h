// From a signature and values to messages, and from an answer back to values: DSPy's ChatAdapter and JSONAdapter (dspy
// 3.3, adapters/chat_adapter.py and json_adapter.py), whose messages are reproduced to the byte.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "lm/model.h"
#include "lm/signature.h"

namespace recuda {

/// Values of fields by name.
using FieldValues = std::map<std::string, nlohmann::json, std::less<>>;

enum class AdapterKind { chat, json };

/// System message, demos (incomplete ones first), the inputs.
std::vector<Message> format_messages(AdapterKind adapter, const Signature& signature,
                                     const std::vector<FieldValues>& demos, const FieldValues& inputs);

/// The sentence that ends a request and says what form the answer must have.
std::string required_form(AdapterKind adapter, const Signature& signature);

/// An answer that is not in the form: says which field is missing or wrong and what was found, bounded, in words that a
/// model can be shown.
class AnswerError : public Error {
 public:
    using Error::Error;
};

/// The outputs in an answer of either form: marked sections, or one JSON object of the fields, whatever form was asked
/// for. Throws AnswerError.
FieldValues parse_answer(const Signature& signature, const std::string& text);

}  // namespace recuda

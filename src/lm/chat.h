// OpenAI's chat completions as JSON: the request's body, and the answer in a reply.
#pragma once

#include <string>

#include "lm/http.h"
#include "lm/model.h"
#include "lm/preset.h"
#include "lm/secrets.h"

namespace recuda {

/// The body for `model`: the preset's own members, then messages, temperature and the bound of the answer.
std::string chat_body(const LmRequest& request, const Preset& preset, const std::string& model);

/// The answer in a reply. Throws LmError for a status that is none of success and for a body without an answer; what
/// was used up counts all the same.
LmResponse read_chat(const HttpReply& reply, const Secrets& secrets);

/// The first model that a reply to GET /models lists. Throws LmError.
std::string first_model(const HttpReply& reply, const Secrets& secrets);

}  // namespace recuda

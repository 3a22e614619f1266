// Messages as text: for people, and for programs that take a prompt instead of messages.
#pragma once

#include <string>
#include <vector>

#include "lm/model.h"

namespace recuda {

/// All messages below headings of their roles.
std::string readable(const std::vector<Message>& messages);

struct FlatPrompt {
    std::string system, text;
};
/// System messages on one side; on the other the user's message as it is, or, where there are several turns, each below
/// "User:" or "Assistant:".
FlatPrompt flattened(const std::vector<Message>& messages);

}  // namespace recuda

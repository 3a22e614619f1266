// Messages as text: for people, and for programs that take a prompt instead of messages.
#pragma once

#include <string>
#include <string_view>
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

/// A prompt for a program that acts on parts of what it is given: qwen and claude put the file that "@path" names into
/// the prompt, and take a text that begins with "/" for a command. A blank after each "@" and a heading above such a
/// text leave only words; `@ triton.jit` is Python as `@triton.jit` is.
std::string without_commands(std::string_view text);

}  // namespace recuda

#include "lm/conversation.h"

#include "base/text.h"

namespace recuda {

std::string readable(const std::vector<Message>& messages) {
    std::string text;
    for (const Message& message : messages) text += "# " + message.role + "\n\n" + valid_utf8(message.content) + "\n\n";
    return text;
}

FlatPrompt flattened(const std::vector<Message>& messages) {
    FlatPrompt flat;
    std::vector<const Message*> turns;
    for (const Message& message : messages) {
        if (message.role != "system") {
            turns.push_back(&message);
            continue;
        }
        if (!flat.system.empty()) flat.system += "\n\n";
        flat.system += message.content;
    }
    if (turns.size() == 1) {
        flat.text = turns[0]->content;
        return flat;
    }
    for (const Message* turn : turns) {
        if (!flat.text.empty()) flat.text += "\n\n";
        flat.text += (turn->role == "assistant" ? "Assistant:\n" : "User:\n") + turn->content;
    }
    return flat;
}

std::string without_commands(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n\v\f";
    const size_t first = text.find_first_not_of(kBlanks);
    std::string plain = first != std::string_view::npos && text[first] == '/' ? "User:\n" : "";
    for (size_t i = 0; i < text.size(); ++i) {
        plain += text[i];
        const bool names = text[i] == '@' && i + 1 < text.size() && kBlanks.find(text[i + 1]) == std::string_view::npos;
        if (names) plain += ' ';
    }
    return plain;
}

}  // namespace recuda

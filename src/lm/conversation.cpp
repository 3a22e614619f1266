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

}  // namespace recuda

#include "lm/secrets.h"

#include <cstdlib>

#include "base/text.h"

namespace recuda {

std::string environment_value(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : std::string(trimmed(value));
}

Secrets::Secrets(const std::vector<std::string>& variables) {
    constexpr size_t kShortest = 6;
    for (const std::string& variable : variables)
        if (std::string value = environment_value(variable.c_str()); value.size() >= kShortest)
            values_.push_back(std::move(value));
}

std::string Secrets::without(std::string text) const {
    constexpr std::string_view kInstead = "[key]";
    for (const std::string& value : values_)
        for (size_t at = text.find(value); at != std::string::npos; at = text.find(value, at + kInstead.size()))
            text.replace(at, value.size(), kInstead);
    return text;
}

const std::vector<std::string>& key_variables() {
    static const std::vector<std::string> names{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CODEX_API_KEY",
                                                "DASHSCOPE_API_KEY", "GLM_API_KEY",          "OPENAI_API_KEY",
                                                "ZAI_API_KEY",       "ZHIPUAI_API_KEY",      "Z_AI_API_KEY"};
    return names;
}

}  // namespace recuda

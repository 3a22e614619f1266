#include "lm/adapter.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lm/field_value.h"
#include "lm/lm_goldens_test_support.h"

namespace recuda {
namespace {

using nlohmann::json;

/// Messages as the golden files hold them.
std::string shown(const std::vector<Message>& messages) {
    std::string text;
    for (const Message& message : messages) {
        if (!text.empty()) text += '\n';
        text += "===== " + message.role + " =====\n" + message.content + "<EOM>";
    }
    return text;
}

std::vector<FieldValues> golden_demos() {
    std::vector<FieldValues> demos;
    const json saved = golden("cot.json");
    for (const json& demo : saved.at("predict").at("demos")) demos.push_back(demo.get<FieldValues>());
    return demos;
}

TEST(Adapter, MessagesAreThoseOfDspyToTheByte) {
    const FieldValues inputs{{"task", "T"}, {"reference", "def ref(x): ..."}, {"retrieved", {"k1", "k2"}}};
    EXPECT_EQ(shown(format_messages(AdapterKind::chat, golden_signature(), golden_demos(), inputs)),
              read_file(golden_path("chat_adapter_messages.txt")));
    EXPECT_EQ(shown(format_messages(AdapterKind::json, golden_signature(), golden_demos(), inputs)),
              read_file(golden_path("json_adapter_messages.txt")));
}

TEST(Adapter, ValuesAreWrittenAsPythonWritesThem) {
    const json cases = golden("format_value_cases.json");
    for (const auto& [name, c] : cases.items()) {
        const FieldType type = c.at("annotation") == "list[str]" ? list_of({}) : FieldType{};
        EXPECT_EQ(format_value(type, c.at("value")), c.at("formatted").get<std::string>()) << name;
    }
}

TEST(Adapter, DemosWithoutAnInputAndAnOutputAreLeftOut) {
    const Signature signature{.instructions = "Do.", .inputs = {{.name = "a"}}, .outputs = {{.name = "b"}}};
    const std::vector<FieldValues> demos{{{"a", "1"}}, {{"b", "2"}}, {{"c", "3"}}, {{"a", "4"}, {"b", "5"}}};
    const std::vector<Message> messages = format_messages(AdapterKind::chat, signature, demos, {{"a", "x"}});
    ASSERT_EQ(messages.size(), 4u);
    EXPECT_EQ(messages[1].content, "[[ ## a ## ]]\n4");
    EXPECT_EQ(messages[2].content, "[[ ## b ## ]]\n5\n\n[[ ## completed ## ]]\n");
}

TEST(Adapter, InstructionsAreCleanedAndEveryLineIsIndented) {
    const Signature signature{.instructions = "  One.\n  \n      Two.\n\t  Three.\n \n",
                              .inputs = {{.name = "a"}},
                              .outputs = {{.name = "b"}}};
    const std::string system = format_messages(AdapterKind::chat, signature, {}, {})[0].content;
    const std::string objective = "your objective is: \n        One.\n        \n        Two.\n            Three.";
    EXPECT_TRUE(system.ends_with(objective)) << system;
}

}  // namespace
}  // namespace recuda

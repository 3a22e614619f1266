// Answers read: every case that was put to Python's DSPy, what it does not take and we do, and hostile ones.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "lm/adapter.h"
#include "lm/lm_goldens_test_support.h"

namespace recuda {
namespace {

using nlohmann::json;
using Kind = FieldType::Kind;

/// The fields that the golden cases speak of, by name.
Field golden_field(const std::string& name) {
    static const std::map<std::string, FieldType> types{
        {"n", of(Kind::integer)},   {"ok", of(Kind::boolean)}, {"tags", list_of({})},
        {"f", of(Kind::number)},    {"note", optional({})},    {"backend", literal({"triton", "cutlass"})},
        {"reasoning", FieldType{}}, {"code", FieldType{}}};
    return {.name = name, .type = types.at(name)};
}

Signature with_outputs(const std::vector<std::string>& names) {
    Signature signature{.instructions = "Do.", .inputs = {{.name = "task"}}, .outputs = {}};
    for (const std::string& name : names) signature.outputs.push_back(golden_field(name));
    return signature;
}

const Signature kTwo = with_outputs({"reasoning", "code"});

/// The values as one object, or what AnswerError said.
json read(const Signature& signature, const std::string& answer) {
    try {
        return parse_answer(signature, answer);
    } catch (const AnswerError& error) {
        return {{"error", error.what()}};
    }
}

void expect_case(const Signature& signature, const std::string& name, const json& c) {
    const json got = read(signature, c.at("completion").get<std::string>());
    const json& wanted = c.at("result");
    if (wanted.contains("ok"))
        EXPECT_EQ(got, wanted.at("ok")) << name;
    else
        EXPECT_TRUE(got.contains("error")) << name << ": " << got;
}

TEST(Answer, MarkedSectionsAreReadAsDspyReadsThem) {
    json cases = golden("chat_parse_cases.json");
    // DSPy applies the end of a match on the stripped line to the raw line and leaves "]]" in the value.
    cases["indented_header_bug"]["result"]["ok"]["code"] = "x=1";
    for (const auto& [name, c] : cases.items()) {
        expect_case(with_outputs(c.at("fields")), name, c);
    }
}

TEST(Answer, JsonObjectsAreReadAsDspyReadsThem) {
    const json cases = golden("json_parse_cases.json");
    for (const auto& [name, c] : cases.items()) expect_case(kTwo, name, c);
}

TEST(Answer, EitherFormIsTaken) {
    const json wanted{{"reasoning", "r"}, {"code", "c"}};
    for (const char* answer : {
             R"({"reasoning": "r", "code": "c"})",
             "```json\n{\"reasoning\": \"r\", \"code\": \"c\"}\n```",
             "Here { it } is:\n\n```\n{\"reasoning\": \"r\",\n \"code\": \"c\"}\n```\nGood luck {x}!",
             "for (;;) { \"x\"; }\n{\"reasoning\": \"r\", \"code\": \"c\"}",
             R"({"answer": {"reasoning": "r", "code": "c"}})",
             R"({"code": "draft"} {"reasoning": "r", "code": "c"})",
             "[[ ## reasoning ## ]]\nr\n\n[[ ## code ## ]]\nc\n\n[[ ## completed ## ]]",
             "```\n[[ ## reasoning ## ]]\nr\n[[ ## code ## ]]\nc\n[[ ## completed ## ]]\n```",
             "<think>\n[[ ## reasoning ## ]]\ndraft\n</think>\n[[ ## reasoning ## ]]\nr\n[[ ## code ## ]]\nc",
         })
        EXPECT_EQ(read(kTwo, answer), wanted) << answer;
}

TEST(Answer, CommonFaultsOfJsonAreMended) {
    const struct {
        const char *answer, *code;
    } cases[] = {
        {R"({"reasoning": "r", "code": "c",})", "c"},
        {R"({'reasoning': 'r', 'code': 'it\'s'})", "it's"},
        {"{\"reasoning\": \"r\", \"code\": \"a\n\tb\"}", "a\n\tb"},
        {R"({reasoning: "r", code: "c"})", "c"},
        {R"({"reasoning": "r", "code": "c")", "c"},
        {R"({"reasoning": "r", "code": "#include "x.h" here"})", "#include \"x.h\" here"},
        {R"({"reasoning": "r", "code": "a\d\
b"})",
         "a\\d\\\nb"},
        {R"({"reasoning": "r", "code": "\u00e9\ud83d\ude00\ud83d!"})", "é😀\xef\xbf\xbd!"},
        {R"({"reasoning": None, "code": [True, 1.0, "x", null]})", "[True, 1.0, 'x', None]"},
    };
    for (const auto& c : cases) EXPECT_EQ(read(kTwo, c.answer).value("code", "none"), c.code) << c.answer;
}

TEST(Answer, ACutOffAnswerIsNoAnswer) {
    EXPECT_TRUE(read(kTwo, R"({"reasoning": "r", "code": "int main() {)").contains("error"));
}

TEST(Answer, ValuesAreReadAsTheirTypes) {
    const struct {
        FieldType type;
        const char *text, *value;  // value: JSON, "" where it is none of that type
    } cases[] = {
        {of(Kind::integer), "7", "7"},
        {of(Kind::integer), "7.0", "7"},
        {of(Kind::integer), "\"7\"", "7"},
        {of(Kind::integer), "```\n7\n```", "7"},
        {of(Kind::integer), "7.5", ""},
        {of(Kind::integer), "seven", ""},
        {of(Kind::integer), "1e300", ""},
        {of(Kind::number), "1e-3", "0.001"},
        {of(Kind::number), "nan", ""},
        {of(Kind::number), "1e999", ""},
        {of(Kind::boolean), "TRUE", "true"},
        {of(Kind::boolean), "no", "false"},
        {of(Kind::boolean), "2", ""},
        {literal({"triton", "cuda"}), "Literal['cuda']", "\"cuda\""},
        {literal({"triton", "cuda"}), "CUDA", ""},
        {list_of({}), "['a', \"b\",]", "[\"a\",\"b\"]"},
        {list_of(of(Kind::integer)), "[1, \"2\"]", "[1,2]"},
        {list_of({}), "[1]", ""},
        {list_of({}), "a, b", ""},
        {optional({}), "None", "\"None\""},
        {optional(of(Kind::integer)), "None", "null"},
        {optional(of(Kind::integer)), "3", "3"},
        {optional(literal({"a"})), "a", "\"a\""},
    };
    for (const auto& c : cases) {
        const Signature signature{.instructions = "", .inputs = {}, .outputs = {{.name = "x", .type = c.type}}};
        const json got = read(signature, std::string("[[ ## x ## ]]\n") + c.text);
        if (*c.value == '\0')
            EXPECT_TRUE(got.contains("error")) << c.text << got;
        else
            EXPECT_EQ(got.value("x", json("none")), json::parse(c.value)) << c.text << got;
    }
}

TEST(Answer, BoundsThatThePromptStatesHold) {
    const Field field{.name = "x", .type = of(Kind::integer), .at_least = 1, .at_most = 8};
    const Signature signature{.instructions = "", .inputs = {}, .outputs = {field}};
    EXPECT_EQ(read(signature, R"({"x": 8})"), json({{"x", 8}}));
    EXPECT_EQ(read(signature, R"({"x": 9})").at("error"), "the field `x` must be at most 8; found: 9");
    EXPECT_EQ(read(signature, R"({"x": 0})").at("error"), "the field `x` must be at least 1; found: 0");
}

TEST(Answer, ErrorsSayWhatIsWrongAndWhatWasFound) {
    const struct {
        const char *answer, *error;
    } cases[] = {
        {"", "the answer is empty; it must have `reasoning`, `code`"},
        {"[[ ## reasoning ## ]]\nr", "the answer has `reasoning` and lacks `code`"},
        {"```cuda\nint x;\n```",
         "the answer has none of the fields `reasoning`, `code`, neither as marked sections nor as a JSON object; it "
         "begins: ```cuda int x; ```"},
    };
    for (const auto& c : cases) EXPECT_EQ(read(kTwo, c.answer).at("error"), c.error);
    EXPECT_EQ(read(with_outputs({"backend"}), "[[ ## backend ## ]]\ncpu").at("error"),
              "the field `backend` must be one of triton, cutlass; found: cpu");
    EXPECT_EQ(read(with_outputs({"note"}), "nothing").at("error").get<std::string>().find("the answer has none of"),
              0u);
    const std::string endless(1 << 20, 'x');
    EXPECT_LT(read(kTwo, endless).at("error").get<std::string>().size(), 500u);
    EXPECT_LT(read(with_outputs({"n"}), "[[ ## n ## ]]\n" + endless).at("error").get<std::string>().size(), 500u);
}

std::string repeated(const std::string& piece, size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += piece;
    return text;
}

TEST(Answer, HostileAnswersAreReadInLinearTime) {
    constexpr size_t kBytes = 2 << 20;
    const std::string object = R"({"reasoning": "r", "code": "c"})";
    for (const std::string piece : {"{",
                                    "[",
                                    "{\"",
                                    "{\"a\":",
                                    "{\"a\":[",
                                    "{\"a\":\"",
                                    "{'a':{",
                                    "{a",
                                    "\"",
                                    "\\",
                                    "\\u",
                                    "{\"a\" ",
                                    "{\"a\":\" ",
                                    "\" , ",
                                    "[[ ## ",
                                    "[[ ## code",
                                    "[[ ## code ## ]]",
                                    "\n",
                                    "\r",
                                    " ",
                                    "\xe2\x80\xa8",
                                    "\xff",
                                    "<think>",
                                    "```",
                                    "```\n",
                                    "{\"code\":1}",
                                    "{}"}) {
        const std::string hostile = repeated(piece, kBytes);
        EXPECT_NO_THROW(read(kTwo, hostile)) << piece;
        EXPECT_NO_THROW(read(with_outputs({"tags"}), "[[ ## tags ## ]]\n" + hostile)) << piece;
    }
    EXPECT_EQ(read(kTwo, std::string(kBytes, ' ') + object + std::string(kBytes, '}')).value("code", ""), "c");
}

TEST(Answer, BytesThatAreNoTextDoNotStopIt) {
    using namespace std::string_literals;
    const std::string answer = "[[ ## reasoning ## ]]\n\0\xff\xfe\n[[ ## code ## ]]\na\0b\xc3"s;
    const json got = read(kTwo, answer);
    EXPECT_EQ(got.at("reasoning"), "\0\xef\xbf\xbd\xef\xbf\xbd"s);
    EXPECT_EQ(got.at("code"), "a\0b\xef\xbf\xbd"s);
    EXPECT_NO_THROW(static_cast<void>(got.dump()));
    EXPECT_EQ(read(kTwo, "{\"reasoning\": \"\0\", \"code\": \"\\u0000\xff\"}"s).at("code"), "\0\xef\xbf\xbd"s);
}

TEST(Answer, MayBeginWithAByteOrderMark) {
    const Signature signature{.instructions = "", .inputs = {}, .outputs = {{.name = "a"}, {.name = "b"}}};
    const FieldValues values = parse_answer(signature, "\xef\xbb\xbf[[ ## a ## ]]\r\n1\r\n[[ ## b ## ]]\r\n2\r\n");
    EXPECT_EQ(values.at("a"), "1");
    EXPECT_EQ(values.at("b"), "2");
}

}  // namespace
}  // namespace recuda

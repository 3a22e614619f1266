#include "lm/signature.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lm/lm_goldens_test_support.h"

namespace recuda {
namespace {

using Kind = FieldType::Kind;

TEST(Signature, TypesAreNamedAsPythonNamesThem) {
    const FieldType text, number{.kind = Kind::number};
    const struct {
        FieldType type;
        const char* name;
    } cases[] = {
        {text, "str"},
        {{.kind = Kind::integer}, "int"},
        {number, "float"},
        {{.kind = Kind::boolean}, "bool"},
        {{.kind = Kind::list, .element = {text}}, "list[str]"},
        {{.kind = Kind::list, .element = {{.kind = Kind::list, .element = {number}}}}, "list[list[float]]"},
        {{.kind = Kind::optional, .element = {text}}, "Union[str, NoneType]"},
        {{.kind = Kind::literal, .literals = {"triton", "cuda"}}, "Literal['triton', 'cuda']"},
        {{.kind = Kind::literal, .literals = {"don't", "say \"x\"", "it's \"y\""}},
         R"(Literal["don't", 'say "x"', 'it\'s "y"'])"},
    };
    for (const auto& c : cases) EXPECT_EQ(name(c.type), c.name);
}

TEST(Signature, PrefixesAreThoseOfDspy) {
    const nlohmann::json cases = golden("misc_cases.json").at("infer_prefix");
    for (const auto& [field, prefix] : cases.items())
        EXPECT_EQ(prefix_of(field), prefix.get<std::string>() + ":") << field;
}

TEST(Signature, ReasoningComesBeforeTheOtherOutputs) {
    const Signature thinking = with_reasoning({.inputs = {{.name = "task"}}, .outputs = {{.name = "kernel"}}});
    ASSERT_EQ(thinking.outputs.size(), 2u);
    EXPECT_EQ(thinking.outputs[0].name, "reasoning");
    EXPECT_EQ(thinking.outputs[0].type.kind, Kind::text);
    EXPECT_NE(thinking.output("kernel"), nullptr);
    EXPECT_EQ(thinking.output("task"), nullptr);
    EXPECT_EQ(thinking.input("task"), &thinking.inputs[0]);
}

}  // namespace
}  // namespace recuda

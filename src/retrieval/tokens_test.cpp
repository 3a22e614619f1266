#include "retrieval/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace recuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> found;
    for (const Token& token : tokens(text)) found.push_back(token.word);
    return found;
}

TEST(Tokens, identifiers_are_whole_and_in_parts) {
    EXPECT_THAT(words("nano30b_rmsnorm"), ElementsAre("nano30b_rmsnorm", "nano30b", "rmsnorm"));
    EXPECT_THAT(words("blockIdx.x"), ElementsAre("blockidx.x", "blockidx", "block", "idx", "x"));
    EXPECT_THAT(words("HTTPServer"), ElementsAre("httpserver", "http", "server"));
    EXPECT_THAT(words("__syncthreads()"), ElementsAre("syncthread"));
    EXPECT_THAT(words("kMaxBytes"), ElementsAre("kmaxbyte", "k", "max", "byte"));
    EXPECT_THAT(words("a__b"), ElementsAre("a__b", "a", "b"));
}

TEST(Tokens, digits_stay) {
    EXPECT_THAT(words("sm_90 float4 m16n8k16 4096"), ElementsAre("sm_90", "sm", "90", "float4", "m16n8k16", "4096"));
}

TEST(Tokens, instructions_are_whole_and_in_parts) {
    EXPECT_THAT(words("ld.global.v4.f32 {"), ElementsAre("ld.global.v4.f32", "ld", "global", "v4", "f32"));
    EXPECT_THAT(words("std::min(a, b);"), ElementsAre("std", "min", "a", "b"));
    EXPECT_THAT(words("The end. Next"), ElementsAre("the", "end", "next"));
}

TEST(Tokens, endings_come_off) {
    EXPECT_EQ(words("vectorised"), words("vectorize"));
    EXPECT_EQ(words("reductions"), words("reduction"));
    EXPECT_EQ(words("misaligned"), words("misalign"));
    EXPECT_THAT(words("address class ties"), ElementsAre("address", "class", "ties"));
}

TEST(Tokens, know_where_they_stand) {
    const std::string_view text = "a fooBar";
    for (const Token& token : tokens(text)) {
        std::string there(text.substr(token.at, token.bytes));
        for (char& c : there) c = static_cast<char>(std::tolower(c));
        EXPECT_EQ(there, token.word);
    }
}

TEST(Tokens, strange_text_is_fine) {
    EXPECT_THAT(words(""), IsEmpty());
    EXPECT_THAT(words("... ___ \xff\xfe \0x"), IsEmpty());
    EXPECT_THAT(words(std::string(100, 'a')), IsEmpty());
    EXPECT_THAT(words("1,7\xc2\xb5s"), ElementsAre("1", "7", "s"));
    EXPECT_EQ(words(std::string(64, 'f')).size(), 1u);  // a digest
}

TEST(Tokens, of_a_long_query_both_ends_count) {
    std::string text = "first ";
    while (text.size() < 200'000) text += "middle" + std::to_string(text.size()) + " ";
    text += "last";
    const auto found = query_words(text, 1000);
    EXPECT_THAT(found, testing::Contains("first"));
    EXPECT_THAT(found, testing::Contains("last"));
    EXPECT_LT(found.size(), 100u);
    EXPECT_EQ(query_words(text, 1 << 20, 50).size(), 50u);
    EXPECT_THAT(query_words("b a b a"), ElementsAre("b", "a"));
}

}  // namespace
}  // namespace recuda

#include "retrieval/excerpt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace recuda {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string lines(size_t count, const std::string& line) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += line + "\n";
    return text;
}

TEST(Excerpt, is_where_the_words_stand) {
    const std::string text =
        lines(100, "nothing of note") + "the wombat digs\na burrow\n" + lines(100, "nothing either");
    const std::string found = excerpt(text, {{"wombat", 3}, {"burrow", 3}}, 100);
    EXPECT_THAT(found, HasSubstr("the wombat digs\na burrow"));
    EXPECT_LE(found.size(), 100u);
}

TEST(Excerpt, different_words_count_more_than_one_again) {
    const std::string text = lines(20, "cat cat cat") + lines(20, "-") + "cat dog\n" + lines(20, "-");
    EXPECT_THAT(excerpt(text, {{"cat", 1}, {"dog", 1}}, 30), HasSubstr("cat dog"));
}

TEST(Excerpt, without_words_is_the_beginning) {
    EXPECT_EQ(excerpt("one\ntwo\nthree\n", {{"four", 1}}, 8), "one\ntwo");
    EXPECT_EQ(excerpt("", {}, 8), "");
}

TEST(Excerpt, a_long_line_is_cut_and_stays_text) {
    std::string text;
    while (text.size() < 5000) text += "\xc3\xa4";
    const std::string found = excerpt(text + " wombat", {{"wombat", 1}}, 101);
    EXPECT_THAT(found, HasSubstr("wombat"));
    EXPECT_LE(excerpt(text, {}, 101).size(), 106u);  // a cut letter becomes U+FFFD
}

}  // namespace
}  // namespace recuda

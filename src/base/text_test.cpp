#include "base/text.h"

#include <gtest/gtest.h>

#include "base/digest.h"

namespace recuda {
namespace {

TEST(Text, NearestFindsTyposAndNothingFar) {
    const std::vector<std::string> words{"tasks", "run", "check", "results", "launch", "nano30b_rmsnorm"};
    EXPECT_EQ(nearest("taks", words), "tasks");
    EXPECT_EQ(nearest("lauch", words), "launch");
    EXPECT_EQ(nearest("nano30b_rmsnrm", words), "nano30b_rmsnorm");
    EXPECT_EQ(nearest("zebra", words), "");
    EXPECT_EQ(did_you_mean("rn", words), "; did you mean run?");
}

TEST(Text, SplitsLinesOfAnyEnding) {
    EXPECT_EQ(split_lines("a\nb\r\n\nc"), (std::vector<std::string_view>{"a", "b", "", "c"}));
    EXPECT_EQ(split_lines("a\n").size(), 1u);
    EXPECT_EQ(split_lines("").size(), 0u);
}

TEST(Text, ReplacesWhatIsNoUtf8) {
    EXPECT_EQ(valid_utf8("sch\xf6n"), "sch\xef\xbf\xbdn");
    EXPECT_EQ(valid_utf8("schön €"), "schön €");
    EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
    EXPECT_EQ(valid_utf8("\xc0\x80"), "\xef\xbf\xbd\xef\xbf\xbd");                  // overlong
    EXPECT_EQ(valid_utf8("\xf0\x9f"), "\xef\xbf\xbd\xef\xbf\xbd");                  // cut off
}

TEST(Text, MakesOneLineOfAnything) {
    EXPECT_EQ(one_line("'ü' is fine"), "'ü' is fine");
    EXPECT_EQ(one_line(std::string_view("a\0b\nc\x1b\xff", 7)), "a b c \xef\xbf\xbd");
    EXPECT_EQ(one_line("abcdef", 4), "abcd…");
    EXPECT_EQ(one_line("abü", 3), "ab\xef\xbf\xbd…");  // cut within a character
}

TEST(Text, BoundsLongTextKeepingBothEnds) {
    const std::string text = bounded(std::string(1000, 'a') + "END", 90);
    EXPECT_TRUE(text.starts_with(std::string(60, 'a')));
    EXPECT_TRUE(text.ends_with("aEND"));
    EXPECT_NE(text.find("913 bytes left out"), std::string::npos) << text;
    EXPECT_EQ(bounded("short", 90), "short");
}

TEST(Digest, IsSha256) {
    EXPECT_EQ(sha256("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2, appendix B.1
}

}  // namespace
}  // namespace recuda

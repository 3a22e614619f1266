#include "base/text.h"

#include <gtest/gtest.h>

#include <cstdio>

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
    EXPECT_EQ(one_line("abü", 3), "ab…");
    EXPECT_EQ(one_line("a\u009b31m\u202eb\u2028c"), "a 31m b c");
}

TEST(Text, ForATerminalCommandsNothing) {
    EXPECT_EQ(printable("a\tb\n\x1b[31m\r\x7f\u0080\u009f\u00a0ü"), "a\tb\n [31m    \u00a0ü");
    EXPECT_EQ(printable("\u061c\u200d\u200e\u200f\u2027\u2028\u202e\u202f\u2065\u2066\u2069\u206a"),
              " \u200d  \u2027  \u202f\u2065  \u206a");
    EXPECT_EQ(printable("\xff"), "\xef\xbf\xbd");
}

TEST(Text, BoundsLongTextKeepingBothEnds) {
    const std::string text = bounded(std::string(1000, 'a') + "END", 90);
    EXPECT_TRUE(text.starts_with(std::string(60, 'a')));
    EXPECT_TRUE(text.ends_with("aEND"));
    EXPECT_NE(text.find("913 bytes left out"), std::string::npos) << text;
    EXPECT_EQ(bounded("short", 90), "short");
    EXPECT_EQ(bounded("sh\xff", 90), "sh\xef\xbf\xbd");
    // Characters of two, three and four bytes, cut at each of their bytes.
    for (const std::string character : {"ü", "…", "\U0001f600"})
        for (const size_t shift : {0u, 1u, 2u, 3u}) {
            std::string whole(shift, 'a');
            for (int i = 0; i < 100; ++i) whole += character;
            const std::string cut = bounded(whole, 30);
            EXPECT_EQ(cut.find("\xef\xbf\xbd"), std::string::npos) << cut;
            EXPECT_LE(cut.size(), 30u + 40);
            size_t left = 0;
            ASSERT_EQ(std::sscanf(cut.c_str() + cut.find("[…"), "[… %zu bytes", &left), 1) << cut;
            const size_t line = cut.find("\n[…"), end = cut.find("…]\n") + std::string_view("…]\n").size();
            EXPECT_EQ(line + left + cut.size() - end, whole.size()) << cut;
        }
}

TEST(Digest, IsSha256) {
    EXPECT_EQ(sha256("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2, appendix B.1
}

}  // namespace
}  // namespace recuda

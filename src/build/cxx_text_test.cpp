#include "build/cxx_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace recuda {
namespace {

TEST(LineDirectives, AreBlankedAndKeepTheCountOfLines) {
    struct Case {
        const char *source, *wanted;  // without blanks
    };
    for (const Case& one : {
             Case{"a\n#line 50 \"z.h\"\nb\n", "a\n\nb\n"},
             Case{"  # /* x */ line 5\nb", "\nb"},
             Case{"# 5 \"z.h\" 1\nb", "\nb"},
             Case{"#li\\\nne 5\nb", "\n\nb"},
             Case{"#line 5 /* a\nb */\nc", "\n\nc"},
             Case{"/*a\n*/ #line 5\nc", "/*a\n*/\nc"},
             Case{"%:line 5\nc", "\nc"},
             Case{"#line 5\r\nc", "\r\nc"},
             Case{"R\"(\n#line 5\n)\"", "R\"(\n#line5\n)\""},
             Case{"// \\\n#line 5\n", "//\\\n#line5\n"},
             Case{"#define line 5\n#lines\n#pragma line 5\n", "#defineline5\n#lines\n#pragmaline5\n"},
             Case{"a # line 5", "a#line5"},
         }) {
        std::string text = without_line_directives(one.source);
        EXPECT_EQ(text.size(), std::string_view(one.source).size());
        std::erase(text, ' ');
        EXPECT_EQ(text, one.wanted) << one.source;
    }
}

}  // namespace
}  // namespace recuda

// Texts that a compiler tells apart have different stripped ones, others may not.
#include <gtest/gtest.h>

#include "kernel/kernel_file.h"

namespace recuda {
namespace {

std::string cuda(const std::string& text) { return stripped_source({.text = text, .language = Language::cuda}); }
std::string python(const std::string& text) { return stripped_source({.text = text, .language = Language::triton}); }

TEST(StrippedSource, WhatCudaSeesDifferentlyDiffers) {
    const std::vector<std::pair<std::string, std::string>> pairs{
        {"int z = 1;\n// scaled \\\nz = 2;\n", "int z = 1;\n// scaled\nz = 2;\n"},
        {"// c \\\r\nz = 2;\n", "// c\r\nz = 2;\n"},
        {"// c \\ \nz = 2;\n", "// c\nz = 2;\n"},
        {"// c ?\?/\nz = 2;\n", "// c\nz = 2;\n"},
        {"//! idea x \\\nz = 2;\n", "z = 2;\n"},
        {"/\\\n/ c\nz = 2;\n", "/\\\n/ c\nz = 3;\n"},
        {"/\\\n* c\nz = 2; */\n", "/\\\n* c\n*/z = 2;\n"},
        {"/* *\\\n/ z = 2; /* */", "/* *\\\n/ /* */"},
        {"float z = 0\n#define A 0 \\\n\n+ 1;\n", "float z = 0\n#define A 0 \\\n+ 1;\n"},
        {"#define A /*\n*/ 5\n", "#define A\n 5\n"},
        {"x /*\n*/ # define A\n", "x\n# define A\n"},
        {"char q[] = R\"(a  \nb)\";", "char q[] = R\"(a\nb)\";"},
        {"char q[] = R\"(a\n\nb)\";", "char q[] = R\"(a\nb)\";"},
        {"char q[] = u8R\"(\" // b)\";", "char q[] = u8R\"(\" )\";"},
        {"char q[] = R\\\n\"(a // b)\";", "char q[] = R\\\n\"(a )\";"},
        {"char q[] = R\"(a // b)\";", "char q[] = R\"(a )\";"},
        {"char q[] = \"a\\\\\n\"; // b\";", "char q[] = \"a\\\\\n\"; \";"},
        {"char q = L'\"'; // \"\nint a; // \"\n", "char q = L'\"'; // \"\nint a; \"\n"},
        {"int z = 1'0; /* '*/ z = 2; /*'*/", "int z = 1'0; /* ' z = 2; '*/"},
        {"#if 0\nit's\n#endif /* it's */\nint a;", "#if 0\nit's\n#endif /* it's \n*/ int a;"},
        {"int z = 1 -/**/- 1;", "int z = 1 -- 1;"},
        {"#include <a//b>\n", "#include <a\n"},
        {"#include \"a\\\" // \"\n", "#include \"a\\\"\n"},
        {"int z = __LINE__;", "\nint z = __LINE__;"},
        {"int z = A(__LI, NE__); // a ## b\n", "\nint z = A(__LI, NE__); // a ## b\n"},
        {"int z = __LI\\\nNE__;", "\nint z = __LI\\\nNE__;"},
        {"int z = 1; // a\rz = 2;\n", "int z = 1;\n"},
        {"int z = 1; // a\vz = 2;\n", "int z = 1;\n"},
    };
    for (const auto& [one, other] : pairs) EXPECT_NE(cuda(one), cuda(other)) << one << "\n---\n" << other;
}

TEST(StrippedSource, CommentsAndBlanksOfCudaDoNotCount) {
    const std::string plain = "int a = 1'000;\n#define B \\\n    2\nchar c[] = \"// /* x\";\n";
    EXPECT_EQ(cuda(plain), plain);
    EXPECT_EQ(
        cuda("// it's\nint a = 1'000;  \n\n#define B \\\n    2 // two\n/* it's\n\n*/\nchar c[] = \"// /* x\"; //\r\n"),
        plain);
    EXPECT_EQ(cuda("// one \\\n   two\nint a = 1'000;\n#define B \\\n    2\nchar c[] = \"// /* x\";\n"), plain);
}

TEST(StrippedSource, WhatPythonSeesDifferentlyDiffers) {
    const std::vector<std::pair<std::string, std::string>> pairs{
        {"a = '''x  \ny'''\n", "a = '''x\ny'''\n"},
        {"a = '''x\n\ny'''\n", "a = '''x\ny'''\n"},
        {"a = '''x # y'''\n", "a = '''x '''\n"},
        {"a = 'x \\\n  # y'\n", "a = 'x \\\n'\n"},
        {"a = 1 \\\n\n+2\n", "a = 1 \\\n+2\n"},
        {"a = f\"{d[\"#\"]}\"\n", "a = f\"{d[\"\n"},
        {"# coding: utf-7\na = 1 # +AAo-b\n", "# coding: utf-7\na = 1\n"},
        {"a = open(p).read() # x\n", "a = open(p).read()\n"},
        {"import linecache # x\n", "import linecache\n"},
        {"import triton, sys # x\n", "import triton, sys\n"},
        {"import unknown # x\n", "import unknown\n"},
        {"from unknown import a # x\n", "from unknown import a\n"},
        {"n = kernel.__code__.co_firstlineno\n", "\nn = kernel.__code__.co_firstlineno\n"},
        {"a = 1 # x\rb = 2\n", "a = 1\n"},
        {"a = 'x\n# y\n", "a = 'x\n"},
    };
    for (const auto& [one, other] : pairs) EXPECT_NE(python(one), python(other)) << one << "\n---\n" << other;
}

TEST(StrippedSource, CommentsAndBlanksOfPythonDoNotCount) {
    const std::string plain =
        "import triton\nimport triton.language as tl\nfrom triton.language import sum as total\na = \"#\" + '#'\n";
    EXPECT_EQ(python(plain), plain);
    EXPECT_EQ(python("# it's\nimport triton  # x\nimport triton.language as tl\n\nfrom triton.language import sum as "
                     "total\n  # y\na = \"#\" + '#'\r\n"),
              plain);
}

}  // namespace
}  // namespace recuda

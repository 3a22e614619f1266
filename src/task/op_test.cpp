#include "task/op.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"

namespace recuda {
namespace {

/// An op with this table `product`, read from a file; its error where it has one.
struct Reading {
    std::optional<ProductSpec> product;
    std::string problem;
};
Reading read_with(const std::string& product) {
    const TemporaryFolder folder;
    write_atomically(folder.path() / "op.toml", R"(
summary = "two products"
[axes]
T = "rows"
K = "inner"
N = "columns"
[inputs]
x = { dtype = "bf16", shape = ["T", "K"] }
w = { dtype = "bf16", shape = ["N", "K"] }
wide = { dtype = "bf16", shape = ["N", "K"], row_stride = "2*K" }
line = { dtype = "bf16", shape = ["K"] }
other = { dtype = "f16", shape = ["N", "K"] }
[outputs]
y = { dtype = "bf16", shape = ["T", "N"] }
[product]
)" + product);
    try {
        return {read_op(folder.path()).product, ""};
    } catch (const Error& error) {
        return {std::nullopt, error.what()};
    }
}

TEST(Op, NamesTheMatricesOfAProduct) {
    EXPECT_FALSE(read_with("").product);
    const Reading read = read_with("left = 'x'\nright = 'w'\nresult = 'y'");
    EXPECT_EQ(read.problem, "");
    ASSERT_TRUE(read.product);
    EXPECT_EQ(read.product->left, "x");
    EXPECT_EQ(read.product->right, "w");
    EXPECT_EQ(read.product->result, "y");
}

TEST(Op, RefusesAProductThatIsNone) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"left = 'x'\nright = 'w'", "result"},
        {"left = 'q'\nright = 'w'\nresult = 'y'", "`left` must name a dense tensor of two extents"},
        {"left = 'x'\nright = 'line'\nresult = 'y'", "`right` must name"},
        {"left = 'x'\nright = 'wide'\nresult = 'y'", "`right` must name"},
        {"left = 'w'\nright = 'x'\nresult = 'y'", "a product is result[m, n] = left[m, k] right[n, k]^T"},
        {"left = 'x'\nright = 'other'\nresult = 'y'", "all of one type"},
        {"left = 'x'\nright = 'w'\nresult = 'y'\nscale = 2", "scale"},
    };
    for (const auto& [product, problem] : cases)
        EXPECT_NE(read_with(product).problem.find(problem), std::string::npos)
            << product << ": " << read_with(product).problem;
}

}  // namespace
}  // namespace recuda

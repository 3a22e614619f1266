#include "retrieval/document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace recuda {
namespace {

TEST(Document, data_comes_back) {
    const Document document{.name = "candidate:a/b",
                            .kind = "candidate",
                            .op = "alpha",
                            .task = "a",
                            .outcome = "correct",
                            .digest = "d",
                            .when = "now",
                            .title = "t",
                            .median_ns = 1.5,
                            .text = "x\n\xc3\xa4"};
    const Document again = document_from_data(engine_document(document).data);
    EXPECT_EQ(again.name, document.name);
    EXPECT_EQ(again.text, document.text);
    EXPECT_EQ(again.median_ns, document.median_ns);
    EXPECT_EQ(again.estimate, std::nullopt);
    EXPECT_EQ(engine_document(again).data, engine_document(document).data);
}

TEST(Document, priors_order_them) {
    const auto prior = [](const char* kind, const char* outcome, std::optional<double> ns,
                          std::optional<double> estimate) {
        return prior_of({.kind = kind, .outcome = outcome, .median_ns = ns, .estimate = estimate});
    };
    const std::vector<double> falling{prior("kernel", "", {}, {}),
                                      prior("candidate", "correct", 1000, {}),
                                      prior("candidate", "correct", 2000, {}),
                                      prior("candidate", "correct", {}, 900),
                                      prior("candidate", "correct", {}, 1e12),
                                      prior("seed", "", {}, {}),
                                      prior("note", "", {}, {}),
                                      prior("reference", "", {}, {}),
                                      prior("candidate", "wrong", {}, {}),
                                      prior("candidate", "build_failed", {}, {})};
    EXPECT_TRUE(std::is_sorted(falling.rbegin(), falling.rend()));
    EXPECT_LE(falling.front(), 1);
    EXPECT_GT(falling.back(), 0);
}

}  // namespace
}  // namespace recuda

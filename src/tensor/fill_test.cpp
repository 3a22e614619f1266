#include "tensor/fill.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "tensor/npy.h"

namespace recuda {
namespace {

TEST(Fill, GivesWhatItsNameSays) {
    EXPECT_EQ(filled(parse_fill("iota"), DType::i32, {3}, 1, "x").at(2), 2);
    EXPECT_EQ(filled(parse_fill("const(2.5)"), DType::f32, {3}, 1, "x").at(0), 2.5);
    EXPECT_EQ(filled(parse_fill("[1, -2, 3e2]"), DType::f32, {3}, 1, "x").at(2), 300);
    const Tensor wide = filled(parse_fill("[0xffffffffffffffff, 9223372036854775809]"), DType::u64, {2}, 1, "x");
    EXPECT_EQ(wide.as<uint64_t>()[0], UINT64_MAX);
    EXPECT_EQ(wide.as<uint64_t>()[1], 9223372036854775809u);
    EXPECT_EQ(filled(parse_fill("const(18446744073709551615)"), DType::u64, {2}, 1, "x").as<uint64_t>()[1], UINT64_MAX);
    EXPECT_EQ(filled(parse_fill("const(9007199254740993)"), DType::i64, {2}, 1, "x").as<int64_t>()[1],
              9007199254740993);
    const Tensor bytes = filled(parse_fill("[255, -1, -128]"), DType::u8, {3}, 1, "x");
    EXPECT_EQ(bytes.as<uint8_t>()[1], 255);
    EXPECT_EQ(bytes.as<uint8_t>()[2], 128);
    const Tensor normal = filled(parse_fill("normal(3, 0.5)"), DType::f64, {20000}, 7, "x");
    double sum = 0, squares = 0;
    for (const double value : normal.as<double>()) {
        sum += value;
        squares += value * value;
    }
    EXPECT_NEAR(sum / 20000, 3, 0.02);
    EXPECT_NEAR(squares / 20000 - 9, 0.25, 0.1);
}

// Shares of a million numbers beyond these bounds, tail and middle included; 6 standard deviations wide.
TEST(Fill, NormalNumbersHaveTheNormalDistribution) {
    const int64_t count = 1'000'000;
    const Tensor numbers = filled(parse_fill("normal(0, 1)"), DType::f64, {count}, 11, "x");
    for (const double bound : {-3.6, -2.0, -0.7, -0.1, 0.0, 0.3, 1.0, 2.5, 3.3, 3.5, 4.0}) {
        const double wanted = std::erfc(bound / std::sqrt(2)) / 2;
        int64_t beyond = 0;
        for (const double value : numbers.as<double>()) beyond += value > bound;
        const double allowed = 6 * std::sqrt(wanted * (1 - wanted) / count);
        EXPECT_NEAR(static_cast<double>(beyond) / count, wanted, allowed) << bound;
    }
}

TEST(Fill, StreamsAndSeedsSeparate) {
    const auto at = [](uint64_t seed, const char* stream) {
        return filled(parse_fill("normal(0, 1)"), DType::f64, {1}, seed, stream).at(0);
    };
    EXPECT_EQ(at(1, "x"), at(1, "x"));
    EXPECT_NE(at(1, "x"), at(1, "w"));
    EXPECT_NE(at(1, "x"), at(2, "x"));
}

TEST(Fill, LargeTensorsAreMadeOfStreamsThatDiffer) {
    constexpr int64_t kStretch = 1 << 16;
    const auto made = [](int64_t count) { return filled(parse_fill("uniform(0, 1)"), DType::f64, {count}, 3, "w"); };
    const Tensor large = made(3 * kStretch + 5), small = made(kStretch + 1);
    EXPECT_EQ(large.bytes, made(3 * kStretch + 5).bytes);
    for (const int64_t i : {int64_t{0}, kStretch - 1, kStretch}) EXPECT_EQ(large.at(i), small.at(i)) << i;
    for (const int64_t i : {kStretch, 2 * kStretch, 3 * kStretch}) EXPECT_NE(large.at(i), large.at(0)) << i;
}

TEST(Fill, CosAndSinTablesShareTheirAngles) {
    const Tensor cosine = filled(parse_fill("cos_table"), DType::f64, {64}, 5, "cos"),
                 sine = filled(parse_fill("sin_table"), DType::f64, {64}, 5, "sin");
    for (int i = 0; i < 64; ++i) EXPECT_NEAR(cosine.at(i) * cosine.at(i) + sine.at(i) * sine.at(i), 1, 1e-12);
}

TEST(Fill, RefusesWhatIsNone) {
    for (const char* text :
         {"nrmal(0, 1)", "normal(0)", "normal(0, x)", "const()", "zeros(1)", "[1, b]", "", "uniform(0, 1"})
        EXPECT_THROW(parse_fill(text), Error) << text;
    EXPECT_THROW(filled(parse_fill("[1, 2]"), DType::f32, {3}, 1, "x"), Error);
    for (const char* text : {"[256]", "[-129]", "[1.5]", "[1e2]", "const(256)", "const(1.5)", "const(nan)"})
        EXPECT_THROW(filled(parse_fill(text), DType::i8, {1}, 1, "x"), Error) << text;
}

TEST(Npy, RoundTrips) {
    const TemporaryFolder folder;
    Tensor tensor = filled(parse_fill("iota"), DType::f32, {2, 3}, 1, "x");
    write_npy(folder.path() / "x.npy", tensor);
    const Tensor again = read_npy(folder.path() / "x.npy");
    EXPECT_EQ(again.shape, tensor.shape);
    EXPECT_EQ(again.bytes, tensor.bytes);
    write_npy(folder.path() / "scalar.npy", Tensor(DType::i64, {}));
    EXPECT_EQ(read_npy(folder.path() / "scalar.npy").shape, Shape{});
    write_atomically(folder.path() / "no.npy", "not an array at all");
    EXPECT_THROW(read_npy(folder.path() / "no.npy"), Error);
}

}  // namespace
}  // namespace recuda

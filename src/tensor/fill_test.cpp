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

TEST(Fill, StreamsAndSeedsSeparate) {
    const auto at = [](uint64_t seed, const char* stream) {
        return filled(parse_fill("normal(0, 1)"), DType::f64, {1}, seed, stream).at(0);
    };
    EXPECT_EQ(at(1, "x"), at(1, "x"));
    EXPECT_NE(at(1, "x"), at(1, "w"));
    EXPECT_NE(at(1, "x"), at(2, "x"));
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

TEST(Battery, SpecialPutsNanAndInfinitiesIntoRowsOfTheirOwn) {
    Tensor tensor = filled(parse_fill("normal(0, 1)"), DType::bf16, {8, 16}, 3, "x");
    apply(Battery::special, tensor, 3, "x");
    const auto count = [&](int row, auto is) {
        int found = 0;
        for (int i = 0; i < 16; ++i) found += is(tensor.at(row * 16 + i));
        return found;
    };
    EXPECT_EQ(count(0, [](double v) { return std::isnan(v); }), 1);
    EXPECT_EQ(count(1, [](double v) { return v == HUGE_VAL; }), 1);
    EXPECT_EQ(count(2, [](double v) { return v == -HUGE_VAL; }), 1);
    EXPECT_EQ(count(3, [](double v) { return !std::isfinite(v); }), 0);
}

TEST(Battery, EdgesPutsTheExtremesAtTheEnds) {
    for (const int64_t width : {2, 3, 512}) {
        Tensor tensor = filled(parse_fill("normal(0, 1)"), DType::bf16, {2, width}, 3, "x");
        apply(Battery::edges, tensor, 3, "x");
        for (const int64_t row : {0, 1}) {
            const double first = tensor.at(row * width), last = tensor.at(row * width + width - 1);
            const double larger = row == 0 ? last : first, second = row == 0 ? first : last;
            EXPECT_NEAR(larger, 2 * second, 0.01 * larger);
            double squares = 0;
            for (int64_t i = 1; i < width - 1; ++i) {
                EXPECT_LT(tensor.at(row * width + i), second);
                squares += tensor.at(row * width + i) * tensor.at(row * width + i);
            }
            EXPECT_GE(second * second, 0.98 * squares);
        }
    }
}

TEST(Battery, NegativeHasNoMaximumAboveItsBounds) {
    Tensor tensor = filled(parse_fill("normal(0, 1)"), DType::f32, {2, 64}, 3, "x");
    apply(Battery::negative, tensor, 3, "x");
    for (int64_t i = 0; i < 128; ++i) EXPECT_LE(tensor.at(i), i < 64 ? -0.5 : -65536);
    EXPECT_NE(tensor.at(0), tensor.at(1));
}

TEST(Battery, LargeKeepsARowsSumOfSquaresFinite) {
    Tensor tensor(DType::bf16, {1, 131072});
    apply(Battery::large, tensor, 3, "x");
    float sum = 0;
    for (int64_t i = 0; i < tensor.size(); ++i) sum += static_cast<float>(tensor.at(i) * tensor.at(i));
    EXPECT_TRUE(std::isfinite(sum));
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

#include <cfenv>
#include <cmath>
#include <random>

#include "device/vgpu/ops/functions.h"
#include "device/vgpu/ops/ops_test_support.h"

namespace recuda::vgpu {
namespace {

constexpr uint32_t kInfinity = 0x7f800000, kMinus = 0x80000000, kQuiet = 0x7fc00123, kLargest = 0x7f7fffff,
                   kOne = 0x3f800000;
constexpr uint64_t kDoubleQuiet = 0x7ff8000000000abc;

TEST(Float, NearestArithmetic) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"add.f32 d, a, b;", kOne, 0x33800000, 0, kOne},  // 1 + 2^-24 ties to even
        {"add.f32 d, a, b;", kOne, 0x33800001, 0, 0x3f800001},
        {"add.rn.f32 d, a, b;", kLargest, kLargest, 0, kInfinity},
        {"add.f32 d, a, b;", kInfinity, kInfinity | kMinus, 0, kNan},
        {"add.f32 d, a, b;", kQuiet, kOne, 0, kNan},
        {"add.f32 d, a, b;", 1, 1, 0, 2},
        {"add.ftz.f32 d, a, b;", 1, kMinus | 1, 0, 0},
        {"add.ftz.f32 d, a, b;", 0x00800000, 0x80800001, 0, kMinus},  // -2^-149 becomes -0
        {"add.sat.f32 d, a, b;", 0xbf800000, 0, 0, 0},
        {"add.sat.f32 d, a, b;", kOne, kOne, 0, kOne},
        {"add.sat.f32 d, a, b;", kQuiet, kOne, 0, 0},
        {"mul.ftz.f32 d, a, b;", 0x00800000, 0x3f7fffff, 0, 0},  // rounds to 2^-126 only as a denormal
        {"mul.ftz.f32 d, a, b;", 0x00800001, 0x3f7ffffe, 0, 0x00800000},
        {"mul.f32 d, a, b;", 0x00800000, 0x3f7fffff, 0, 0x00800000},
        {"neg.f32 d, a;", kQuiet, 0, 0, kNan},
        {"abs.f32 d, a;", kQuiet, 0, 0, kNan},
        {"sub.f32 d, a, b;", kOne, kOne, 0, 0},
        {"sub.rm.f32 d, a, b;", kOne, kOne, 0, kMinus},
        {"mul.f32 d, a, b;", 0x00800000, 0x3f000000, 0, 0x00400000},
        {"mul.ftz.f32 d, a, b;", 0x00800000, 0xbf000000, 0, kMinus},
        {"mul.f32 d, a, 0.5;", kOne, 0, 0, 0x3f000000},
        {"fma.rn.f32 d, a, b, c;", 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},  // 2^-46: one rounding only
        {"mad.rn.f32 d, a, b, c;", kOne, kOne, kOne, 0x40000000},
        {"div.rn.f32 d, a, b;", kOne, 0x40400000, 0, 0x3eaaaaab},
        {"div.rz.f32 d, a, b;", kOne, 0x40400000, 0, 0x3eaaaaaa},
        {"div.full.f32 d, a, b;", kOne, 0, 0, kInfinity},
        {"div.approx.f32 d, a, b;", 0x40000000, 0x40800000, 0, 0x3f000000},
        {"div.approx.f32 d, a, b;", kOne, 0xff000000, 0, kMinus},  // the reciprocal of -2^127 is flushed
        {"div.approx.f32 d, a, b;", kInfinity, 0x7f000000, 0, kNan},
        {"rcp.rn.f32 d, a;", 0x40400000, 0, 0, 0x3eaaaaab},
        {"rcp.rp.f32 d, a;", 0xc0400000, 0, 0, 0xbeaaaaaa},
        {"sqrt.rn.f32 d, a;", 0x40000000, 0, 0, 0x3fb504f3},
        {"sqrt.rp.f32 d, a;", 0x40000000, 0, 0, 0x3fb504f4},
        {"sqrt.rn.f32 d, a;", 0xbf800000, 0, 0, kNan},
        {"sqrt.rn.f32 d, a;", kMinus, 0, 0, kMinus},
    });
}

/// The host's own arithmetic in a rounding mode.
template <typename F>
uint32_t in_mode(int mode, F f) {
    const int before = std::fegetround();
    std::fesetround(mode);
    const volatile float result = f();
    std::fesetround(before);
    return bits_of(static_cast<float>(result));
}

// Against the host's rounding modes, on bits of every kind: denormals, overflow, cancellation.
TEST(Float, DirectedRoundings) {
    std::mt19937 random(3);
    const std::pair<const char*, int> modes[] = {{"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
    OpsMachine m = machine_of(32, 32, 32, 32);
    for (int round = 0; round < 60; ++round) {
        std::vector<uint32_t> a(kLanes), b(kLanes), c(kLanes);
        for (uint32_t i = 0; i < kLanes; ++i) {
            a[i] = random();
            b[i] = round % 3 == 0 ? (a[i] ^ 0x80000000u) + random() % 64 : random();
            c[i] = round % 2 == 0 ? random() : random() & 0x807fffff;
            if (round % 5 == 0) a[i] &= 0x80ffffff;
        }
        m.set("a", a);
        m.set("b", b);
        m.set("c", c);
        for (const auto& [name, mode] : modes) {
            const auto compare = [&](const std::string& opcode, const char* operands, auto f) {
                m.run(opcode + "." + name + ".f32 d, " + operands + ";");
                for (uint32_t i = 0; i < kLanes; ++i) {
                    const volatile float x = as_float(a[i]), y = as_float(b[i]), z = as_float(c[i]);
                    const uint32_t wanted = in_mode(mode, [&] { return f(x, y, z); });
                    const uint32_t canonical_bits = is_nan(as_float(wanted)) ? kNan : wanted;
                    ASSERT_EQ(m.get<uint32_t>("d", i), canonical_bits)
                        << opcode << '.' << name << std::hex << ' ' << a[i] << ' ' << b[i] << ' ' << c[i];
                }
            };
            compare("add", "a, b",
                    [](volatile const float& x, volatile const float& y, volatile const float&) { return x + y; });
            compare("sub", "a, c",
                    [](volatile const float& x, volatile const float&, volatile const float& z) { return x - z; });
            compare("mul", "a, b",
                    [](volatile const float& x, volatile const float& y, volatile const float&) { return x * y; });
            compare("div", "a, b",
                    [](volatile const float& x, volatile const float& y, volatile const float&) { return x / y; });
            compare("fma", "a, b, c", [](float x, float y, float z) { return std::fma(x, y, z); });
            compare("sqrt", "a", [](float x, float, float) { return std::sqrt(x); });
        }
    }
}

TEST(Float, Doubles) {
    check<uint64_t, uint64_t, uint64_t, uint64_t>({
        {"add.f64 d, a, b;", 0x3ff0000000000000, 0x3ca0000000000000, 0, 0x3ff0000000000000},
        {"add.rp.f64 d, a, b;", 0x3ff0000000000000, 0x3ca0000000000000, 0, 0x3ff0000000000001},
        {"sub.rm.f64 d, a, b;", 0x3ff0000000000000, 0x3ff0000000000000, 0, 0x8000000000000000},
        {"mul.rz.f64 d, a, b;", 0x7fefffffffffffff, 0x4000000000000000, 0, 0x7fefffffffffffff},
        {"fma.rn.f64 d, a, b, c;", 0x3ff0000000000001, 0x3ff0000000000001, 0xbff0000000000002, 0x3970000000000000},
        {"div.rn.f64 d, a, b;", 0x3ff0000000000000, 0x4008000000000000, 0, 0x3fd5555555555555},
        {"div.rp.f64 d, a, b;", 0x3ff0000000000000, 0x4008000000000000, 0, 0x3fd5555555555556},
        {"rcp.rn.f64 d, a;", 0x4008000000000000, 0, 0, 0x3fd5555555555555},
        {"sqrt.rn.f64 d, a;", 0x4000000000000000, 0, 0, 0x3ff6a09e667f3bcd},
        {"sqrt.rz.f64 d, a;", 0x4000000000000000, 0, 0, 0x3ff6a09e667f3bcc},
        {"sqrt.rn.f64 d, a;", 0xbff0000000000000, 0, 0, kDoubleNan},
        {"add.f64 d, a, b;", kDoubleQuiet, 0x3ff0000000000000, 0, kDoubleQuiet},
        {"add.f64 d, a, b;", 0x3ff0000000000000, 0x7ff0000000000001, 0, 0x7ff8000000000001},
        {"sub.f64 d, a, b;", 0x7ff0000000000000, 0x7ff0000000000000, 0, kDoubleNan},
        {"min.f64 d, a, b;", 0x8000000000000000, 0, 0, 0x8000000000000000},
        {"max.f64 d, a, b;", kDoubleQuiet, 0x3ff0000000000000, 0, 0x3ff0000000000000},
        {"neg.f64 d, a;", 0, 0, 0, 0x8000000000000000},
        {"abs.f64 d, a;", 0xbff0000000000000, 0, 0, 0x3ff0000000000000},
        {"copysign.f64 d, a, b;", 0x8000000000000000, 0x3ff0000000000000, 0, 0xbff0000000000000},
        {"rcp.approx.ftz.f64 d, a;", 0x4008000000000000, 0, 0, 0x3fd5555500000000},
        {"rsqrt.approx.ftz.f64 d, a;", 0x4010000000000000, 0, 0, 0x3fe0000000000000},
        {"add.rn.f32x2 d, a, b;", 0x3f80000040000000, 0x3f8000003f800000, 0, 0x4000000040400000},
        {"fma.rn.f32x2 d, a, b, c;", 0x3f80000040000000, 0x4000000040000000, 0x3f8000003f800000, 0x4040000040a00000},
    });
}

TEST(Float, ExtremesSignsAndClasses) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"min.f32 d, a, b;", 0, kMinus, 0, kMinus},
        {"max.f32 d, a, b;", kMinus, 0, 0, 0},
        {"min.f32 d, a, b;", kQuiet, kOne, 0, kOne},
        {"max.f32 d, a, b;", kOne, kQuiet, 0, kOne},
        {"max.f32 d, a, b;", kQuiet, kQuiet, 0, kNan},
        {"max.NaN.f32 d, a, b;", kOne, kQuiet, 0, kNan},
        {"min.ftz.f32 d, a, b;", kMinus | 1, kOne, 0, kMinus},
        {"min.xorsign.abs.f32 d, a, b;", 0xc0000000, kOne, 0, 0xbf800000},
        {"max.xorsign.abs.f32 d, a, b;", 0xc0000000, 0xbf800000, 0, 0x40000000},
        {"max.f32 d, a, b, c;", kOne, kQuiet, 0x40000000, 0x40000000},
        {"min.NaN.f32 d, a, b, c;", kOne, kOne, kQuiet, kNan},
        {"neg.f32 d, a;", kOne, 0, 0, 0xbf800000},
        {"neg.ftz.f32 d, a;", 1, 0, 0, kMinus},
        {"abs.f32 d, a;", 0xbf800000, 0, 0, kOne},
        {"copysign.f32 d, a, b;", kMinus, kOne, 0, 0xbf800000},
    });
    OpsMachine m(".reg .f32 a; .reg .f64 x; .reg .pred p;");
    m.set<uint32_t>("a", {0, 1, kOne, kInfinity, kQuiet});
    const std::pair<const char*, Mask> classes[] = {{"finite", 0b00111}, {"infinite", 0b01000},
                                                    {"number", 0b01111}, {"notanumber", 0b10000},
                                                    {"normal", 0b00101}, {"subnormal", 0b00010}};
    for (const auto& [name, lanes] : classes) {
        m.run(std::string("testp.") + name + ".f32 p, a;", 0x1f);
        EXPECT_EQ(m.mask("p"), lanes) << name;
    }
    m.set<uint64_t>("x", {1});
    m.run("testp.subnormal.f64 p, x;");
    EXPECT_EQ(m.mask("p"), kFullMask);
}

TEST(Float, MixedPrecision) {
    check<uint32_t, uint16_t, uint32_t, uint32_t>({
        {"add.f32.f16 d, a, b;", 0x3c00, kOne, 0, 0x40000000},
        {"sub.f32.bf16 d, a, b;", 0x3f80, kOne, 0, 0},
        {"add.rz.sat.f32.f16 d, a, b;", 0x4400, kOne, 0, kOne},
    });
    check<uint32_t, uint16_t, uint16_t, uint32_t>({{"fma.rn.f32.f16 d, a, b, c;", 0x4000, 0x4200, kOne, 0x40e00000}});
}

TEST(Float, ApproximateFunctions) {
    OpsMachine m(".reg .f32 a, d;");
    struct Function {
        const char* opcode;
        double (*exact)(double);
        double least, most, relative, absolute;
    };
    const Function functions[] = {
        {"ex2.approx.f32", [](double x) { return std::exp2(x); }, -140, 127, 1.0e-7, 1e-45},
        {"lg2.approx.f32", [](double x) { return std::log2(x); }, 1e-38, 1e38, 1.2e-7, 1e-9},
        {"lg2.approx.f32", [](double x) { return std::log2(x); }, 0.9, 1.1, 1.2e-7, 0},
        // The bounds of the PTX ISA: 2^-20.5 within a turn, 2^-14.7 within fifty.
        {"sin.approx.f32", [](double x) { return std::sin(x); }, -6.28, 6.28, 0, 6.7e-7},
        {"cos.approx.f32", [](double x) { return std::cos(x); }, -6.28, 6.28, 0, 6.7e-7},
        {"sin.approx.f32", [](double x) { return std::sin(x); }, -314, 314, 0, 3.7e-5},
        {"cos.approx.f32", [](double x) { return std::cos(x); }, -314, 314, 0, 3.7e-5},
        {"tanh.approx.f32", [](double x) { return std::tanh(x); }, -12, 12, 1.2e-7, 0},
        {"tanh.approx.f32", [](double x) { return std::tanh(x); }, -0.06, 0.06, 1.2e-7, 0},
        {"rcp.approx.f32", [](double x) { return 1 / x; }, 1e-30, 1e30, 1.2e-7, 0},
        {"rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); }, 1e-30, 1e30, 1.2e-7, 0},
        {"sqrt.approx.f32", [](double x) { return std::sqrt(x); }, 0, 1e30, 1.2e-7, 0},
    };
    std::mt19937 random(5);
    for (const Function& f : functions) {
        for (int round = 0; round < 100; ++round) {
            std::vector<float> a(kLanes);
            for (float& x : a) x = static_cast<float>(std::uniform_real_distribution<double>(f.least, f.most)(random));
            m.set("a", a);
            m.run(std::string(f.opcode) + " d, a;");
            for (uint32_t i = 0; i < kLanes; ++i) {
                const double exact = f.exact(a[i]);
                ASSERT_NEAR(m.get<float>("d", i), exact, std::fabs(exact) * f.relative + f.absolute)
                    << f.opcode << ' ' << a[i];
            }
        }
    }
}

TEST(Float, ApproximateFunctionsWhereTheyAreExact) {
    check<uint32_t, uint32_t, uint32_t, uint32_t>({
        {"ex2.approx.f32 d, a;", 0x40400000, 0, 0, 0x41000000},
        {"ex2.approx.f32 d, a;", 0xc3150000, 0, 0, 1},
        {"ex2.approx.ftz.f32 d, a;", 0xc3150000, 0, 0, 0},
        {"ex2.approx.f32 d, a;", kInfinity, 0, 0, kInfinity},
        {"ex2.approx.f32 d, a;", kInfinity | kMinus, 0, 0, 0},
        {"ex2.approx.f32 d, a;", kQuiet, 0, 0, kNan},
        {"lg2.approx.f32 d, a;", kOne, 0, 0, 0},
        {"lg2.approx.f32 d, a;", 1, 0, 0, 0xc3150000},
        {"lg2.approx.ftz.f32 d, a;", 1, 0, 0, kInfinity | kMinus},
        {"lg2.approx.f32 d, a;", 0xbf800000, 0, 0, kNan},
        {"lg2.approx.f32 d, a;", kInfinity, 0, 0, kInfinity},
        {"sin.approx.f32 d, a;", kMinus, 0, 0, kMinus},
        {"sin.approx.f32 d, a;", 0x4aea9c1c, 0, 0, 0x3f3504f3},  // an H200's too: 7687694 is far from its angle
        {"cos.approx.f32 d, a;", 0x6dc255e2, 0, 0, kOne},
        {"sin.approx.f32 d, a;", 0x6dc255e2, 0, 0, 0},
        {"cos.approx.f32 d, a;", 0, 0, 0, kOne},
        {"sin.approx.f32 d, a;", kInfinity, 0, 0, kNan},
        {"tanh.approx.f32 d, a;", kInfinity | kMinus, 0, 0, 0xbf800000},
        {"tanh.approx.f32 d, a;", kMinus, 0, 0, kMinus},
        {"rcp.approx.ftz.f32 d, a;", 1, 0, 0, kInfinity},
        {"rsqrt.approx.f32 d, a;", 0x40800000, 0, 0, 0x3f000000},
        {"rsqrt.approx.f32 d, a;", kMinus, 0, 0, kInfinity | kMinus},
        {"rsqrt.approx.f32 d, a;", 0xbf800000, 0, 0, kNan},
    });
}

TEST(Float, WhatIsUnknownIsUnsupported) {
    OpsMachine m = machine_of(32, 32, 32, 32);
    for (const char* statement :
         {"add.frob.f32 d, a, b;", "fma.rn.relu.f32 d, a, b, c;", "sin.f32 d, a;", "div.approx.sat.f32 d, a, b;",
          "rcp.approx.f64 d, a;", "add.f64 d, a, b;", "testp.odd.f32 p, a;", "mul.f32 d, a;"}) {
        EXPECT_THROW(m.run(statement), Unsupported) << statement;
    }
}

}  // namespace
}  // namespace recuda::vgpu

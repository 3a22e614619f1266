#include "judge/float_atomics.h"

#include <gtest/gtest.h>

namespace recuda {
namespace {

TEST(FloatAtomics, AreFoundInPtx) {
    EXPECT_EQ(float_atomic("  ld.global.f32 %f1, [%rd1];\n  @%p1 red.global.add.f32 [%rd1], %f1;\n"),
              "red.global.add.f32");
    EXPECT_EQ(float_atomic("\tatom.shared.add.noftz.bf16x2 %r1, [s], %r2;"), "atom.shared.add.noftz.bf16x2");
    EXPECT_EQ(float_atomic("atom.global.add.u32 %r1, [%rd1], 1;\natom.global.max.f32 %f1, [%rd1], %f2;\n// "
                           "red.add.f32\nadd.f32 %f1, %f2, %f3;"),
              "");
    EXPECT_EQ(float_atomic(""), "");
}

}  // namespace
}  // namespace recuda

#include "build/standard_headers.h"

namespace recuda {
namespace {

// libcu++ has most of it, and defines it for NVRTC in the global namespace.
constexpr char kStdint[] = R"(#pragma once
#include <cuda/std/cstdint>
#ifndef SIZE_MAX
#define SIZE_MAX UINT64_MAX
#define PTRDIFF_MIN INT64_MIN
#define PTRDIFF_MAX INT64_MAX
#endif
)";

constexpr char kCstdint[] = R"(#pragma once
#include <stdint.h>
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::int_least8_t; using ::int_least16_t; using ::int_least32_t; using ::int_least64_t;
using ::uint_least8_t; using ::uint_least16_t; using ::uint_least32_t; using ::uint_least64_t;
using ::int_fast8_t; using ::int_fast16_t; using ::int_fast32_t; using ::int_fast64_t;
using ::uint_fast8_t; using ::uint_fast16_t; using ::uint_fast32_t; using ::uint_fast64_t;
using ::intptr_t; using ::uintptr_t; using ::intmax_t; using ::uintmax_t;
}
)";

constexpr char kStddef[] = R"(#pragma once
typedef decltype(sizeof 0) size_t;
typedef decltype((char*)0 - (char*)0) ptrdiff_t;
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
)";

constexpr char kCstddef[] = R"(#pragma once
#include <stddef.h>
namespace std {
using ::size_t; using ::ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
}
)";

constexpr char kLimits[] = "#pragma once\n#include <cuda/std/climits>\n";

constexpr char kFloat[] = R"(#pragma once
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MAX_10_EXP 38
#define FLT_MAX 3.40282347e+38F
#define FLT_MIN 1.17549435e-38F
#define FLT_EPSILON 1.19209290e-07F
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#define DBL_MIN_10_EXP (-307)
#define DBL_MAX_10_EXP 308
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
)";

// The functions themselves NVRTC knows, in `std` the overloaded ones too.
constexpr char kMath[] = R"(#pragma once
#include <cuda/std/cmath>
#ifndef HUGE_VAL
#define HUGE_VALF INFINITY
#define HUGE_VAL ((double)INFINITY)
#endif
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
)";

constexpr char kCmath[] = R"(#pragma once
#include <math.h>
namespace std {
using ::abs; using ::fabs; using ::fmod; using ::fma; using ::fmax; using ::fmin; using ::exp; using ::exp2; using ::expm1;
using ::log; using ::log2; using ::log10; using ::log1p; using ::pow; using ::sqrt; using ::cbrt; using ::hypot;
using ::sin; using ::cos; using ::tan; using ::asin; using ::acos; using ::atan; using ::atan2; using ::sinh; using ::cosh;
using ::tanh; using ::erf; using ::erfc; using ::tgamma; using ::lgamma; using ::ceil; using ::floor; using ::trunc;
using ::round; using ::rint; using ::copysign; using ::ldexp; using ::isnan; using ::isinf; using ::isfinite; using ::signbit;
}
)";

// `assert` and `printf` are NVRTC's own.
constexpr char kEmpty[] = "#pragma once\n";
constexpr char kStdlib[] = "#pragma once\n#include <stddef.h>\n";

// The driver's header declares host functions, which NVRTC refuses. Kernels want its type of a tensor map.
constexpr char kCuda[] = R"(#pragma once
#define CUDA_VERSION (__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)
typedef struct CUtensorMap_st {
    alignas(64) unsigned long long opaque[16];
} CUtensorMap;
)";

constexpr StandardHeader kHeaders[] = {
    {"stdint.h", kStdint}, {"cstdint", kCstdint}, {"stddef.h", kStddef}, {"cstddef", kCstddef},
    {"limits.h", kLimits}, {"climits", kLimits},  {"float.h", kFloat},   {"cfloat", kFloat},
    {"math.h", kMath},     {"cmath", kCmath},     {"assert.h", kEmpty},  {"cassert", kEmpty},
    {"stdio.h", kEmpty},   {"cstdio", kEmpty},    {"stdlib.h", kStdlib}, {"cuda.h", kCuda},
};

}  // namespace

std::span<const StandardHeader> standard_headers() { return kHeaders; }

}  // namespace recuda

//! launch mrope<<<T, 256>>>(q, q_out, HQ, cos, sin, T)
//! launch mrope<<<T, 256>>>(k, k_out, HK, cos, sin, T)
// One block a token, one thread a pair (i, i + R/2) of a head, or a value behind R, which is copied. out may be the
// buffer of x: both values of a pair are read before either is written.
#include <cuda_bf16.h>

constexpr int kThreads = 256;

__device__ double get(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ double round_bf16(double v) { return __bfloat162float(__double2bfloat16(v)); }
__device__ void put(double* p, double v) { *p = v; }
__device__ void put(__nv_bfloat16* p, double v) { *p = __double2bfloat16(v); }

// The position row that frequency i follows: 0 time, 1 height, 2 width.
__device__ int position_row(int i) {
    if (i % 3 == 1 && i < 3 * SH) return 1;
    if (i % 3 == 2 && i < 3 * SW) return 2;
    return 0;
}

// a*c + b*s for one rotated value; with rounding = three, the tables, both products and the sum are bf16. The sum is
// left to put, which rounds it in a bf16 build.
__device__ double turn(double a, double c, double b, double s) {
    if (!ROUNDING_THREE) return a * c + b * s;
    return round_bf16(a * round_bf16(c)) + round_bf16(b * round_bf16(s));
}

extern "C" __global__ void mrope(const q_t* x, q_out_t* out, int heads, const cos_t* cos, const sin_t* sin,
                                 int tokens) {
    constexpr int kHalf = R / 2, kWork = kHalf + (D - R);
    const long long token = blockIdx.x;
    for (int n = threadIdx.x; n < heads * kWork; n += kThreads) {
        const long long head = (token * heads + n / kWork) * D;
        const int i = n % kWork;
        if (i >= kHalf) {
            put(&out[head + i + kHalf], get(x[head + i + kHalf]));
            continue;
        }
        const long long at = (static_cast<long long>(position_row(i)) * tokens + token) * kHalf + i;
        const double a = get(x[head + i]), b = get(x[head + i + kHalf]), c = cos[at], s = sin[at];
        put(&out[head + i], turn(a, c, b, -s));
        put(&out[head + i + kHalf], turn(b, c, a, s));
    }
}

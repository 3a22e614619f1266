#! task    qwen35_silu_mul
#! idea   one program a block of columns of a row
#! tune   B = 512
#! tune   WARPS = 4
#! launch silu_mul[K*T, ceil_div(N, B)](gu, y, N=N, B=B, TWO=ROUNDING_TWO) num_warps=WARPS
import triton
import triton.language as tl


@triton.jit
def silu_mul(gu, y, N: tl.constexpr, B: tl.constexpr, TWO: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.program_id(1) * B + tl.arange(0, B)
    inside = i < N
    g = tl.load(gu + row * 2 * N + i, mask=inside, other=0.0).to(tl.float32)
    u = tl.load(gu + row * 2 * N + N + i, mask=inside, other=0.0).to(tl.float32)
    silu = g / (1 + tl.exp(-g))
    if TWO:
        silu = silu.to(tl.bfloat16).to(tl.float32)
    tl.store(y + row * N + i, (silu * u).to(tl.bfloat16), mask=inside)

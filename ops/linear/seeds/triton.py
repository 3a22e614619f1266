#! idea    tl.dot over tiles of BN outputs by BT tokens, K in steps of BK
#! tune    BN = 32, 16, 64
#! tune    BK = 128, 256
#! tune    WARPS = 4, 2, 8
#! require K % BK == 0
#! launch  linear[ceil_div(N, BN), ceil_div(T, 16)](x, w, y, T, N=N, K=K, BN=BN, BT=16, BK=BK) num_warps=WARPS num_stages=4
import triton
import triton.language as tl


@triton.jit
def linear(x, w, y, T, N: tl.constexpr, K: tl.constexpr, BN: tl.constexpr, BT: tl.constexpr, BK: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    t = tl.program_id(1) * BT + tl.arange(0, BT)
    k = tl.arange(0, BK)
    weights = w + n.to(tl.int64)[None, :] * K + k[:, None]
    inputs = x + t.to(tl.int64)[:, None] * K + k[None, :]
    total = tl.zeros((BT, BN), dtype=tl.float32)
    for at in range(0, K, BK):
        a = tl.load(inputs + at, mask=t[:, None] < T, other=0.0)
        b = tl.load(weights + at, mask=n[None, :] < N, other=0.0)
        total = tl.dot(a, b, total)
    out = y + t.to(tl.int64)[:, None] * N + n[None, :]
    tl.store(out, total.to(tl.bfloat16), mask=(t[:, None] < T) & (n[None, :] < N))

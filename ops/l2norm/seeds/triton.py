#! idea   one program ROWS rows, as a tile whose second side is the row
#! tune   ROWS = 4, 1, 8, 16
#! tune   WARPS = 4, 2, 1
#! launch l2norm[ceil_div(K*T, ROWS)](x, y, eps, K*T, H=H, B=pow2_ceil(H), ROWS=ROWS) num_warps=WARPS
import triton
import triton.language as tl


@triton.jit
def l2norm(x, y, eps, rows, H: tl.constexpr, B: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    i = tl.arange(0, B)[None, :]
    inside = (row < rows) & (i < H)
    v = tl.load(x + row * H + i, mask=inside, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(v * v, axis=1) + eps)[:, None]
    tl.store(y + row * H + i, (v * r).to(tl.bfloat16), mask=inside)

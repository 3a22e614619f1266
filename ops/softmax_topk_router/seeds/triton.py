#! idea   one program a row; K rounds of argmax, of equals the lowest index, over logits in registers
#! tune   WARPS = 1, 2, 4
#! launch router[T](logits, index, weight, E=E, K=K, B=pow2_ceil(E), KB=pow2_ceil(K)) num_warps=WARPS
import triton
import triton.language as tl


@triton.jit
def router(logits, index, weight, E: tl.constexpr, K: tl.constexpr, B: tl.constexpr, KB: tl.constexpr):
    row = tl.program_id(0)
    e = tl.arange(0, B)
    left = tl.load(logits + row * E + e, mask=e < E, other=float("-inf")).to(tl.float32)
    k = tl.arange(0, KB)
    chosen = tl.zeros([KB], tl.int32)
    best = tl.full([KB], float("-inf"), tl.float32)
    for n in tl.static_range(K):
        value, at = tl.max(left, axis=0, return_indices=True, return_indices_tie_break_left=True)
        chosen = tl.where(k == n, at, chosen)
        best = tl.where(k == n, value, best)
        left = tl.where(e == at, float("-inf"), left)
    # The first chosen has the largest logit of all; the denominator over all experts cancels.
    p = tl.exp(best - tl.max(best, axis=0))
    tl.store(index + row * K + k, chosen, mask=k < K)
    tl.store(weight + row * K + k, (p / tl.sum(p, axis=0)).to(tl.bfloat16), mask=k < K)

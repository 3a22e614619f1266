import triton, triton.language as tl
from triton.compiler import ASTSource
from triton.backends.compiler import GPUTarget

@triton.jit
def helper(x):
    m = tl.max(x, axis=0)
    e = tl.exp(x - m)
    return e / tl.sum(e, axis=0)

@triton.jit
def outer(x):
    return helper(x) * 2.0

@triton.jit
def softmax(X, Y, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(X + r * n + c, mask=c < n, other=float("-inf"))
    y = outer(x.to(tl.float32))
    tl.store(Y + r * n + c, y.to(tl.bfloat16), mask=c < n)

s = ASTSource(fn=softmax, signature={"X": "*bf16", "Y": "*bf16", "n": "i32", "BLOCK": "constexpr"}, constexprs={"BLOCK": 128})
k = triton.compile(s, target=GPUTarget("cuda", 90, 32))
print(k.asm["ptx"])

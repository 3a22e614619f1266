"""What tests of `run` with a language model share: a small task, kernels for it, and answers as a model gives them."""

import json

from program import Case

TASKS = """family = "small"
model = "none"
[relu2]
op = "relu2"
axes = { K = 1, N = 512 }
verify = { T = [1, 3] }
bench = { T = [1] }
"""

KERNEL = """//! task    small.toml#relu2
//! idea    %s
//! tune    BLOCK = 128, 64
//! launch  %s<<<ceil_div(T * 512, BLOCK), BLOCK>>>(x, y, T)
#include <cuda_bf16.h>
extern "C" __global__ void %s(const __nv_bfloat16* x, __nv_bfloat16* y, int T) {
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= T * 512) return;
    const float in = __bfloat162float(x[i]), v = in < 0 ? 0 : in;
    y[i] = __float2bfloat16(v * %s);
}
"""


def kernel(name, factor="v"):
    return KERNEL % (name, name, name, factor)


def answer(*kernels):
    text = "\n\n".join(f"```cuda\n{one}```" for one in kernels)
    return f"[[ ## reasoning ## ]]\nIt moves bytes.\n\n[[ ## kernel ## ]]\n{text}\n\n[[ ## completed ## ]]"


class ModelCase(Case):
    def setUp(self):
        super().setUp()
        self.write("small.toml", TASKS)

    def environment(self, **extra):
        return super().environment(**{"no_proxy": "127.0.0.1", "RECUDA_CACHE": str(self.folder / "cache"), **extra})

    def words(self, preset, *words, out="out", candidates=4):
        return ["run", "--task", "small.toml#relu2", "--device", "vgpu", "--preset", preset, "--seed", 5, "--time-limit", 60,
                "--num-candidates", candidates, "--out-dir", out, "--db", f"{out}.duckdb", *words]

    def asked(self, server, *words, **shape):
        return self.words("local", "--base-url", server.url, "--model", "scripted", *words, **shape)

    def rows(self, out="out"):
        return [json.loads(line) for line in (self.folder / out / "evaluations.jsonl").read_text().splitlines()]

    def outcomes(self, name, out="out"):
        """By step, of the candidates whose file holds the name."""
        return {(row["step"], row["outcome"]) for row in self.rows(out) if name in (self.folder / out / row["file"]).read_text()}

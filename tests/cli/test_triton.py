"""What Triton makes of LLM kernels, for sm_80 and sm_90, on the virtual GPU: tests/fixtures/triton/*.ptx against plain
arithmetic. tests/fixtures/triton/generate.py lowers them."""

import array
import math
import random
import struct
import unittest

from program import ROOT, Case

FIXTURES = ROOT / "tests" / "fixtures" / "triton"


def half(x):
    return struct.unpack("<H", struct.pack("<e", x))[0]


def bfloat(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def from_bfloat(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def eighth(x):
    """e4m3 of a whole number up to 8 in magnitude."""
    code = 0 if x == 0 else (math.frexp(abs(x))[1] - 1 + 7) << 3 | int(math.frexp(abs(x))[0] * 16) - 8
    return code | (0x80 if x < 0 else 0)


# type of a buffer, code of its array, what stores a number
FORMATS = {
    "f32": ("f32", "f", float),
    "f16": ("u16", "H", half),
    "bf16": ("u16", "H", bfloat),
    "e4m3": ("u8", "B", eighth),
}


class TritonTest(Case):
    def store(self, name, kind, numbers):
        """A buffer of these numbers, as --buffer has it."""
        declared, code, stored = FORMATS[kind]
        values = array.array(code, [stored(x) for x in numbers])
        descr = {"f": "<f4", "H": "<u2", "B": "|u1"}[code]
        head = str({"descr": descr, "fortran_order": False, "shape": (len(values),)})
        head = head + " " * (-(len(head) + 11) % 64) + "\n"
        (self.folder / f"{name}.npy").write_bytes(
            b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + values.tobytes())
        return f"{name}:{declared}[{len(values)}]=@{self.folder / name}.npy"

    def launch(self, stem, grid, arguments, buffers, prints):
        """Runs a fixture; what each of `prints` holds afterwards."""
        path = FIXTURES / f"{stem}.ptx"
        _, kernel, threads, shared = path.read_text().split("\n")[0].split()
        call = f"{kernel}<<<{grid}, {threads.split('=')[1]}, {shared.split('=')[1]}>>>({arguments}, 0ll, 0ll)"
        target = "sm_90a" if stem.endswith("90") else "sm_80"
        words = [word for buffer in buffers for word in ("--buffer", buffer)]
        words += [word for name in prints for word in ("--print", name)]
        done = self.json("exec", path, "--device", "vgpu", "--target", target, "--launch", call, *words)
        self.assertEqual(done["outcome"], "completed", done)
        return [done["buffers"][name] for name in prints]

    def stems(self, name):
        found = [path.stem for path in sorted(FIXTURES.glob(f"{name}_sm*.ptx"))]
        self.assertTrue(found, name)
        return found

    def product(self, name, kind, blocks, transposed=False):
        (bm, bn), k = blocks, 128
        m, n = 2 * bm - (0 if transposed else 5), bn
        rng = random.Random(1)
        a = [rng.randint(-8, 8) for _ in range(m * k)]
        b = [rng.randint(-8, 8) for _ in range(k * n)]
        columns = [b[j * k : j * k + k] if transposed else b[j::n] for j in range(n)]
        wanted = [float(sum(map(int.__mul__, a[i * k : i * k + k], column))) for i in range(m) for column in columns]
        buffers = [self.store("a", kind, a), self.store("b", kind, b), f"c:f32[{m * n}]=uninit"]
        for stem in self.stems(name):
            with self.subTest(stem):
                (c,) = self.launch(stem, f"({-(-m // bm)}, 1, 1)", f"a, b, c, {m}, {n}, {k}", buffers, ["c"])
                self.assertEqual(c, wanted)

    def test_matmul(self):
        self.product("matmul_bf16", "bf16", (64, 64))
        self.product("matmul_bf16_wide", "bf16", (64, 128))
        self.product("matmul_fp16", "f16", (64, 32))
        self.product("matmul_fp16_two_warps", "f16", (32, 32))
        self.product("matmul_f32", "f32", (64, 32))
        self.product("matmul_fp8", "e4m3", (64, 64), transposed=True)

    def test_scaled_matmul(self):
        rng = random.Random(5)
        a, b = [rng.randint(-8, 8) for _ in range(64 * 64)], [rng.randint(-8, 8) for _ in range(32 * 64)]
        of_a, of_b = [rng.randint(125, 129) for _ in range(64 * 2)], [rng.randint(125, 129) for _ in range(32 * 2)]
        wanted = [float(sum(a[i * 64 + k] * b[j * 64 + k] * 2.0 ** (of_a[i * 2 + k // 32] + of_b[j * 2 + k // 32] - 254) for k in range(64)))
                  for i in range(64) for j in range(32)]
        buffers = [self.store("a", "e4m3", a), self.store("b", "e4m3", b), "c:f32[2048]=uninit"]
        buffers += [f"{name}:u8[{len(scales)}]={scales}".replace(" ", "") for name, scales in (("sa", of_a), ("sb", of_b))]
        (c,) = self.launch("matmul_scaled_sm90", 1, "a, sa, b, sb, c", buffers, ["c"])
        self.assertEqual(c, wanted)

    def attend(self, name, kind, block):
        length, d, scale = 128, 64, 0.125
        rng = random.Random(2)
        q, k, v = ([rng.randint(-4, 4) / 2 for _ in range(length * d)] for _ in range(3))
        wanted = []
        for i in range(length):
            scores = [scale * sum(q[i * d + x] * k[j * d + x] for x in range(d)) for j in range(i + 1)]
            powers = [math.exp(s - max(scores)) for s in scores]
            wanted += [sum(p * v[j * d + x] for j, p in enumerate(powers)) / sum(powers) for x in range(d)]
        buffers = [self.store(tensor, kind, data) for tensor, data in (("q", q), ("k", k), ("v", v))]
        for stem in self.stems(name):
            with self.subTest(stem):
                (o,) = self.launch(stem, length // block, f"q, k, v, o, {scale}f, {length}",
                                   [*buffers, f"o:f32[{length * d}]=uninit"], ["o"])
                worst = max(abs(x - y) for x, y in zip(o, wanted))
                self.assertLess(worst, 2e-2 if kind == "bf16" else 3e-3)

    def test_attention(self):
        self.attend("attention", "f16", 64)
        self.attend("attention_bf16", "bf16", 128)

    def test_rows(self):
        rng = random.Random(3)
        x = [rng.randint(-64, 64) / 16 for _ in range(3 * 500)]
        wanted = []
        for row in range(3):
            powers = [math.exp(value) for value in x[row * 500 : row * 500 + 500]]
            wanted += [p / sum(powers) for p in powers]
        for stem in self.stems("softmax"):
            (y,) = self.launch(stem, 3, "x, y, 500", [self.store("x", "f32", x), "y:f32[1500]=uninit"], ["y"])
            self.assertLess(max(abs(a - b) for a, b in zip(y, wanted)), 1e-6)
        x, w = [x[i % 1500] for i in range(2 * 1000)], [1 + i % 8 / 8 for i in range(1000)]
        buffers = [self.store("x", "bf16", x), self.store("w", "bf16", w), "y:u16[2000]=uninit"]
        for stem in self.stems("rmsnorm"):
            (y,) = self.launch(stem, 2, "x, w, y, 1000, 1.0e-5f", buffers, ["y"])
            for row in range(2):
                line = x[row * 1000 : row * 1000 + 1000]
                scale = 1 / math.sqrt(sum(value * value for value in line) / 1000 + 1e-5)
                for i, value in enumerate(line):
                    self.assertAlmostEqual(from_bfloat(y[row * 1000 + i]), value * scale * w[i], delta=0.02)

    def test_orders(self):
        rng = random.Random(4)
        x = [float(rng.randint(-40, 40)) for _ in range(2 * 100)]
        for stem in self.stems("topk"):
            buffers = [self.store("x", "f32", x), "value:f32[12]=uninit", "index:i32[12]=uninit"]
            value, index = self.launch(stem, 2, "x, value, index, 100", buffers, ["value", "index"])
            for row in range(2):
                order = sorted(range(100), key=lambda i: (-x[row * 100 + i], i))[:6]
                self.assertEqual(index[row * 6 : row * 6 + 6], order)
                self.assertEqual(value[row * 6 : row * 6 + 6], [x[row * 100 + i] for i in order])
        x = [float(rng.randint(-1000, 1000)) for _ in range(512)]
        for name in ("sort", "scan"):
            for stem in self.stems(name):
                (y,) = self.launch(stem, 2, "x, y", [self.store("x", "f32", x), "y:f32[512]=uninit"], ["y"])
                for half_of in (x[:256], x[256:]):
                    wanted = sorted(half_of) if name == "sort" else [sum(half_of[: i + 1]) for i in range(256)]
                    self.assertEqual(y[:256], wanted)
                    y = y[256:]


if __name__ == "__main__":
    unittest.main()

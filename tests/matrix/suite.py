#!/usr/bin/env python3
"""Every type, shape, layout and swizzle of mma and wgmma with small whole numbers, whose sums are exact whatever their order,
against plain arithmetic: an element in a wrong place shows.

    tests/matrix/suite.py --program build/release/cuda-rlm [--device cuda] [--only WORD]

Prints a line for each instruction that is wrong or does not run, and how many were right. Also a model of what descriptors
and fragments mean: --device cuda checks the model, --device vgpu the virtual GPU."""

import argparse
import concurrent.futures
import random
import struct
import sys
import tempfile

from instructions import BITS, Image, Instruction, Sparse, fragment, from_sums, packed, run, sums


def code(kind, x):
    """The bits of a small whole number."""
    if kind == "f64":
        return struct.unpack("<Q", struct.pack("<d", x))[0]
    if kind in ("f32", "tf32"):
        return struct.unpack("<I", struct.pack("<f", x))[0]
    if kind == "f16":
        return struct.unpack("<H", struct.pack("<e", x))[0]
    if kind == "bf16":
        return code("f32", x) >> 16
    if kind == "e5m2":
        return code("f16", x) >> 8
    if kind == "e4m3":
        exponent = max(abs(x).bit_length() - 1, 0)
        magnitude = 0 if x == 0 else exponent + 7 << 3 | abs(x) * 8 >> exponent & 7
        return magnitude | (0x80 if x < 0 else 0)
    return x & (1 << BITS[kind]) - 1


def value(kind, bits):
    if kind == "f64":
        return struct.unpack("<d", struct.pack("<Q", bits))[0]
    if kind == "f32":
        return struct.unpack("<f", struct.pack("<I", bits))[0]
    if kind == "f16":
        return struct.unpack("<e", struct.pack("<H", bits))[0]
    return bits - (1 << 32) if bits >> 31 else bits


RANGE = {"u8": (0, 15), "u4": (0, 15), "b1": (0, 1), "s4": (-8, 7), "e5m2": (-4, 4)}


def mma(shape, d, a, b, c, extra=""):
    m, n, k = (int(part) for part in shape[1:].replace("n", " ").replace("k", " ").split())
    return Instruction(f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{c}{extra}", m, n, k, d, a, b, c, **({"op": extra} if extra else {}))


def all_mma():
    for d, c in (("f32", "f32"), ("f16", "f16")):
        for k in (8, 16):
            yield mma(f"m16n8k{k}", d, "f16", "f16", c)
        for k in (16, 32):
            for a in ("e4m3", "e5m2"):
                for b in ("e4m3", "e5m2"):
                    yield mma(f"m16n8k{k}", d, a, b, c)
    for k in (8, 16):
        yield mma(f"m16n8k{k}", "f32", "bf16", "bf16", "f32")
    for k in (4, 8):
        yield mma(f"m16n8k{k}", "f32", "tf32", "tf32", "f32")
    for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"):
        yield mma(shape, "f64", "f64", "f64", "f64")
    for shape, kinds in (("m8n8k16", "s8 u8"), ("m16n8k16", "s8 u8"), ("m16n8k32", "s8 u8"), ("m8n8k32", "s4 u4"), ("m16n8k32", "s4 u4"), ("m16n8k64", "s4 u4")):
        for a in kinds.split():
            for b in kinds.split():
                yield mma(shape, "s32", a, b, "s32")
    for layouts in ("row.col", "row.row", "col.col", "col.row"):
        for d, c in (("f32", "f32"), ("f16", "f16"), ("f32", "f16")):
            one = mma("m8n8k4", d, "f16", "f16", c)
            one.name = one.name.replace("row.col", layouts)
            one.form["quads"] = layouts
            yield one
    for shape in ("m8n8k128", "m16n8k128", "m16n8k256"):
        for op in (".and.popc", ".xor.popc"):
            yield mma(shape, "s32", "b1", "b1", "s32", op)


def all_sparse():
    rows = [("m16n8k16", d, "f16", d, 4) for d in ("f32", "f16")] + [("m16n8k32", d, "f16", d, 2) for d in ("f32", "f16")]
    rows += [("m16n8k16", "f32", "bf16", "f32", 4), ("m16n8k32", "f32", "bf16", "f32", 2), ("m16n8k8", "f32", "tf32", "f32", 4), ("m16n8k16", "f32", "tf32", "f32", 2)]
    rows += [("m16n8k64", "f32", a, "f32", 1) for a in ("e4m3", "e5m2")]
    rows += [("m16n8k32", "s32", "s8", "s32", 2), ("m16n8k64", "s32", "u8", "s32", 1), ("m16n8k64", "s32", "s4", "s32", 2), ("m16n8k128", "s32", "u4", "s32", 1)]
    for shape, d, a, c, selectors in rows:
        for selector in range(selectors):
            one = mma(shape, d, a, a, c)
            one.name = one.name.replace("mma.sync", "mma.sp::ordered_metadata.sync")
            one.form["selector"] = selector
            yield one


def wgmma(n, k, d, a, b, **form):
    op = ".and.popc" if a == "b1" else ""
    return Instruction(f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}{op}", 64, n, k, d, a, b, d, **form)


def all_wgmma():
    for n in range(8, 257, 8):
        yield wgmma(n, 16, "f32", "bf16", "bf16", shared_a=n % 16 == 0)
    for d, a, b, k in [("f16", "f16", "f16", 16), ("f32", "f16", "f16", 16), ("f32", "tf32", "tf32", 8)] + [
            (d, a, b, 32) for d in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]:
        for n in (8, 24, 64, 256):
            for shared_a in (False, True):
                yield wgmma(n, k, d, a, b, shared_a=shared_a, swizzle=128 if n == 64 else 0)
    for a in ("s8", "u8"):
        for b in ("s8", "u8"):
            for n in (8, 24, 32, 48, 256):
                yield wgmma(n, 32, "s32", a, b, shared_a=n != 32)
    for n in (8, 64):
        yield wgmma(n, 256, "s32", "b1", "b1", shared_a=n == 64)
    for swizzle in (0, 32, 64, 128):
        for spread in (0, 256) if swizzle == 0 else (0, 1024):
            for kind in ("f16", "bf16"):
                for a_rows in (0, 1):
                    for b_rows in (0, 1):
                        for n in (40, 128):
                            yield wgmma(n, 16, "f32", kind, kind, shared_a=True, a_rows=a_rows, b_rows=b_rows, swizzle=swizzle, spread=spread)
            yield wgmma(64, 32, "f32", "e4m3", "e4m3", shared_a=True, swizzle=swizzle, spread=spread)
            yield wgmma(64, 8, "f32", "tf32", "tf32", shared_a=True, swizzle=swizzle, spread=spread)
            yield wgmma(64, 32, "s32", "s8", "s8", shared_a=True, swizzle=swizzle, spread=spread)
    for n, k, d, a, selectors in ((16, 32, "f32", "f16", 2), (64, 32, "f16", "f16", 2), (24, 32, "f32", "bf16", 2), (16, 16, "f32", "tf32", 2),
                                  (32, 64, "f32", "e4m3", 1), (8, 64, "f16", "e5m2", 1), (48, 64, "s32", "s8", 1)):
        for selector in range(selectors):
            for shared_a in (False, True):
                for swizzle in (0, 64, 128):
                    for by_rows in (0, 1) if BITS[a] == 16 else (0,):
                        one = wgmma(n, k, d, a, a, shared_a=shared_a, swizzle=swizzle, b_rows=by_rows, a_rows=by_rows * shared_a, selector=selector)
                        one.name = one.name.replace("mma_async", "mma_async.sp")
                        yield one
    for scale_d in (0, 1):
        for sign_a in (1, -1):
            for sign_b in (1, -1):
                yield wgmma(32, 16, "f32", "f16", "f16", shared_a=scale_d == 1, scale_d=scale_d, sign_a=sign_a, sign_b=sign_b)
                yield wgmma(32, 32, "f16", "e5m2", "e5m2", scale_d=scale_d, sign_a=sign_a, sign_b=sign_b)
                yield wgmma(32, 8, "f32", "tf32", "tf32", scale_d=scale_d, sign_a=sign_a, sign_b=sign_b)


def check_quads(one, program, device, folder, rng):
    """The four products of Volta's mma.m8n8k4, of lanes 4 q to 4 q + 3 and those 16 above."""
    def held(lines, along):  # four halves of each lane
        return [(lines[q][lane] if along else [lines[q][i + lane // 4 * 4][lane % 4] for i in range(4)]) for q in range(4) for lane in range(8)]

    def place(lane, i, kind):
        if kind == "f16":
            return lane, i
        return (lane & 1) + (i & 2) + lane // 4 * 4, (i & 4) + (lane & 2) + (i & 1)

    by_lane = [q * 8 + lane % 4 + lane // 16 * 4 for lane in range(32) for q in (lane // 4 % 4,)]
    number = lambda: rng.randint(-8, 8)  # noqa: E731
    a, b = ([[[number() for _ in range(4)] for _ in range(8)] for _ in range(4)] for _ in range(2))
    c = [[[number() for _ in range(8)] for _ in range(8)] for _ in range(4)]
    a_rows, b_rows = (layout == "row" for layout in one.form["quads"].split("."))
    words = []
    for lines, along in ((a, a_rows), (b, not b_rows)):
        lanes = held(lines, along)
        words.append([w for at in by_lane for w in packed([code("f16", x) for x in lanes[at]], 16)])
    begun = []
    for at in by_lane:
        values = [c[at // 8][row][column] for row, column in (place(at % 8, i, one.c) for i in range(8))]
        begun += packed([code(one.c, x) for x in values], BITS[one.c])
    got = run(program, device, folder, one, 1, words[0], words[1], begun, [])
    if isinstance(got, str):
        return got
    size = len(got) // 32
    for lane, at in enumerate(by_lane):
        whole = sum(word << 32 * i for i, word in enumerate(got[lane * size : lane * size + size]))
        for i in range(8):
            row, column = place(at % 8, i, one.d)
            said = value(one.d, whole >> i * BITS[one.d] & (1 << BITS[one.d]) - 1)
            wanted = sum(map(int.__mul__, a[at // 8][row], b[at // 8][column])) + c[at // 8][row][column]
            if said != wanted:
                return f"product {at // 8}, row {row}, column {column} is {said}, not {wanted}"
    return None


def check(one, program, device, folder, seed):
    """None where D is right, else what is wrong."""
    rng = random.Random(seed)
    pick = lambda kind: rng.randint(*RANGE.get(kind, (-8, 8)))  # noqa: E731
    a = [[pick(one.a) for _ in range(one.k)] for _ in range(one.m)]
    b = [[pick(one.b) for _ in range(one.k)] for _ in range(one.n)]  # by columns
    c = [[rng.randint(-20, 20) for _ in range(one.n)] for _ in range(one.m)]
    sparse = [Sparse(one, rng) for _ in range(one.m // 16)] if "selector" in one.form else []
    kept_of = [elements for part in sparse for elements in part.elements]
    if sparse:
        a = [[x if k in kept_of[i] else 0 for k, x in enumerate(row)] for i, row in enumerate(a)]
    a_codes = [[code(one.a, x) for x in row] for row in a]
    b_codes = [[code(one.b, x) for x in row] for row in b]
    c_codes = [[code(one.c, x) for x in row] for row in c]
    stored = [[row[k] for k in kept_of[i]] for i, row in enumerate(a_codes)] if sparse else a_codes
    image, warps = Image(), [slice(w * 16, w * 16 + 16) for w in range(4)] if one.group else [slice(0, one.m)]
    if one.group:
        swizzle, spread = one.form.get("swizzle", 0), one.form.get("spread", 0)
        if one.form.get("shared_a"):
            one.form["a_descriptor"] = image.add(stored, BITS[one.a], one.form.get("a_rows"), swizzle, spread)
        one.form["b_descriptor"] = image.add(b_codes, BITS[one.b], one.form.get("b_rows"), swizzle, spread)
        one.form["image_bytes"] = 4 * len(image.words())
    in_registers = [] if one.form.get("shared_a") else [w for s in warps for w in fragment(stored[s], BITS[one.a], one.m >= 16)]
    if "quads" in one.form:
        return check_quads(one, program, device, folder, rng)
    metadata = [word for part in sparse for word in part.words()]
    columns = metadata if one.group else fragment(b_codes, BITS[one.b], False)
    begun = [w for s in warps for w in sums(c_codes[s], BITS[one.c])]
    got = run(program, device, folder, one, 1, in_registers, columns, begun, image.words() if one.group else metadata)
    if isinstance(got, str):
        return got
    sign = one.form.get("sign_a", 1) * one.form.get("sign_b", 1)
    term = (lambda x, y: x ^ y) if one.form.get("op") == ".xor.popc" else (lambda x, y: x * y)
    size = len(got) // len(warps)
    for w, rows in enumerate(warps):
        table = from_sums(got[w * size : w * size + size], len(a[rows]), one.n, BITS[one.d])
        for i, row in enumerate(a[rows]):
            for j, column in enumerate(b):
                wanted = sign * sum(map(term, row, column)) + one.form.get("scale_d", 1) * c[rows][i][j]
                if value(one.d, table[i][j]) != wanted:
                    return f"row {w * 16 + i}, column {j} is {value(one.d, table[i][j])}, not {wanted}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="build/release/cuda-rlm")
    parser.add_argument("--device", default="vgpu")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=4)
    options = parser.parse_args()
    chosen = [one for one in (*all_mma(), *all_sparse(), *all_wgmma()) if options.only in one.label()]
    right = wrong = 0

    def judged(numbered):
        with tempfile.TemporaryDirectory() as folder:
            return check(numbered[1], options.program, options.device, folder, numbered[0])

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for one, why in zip(chosen, pool.map(judged, enumerate(chosen))):
            right, wrong = right + (why is None), wrong + (why is not None)
            if why is not None:
                print(f"{one.label()}: {why}", flush=True)
    print(f"{right} right, {wrong} not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The last bits of tensor-core sums: adversarial operands, the same on every device, and what D holds.

    tests/matrix/numerics.py --program build/release/cuda-rlm --device cuda --out h200.json
    tests/matrix/numerics.py --program build/release/cuda-rlm --device vgpu --out vgpu.json
    tests/matrix/numerics.py --compare h200.json vgpu.json
    tests/matrix/numerics.py --keep h200.json --out h200.json.gz

Comparing prints, for each instruction and kind of operands, how many elements of D differ, with the first of them: its
operands, what each device says, and which simple models of the sum (fraction bits, products a step, order of k) give what the
first device says for all elements. The virtual GPU's model is in src/device/vgpu/ops/tensor_sum.cpp. What is kept of a device
(record.py) is enough to say whether another gives the same."""

import argparse
import json
import random
import struct
import sys
import tempfile

import record
from instructions import BITS, Image, Sparse, fragment, from_sums, run, sums
from suite import all_sparse, all_wgmma, mma, wgmma

# exponent bits, mantissa bits
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "f32": (8, 23), "e4m3": (4, 3), "e5m2": (5, 2)}
KINDS = ("normal", "wide", "cancel", "large_c", "small_c", "denormal", "ties", "special", "overflow", "one", "grouping", "raw")
BLOCKS = 4 * len(KINDS)


def instructions():
    for d in ("f32", "f16"):
        yield mma("m16n8k8", d, "f16", "f16", d)
        yield mma("m16n8k16", d, "f16", "f16", d)
        yield wgmma(8, 16, d, "f16", "f16")
        for a, b in (("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2")):
            yield mma("m16n8k16", d, a, b, d)
            yield mma("m16n8k32", d, a, b, d)
            yield wgmma(8, 32, d, a, b)
    for k in (8, 16):
        yield mma(f"m16n8k{k}", "f32", "bf16", "bf16", "f32")
    for k in (4, 8):
        yield mma(f"m16n8k{k}", "f32", "tf32", "tf32", "f32")
    yield wgmma(8, 16, "f32", "bf16", "bf16")
    yield wgmma(8, 8, "f32", "tf32", "tf32")
    for one in (*all_sparse(), *all_wgmma()):
        if one.form.get("selector") == 0 and one.d in ("f32", "f16") and not any(map(one.form.get, ("shared_a", "swizzle", "b_rows"))):
            yield one


class Maker:
    """Codes of one format."""

    def __init__(self, kind, rng):
        self.kind, self.rng = kind, rng
        self.exponents, self.mantissa = FORMATS[kind]
        self.bias = (1 << self.exponents - 1) - 1
        self.fill = BITS[kind] - 1 - self.exponents - self.mantissa  # bits of tf32 that f32 has below

    def code(self, sign, exponent, mantissa):
        """Any exponent: beyond the format's it becomes the nearest that the format has."""
        field = exponent + self.bias
        top = (1 << self.exponents) - 2
        if field < 1:
            mantissa, field = (mantissa | 1 << self.mantissa) >> min(1 - field, 31), 0
        elif field > top:
            field = top
        whole = sign << self.exponents + self.mantissa | field << self.mantissa | mantissa
        return whole << self.fill | (self.rng.getrandbits(self.fill) if self.fill else 0)

    def near(self, exponent, spread=0):
        r = self.rng
        return self.code(r.getrandbits(1), exponent + r.randint(-spread, spread), r.getrandbits(self.mantissa))

    def power(self, exponent, sign=None):
        return self.code(self.rng.getrandbits(1) if sign is None else sign, exponent, 0) & ~((1 << self.fill) - 1)

    def denormal(self):
        return self.code(self.rng.getrandbits(1), -self.bias, self.rng.getrandbits(self.mantissa))

    def special(self):
        top = (1 << self.exponents) - 1
        if self.kind == "e4m3":
            return 0x7F | self.rng.getrandbits(1) << 7
        mantissa = self.rng.choice((0, 0, 1 << self.mantissa - 1, 1))
        return (self.rng.getrandbits(1) << self.exponents + self.mantissa | top << self.mantissa | mantissa) << self.fill

    def raw(self):
        return self.rng.getrandbits(BITS[self.kind])


def operands(one, kind, rng):
    """Codes of A by rows, of B by columns, of C by rows."""
    m, n, k = one.m, one.n, one.k
    a, b, c = Maker(one.a, rng), Maker(one.b, rng), Maker(one.c, rng)
    reach = min(a.bias, b.bias)

    def table(rows, columns, make):
        return [[make(i, j) for j in range(columns)] for i in range(rows)]

    def plain(maker, exponent, spread):
        return lambda i, j: maker.near(exponent, spread)

    if kind == "raw":
        return table(m, k, lambda i, j: a.raw()), table(n, k, lambda i, j: b.raw()), table(m, n, lambda i, j: c.raw())
    if kind == "wide":
        spread = min(reach - 2, 40)
        return table(m, k, plain(a, 0, spread)), table(n, k, plain(b, 0, spread)), table(m, n, plain(c, 0, min(2 * spread, c.bias - 2)))
    if kind == "cancel":
        left, right = table(m, k, plain(a, 2, 3)), table(n, k, plain(b, 0, 1))
        for column in right:
            for j in range(0, k - 1, 2):
                column[j + 1] = column[j]
        flip = 1 << BITS[one.a] - 1
        for row in left:
            for j in range(0, k - 1, 2):
                row[j + 1] = row[j] ^ flip if rng.random() < 0.8 else row[j + 1]
        return left, right, table(m, n, plain(c, -12, 10))
    if kind in ("large_c", "small_c"):
        exponent = 14 if kind == "large_c" else -14
        return table(m, k, plain(a, 0, 4)), table(n, k, plain(b, 0, 4)), table(m, n, plain(c, exponent, 12))
    if kind == "denormal":
        small = lambda maker: lambda i, j: maker.denormal() if rng.random() < 0.5 else maker.near(1 - maker.bias, 2)  # noqa: E731
        return table(m, k, small(a)), table(n, k, plain(b, 0, reach - 2) if rng.random() < 0.7 else small(b)), table(m, n, small(c))
    if kind == "ties":
        return (table(m, k, lambda i, j: a.power(-rng.randint(0, reach - 1))), table(n, k, lambda i, j: b.power(-rng.randint(0, reach - 1))),
                table(m, n, lambda i, j: c.power(rng.randint(-3, 3))))
    if kind == "special":
        some = lambda maker, share: lambda i, j: maker.special() if rng.random() < share else maker.near(0, 2)  # noqa: E731
        return table(m, k, some(a, 0.02)), table(n, k, some(b, 0.02)), table(m, n, some(c, 0.1))
    if kind == "overflow":
        top = lambda maker: lambda i, j: maker.near(maker.bias, 1)  # noqa: E731
        return table(m, k, top(a)), table(n, k, top(b)), table(m, n, plain(c, c.bias - 1, 1))
    if kind == "one":
        place = [rng.randrange(k) for _ in range(m)]
        return (table(m, k, lambda i, j: a.near(0, reach - 2) if place[i] == j else 0), table(n, k, plain(b, 0, reach - 2)), table(m, n, plain(c, 0, 12)))
    if kind == "grouping":
        # A row has a large number, its negative and some small ones: what is left tells who was added with whom.
        left = [[0] * k for _ in range(m)]
        for row in left:
            places = rng.sample(range(k), min(4, k))
            row[places[0]], row[places[1]] = a.power(min(reach - 1, 12), 0), a.power(min(reach - 1, 12), 1)
            for place in places[2:]:
                row[place] = a.near(-min(reach - 2, 11), 3)
        return left, table(n, k, lambda i, j: b.power(0, 0)), table(m, n, lambda i, j: 0)
    return table(m, k, plain(a, -1, 2)), table(n, k, plain(b, -1, 2)), table(m, n, plain(c, 0, 3))


def prepare(one):
    """All blocks of an instruction: [(kind, a, b, c)], and the buffers they make."""
    rng = random.Random(one.label())
    blocks = [(KINDS[i % len(KINDS)], *operands(one, KINDS[i % len(KINDS)], rng)) for i in range(BLOCKS)]
    words = {"a": [], "b": [], "c": [], "images": []}
    places = random.Random(one.label() + " places")
    for _, a, b, c in blocks:
        for first in range(0, one.m, 16):
            rows = a[first : first + 16]
            if "selector" in one.form:
                sparse = Sparse(one, places)
                words["b" if one.group else "images"] += sparse.words()
                stored = [[row[k] for k in kept] for row, kept in zip(rows, sparse.elements)]
                for row, kept in zip(rows, sparse.elements):
                    row[:] = [code if k in kept else 0 for k, code in enumerate(row)]
                rows = stored
            words["a"] += fragment(rows, BITS[one.a], True)
            words["c"] += sums(c[first : first + 16], BITS[one.c])
        if one.group:
            image = Image()
            one.form["b_descriptor"] = image.add(b, BITS[one.b], False, 0)
            words["images"] += image.words()
            one.form["image_bytes"] = 4 * len(image.words())
        else:
            words["b"] += fragment(b, BITS[one.b], False)
    return blocks, words


def tables(one, d):
    """D of each block, by rows."""
    size = len(d) // BLOCKS
    result = []
    for block in range(BLOCKS):
        words = d[block * size : block * size + size]
        share = size // (one.m // 16)
        result.append([row for w in range(one.m // 16) for row in from_sums(words[w * share : w * share + share], 16, one.n, BITS[one.d])])
    return result


# --- Simple models of a sum ------------------------------------------------------------------------------------------


def parts(kind, code):
    """(sign * significand, exponent) with the significand whole, scaled by 2^mantissa; None for infinity and NaN."""
    exponents, mantissa = FORMATS[kind]
    fill = BITS[kind] - 1 - exponents - mantissa
    code >>= fill
    bias = (1 << exponents - 1) - 1
    field, low = code >> mantissa & (1 << exponents) - 1, code & (1 << mantissa) - 1
    if field == (1 << exponents) - 1 and (kind != "e4m3" or low == 7):
        return None
    significand = low | (1 << mantissa if field else 0)
    return (-significand if code >> exponents + mantissa & 1 else significand), max(field, 1) - bias, mantissa


def shifted(number, places):
    """number * 2^places towards zero."""
    if places >= 0:
        return number << places
    return number >> -places if number >= 0 else -(-number >> -places)


def narrowed(number, exponent, kind, bits):
    """The code of number * 2^exponent: f32 towards zero with `bits` fraction bits, f16 to nearest even."""
    exponents, mantissa = FORMATS[kind]
    bits = bits if kind == "f32" else mantissa
    bias, magnitude = (1 << exponents - 1) - 1, abs(number)
    if magnitude == 0:
        return 0
    top = max(magnitude.bit_length() - 1 + exponent, 1 - bias)
    drop = top - bits - exponent
    if drop > 0:
        rest, half = magnitude & (1 << drop) - 1, 1 << drop - 1
        magnitude >>= drop
        if kind == "f16" and (rest > half or rest == half and magnitude & 1):
            magnitude += 1
    else:
        magnitude <<= -drop
    magnitude <<= mantissa - bits
    field = top + bias if magnitude >> mantissa else 0
    if magnitude >> mantissa + 1:
        magnitude, field = magnitude >> 1, field + 1
    sign = (number < 0) << BITS[kind] - 1
    if field >= (1 << exponents) - 1:
        return sign | (1 << exponents) - 1 << mantissa
    return sign | field << mantissa | magnitude & (1 << mantissa) - 1


def modelled(one, row, column, c, fraction, result_bits, groups):
    """D's code; None where infinity or NaN take part."""
    total = c
    for group in groups:
        terms = []
        first = parts(one.d, total)
        if first is None:
            return None
        terms.append((first[0], first[1], first[2]))
        for k in group:
            x, y = parts(one.a, row[k]), parts(one.b, column[k])
            if x is None or y is None:
                return None
            terms.append((x[0] * y[0], x[1] + y[1], x[2] + y[2]))
        largest = max([e for s, e, _ in terms if s] + [-126])
        number = sum(shifted(s, e - largest + fraction - scale) for s, e, scale in terms)
        total = narrowed(number, largest - fraction, one.d, result_bits)
    return total


def groupings(k):
    """Ways to add k products: names and lists of k."""
    yield "all at once", [list(range(k))]
    for step in (4, 8, 16):
        if step < k:
            yield f"{step} after {step}", [list(range(i, i + step)) for i in range(0, k, step)]
            yield f"every {k // step}th", [list(range(i, k, k // step)) for i in range(k // step)]
    if k >= 16:
        for pair in (2, 4):
            yield f"pairs of {2 * pair}", [[i for i in range(k) if i // pair % 2 == half] for half in (0, 1)]


def fitting(one, samples):
    """Models that give `wanted` for all (row, column, c, wanted); the best one where none does."""
    tried = []
    for fraction in (*range(12, 15), *range(22, 28)):
        for result_bits in (13, 23) if one.d == "f32" else (10,):
            for name, groups in groupings(one.k):
                right = sum(modelled(one, row, column, c, fraction, result_bits, groups) in (None, wanted) for row, column, c, wanted in samples)
                tried.append((right, f"{fraction} fraction bits, {result_bits} of the result, {name}"))
    most = max(right for right, _ in tried)
    return f"{most} of {len(samples)}: " + "; ".join(name for right, name in tried if right == most)


def compare(left, right):
    first, second = json.load(open(left)), json.load(open(right))
    differ_in_all = 0
    for one in instructions():
        label = one.label()
        if label not in first or label not in second:
            print(f"{label}: not measured on both")
            continue
        if isinstance(first[label], str) or isinstance(second[label], str):
            print(f"{label}: {first[label] if isinstance(first[label], str) else second[label]}")
            continue
        blocks, _ = prepare(one)
        counts, examples, samples = {}, [], []
        for (kind, a, b, c), x, y in zip(blocks, tables(one, first[label]), tables(one, second[label])):
            for i in range(one.m):
                for j in range(one.n):
                    equal = x[i][j] == y[i][j]
                    if i % 4 == 0 and j % 2 == 0 and len(samples) < 600 and kind not in ("special", "raw"):
                        samples.append((a[i], b[j], c[i][j], x[i][j]))
                    if equal:
                        continue
                    counts[kind] = counts.get(kind, 0) + 1
                    samples.append((a[i], b[j], c[i][j], x[i][j]))
                    if len(examples) < 3:
                        examples.append(f"  {kind}: a {[hex(v) for v in a[i]]} b {[hex(v) for v in b[j]]} c {c[i][j]:#x}: {x[i][j]:#x} and {y[i][j]:#x}")
        total = BLOCKS * one.m * one.n
        differ_in_all += sum(counts.values())
        print(f"{label}: {sum(counts.values())} of {total} differ {counts or ''}")
        if counts:
            print("\n".join(examples))
            print("  models: " + fitting(one, random.Random(1).sample(samples, min(len(samples), 400))), flush=True)
    return 1 if differ_in_all else 0


def measure(program, device, labels=None):
    """What a device says: the words of D of each instruction (of `labels`), or why there are none."""
    said = {}
    with tempfile.TemporaryDirectory() as folder:
        for one in instructions():
            if labels and one.label() not in labels:
                continue
            _, words = prepare(one)
            said[one.label()] = run(program, device, folder, one, BLOCKS, words["a"], words["b"], words["c"], words["images"])
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="build/release/cuda-rlm")
    parser.add_argument("--device", default="vgpu")
    parser.add_argument("--out", default="numerics.json")
    parser.add_argument("--compare", nargs=2)
    parser.add_argument("--keep", metavar="JSON")
    options = parser.parse_args()
    if options.compare:
        return compare(*options.compare)
    if options.keep:
        with open(options.keep) as file:
            record.write(options.out, json.load(file), BLOCKS, len(KINDS))
        return 0
    said = measure(options.program, options.device)
    for label, words in said.items():
        if isinstance(words, str):
            print(f"{label}: {words}")
    with open(options.out, "w") as file:
        json.dump(said, file)
    print(f"{len(said)} instructions, {BLOCKS} blocks each, in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

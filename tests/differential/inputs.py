"""The operands that the differential suite applies instructions to: edge values crossed with edge values, then random
ones, the same on every machine (fixed seeds, no library but Python's).

A *domain* is what an operand's bits mean: it decides the edges and how random values are drawn. A group of forms shares
one tuple of domains and so one set of inputs.
"""
import array
import itertools
import random

BITS = {"i16": 16, "i32": 32, "i64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "f16x2": 32, "bf16x2": 32, "f32x2": 64,
        "i16x2": 32, "i8x4": 32, "shift": 32, "field": 32, "few": 32, "flag": 32, "lane": 32, "selector": 32, "all16": 16,
        "all16x2": 32, "dense32": 32, "dense64": 64, "hair16": 16, "hair32": 32,
        "hair64": 64}
TYPECODE = {16: "H", 32: "I", 64: "Q"}
DENSE = 1 << 20  # elements of a dense sample of f32


def _signed(magnitudes, bits):
    return [*magnitudes, *(m | 1 << (bits - 1) for m in magnitudes)]


def _integers(bits):
    top = (1 << bits) - 1
    values = [0, 1, 2, 3, 7, 10, 0x55, 0x80, 0xff, 0x7f, 100, top, top - 1, top - 2, top - 99, top >> 1, (top >> 1) + 1, (top >> 1) - 1,
              (top >> 1) + 2]
    if bits > 16:
        values += [0x7fff, 0x8000, 0xffff, 0x10000, 0xffffff, 0x800000, 0x7fffff, 0x1000000, top ^ 0xffff, top ^ 0x7fff, top ^ 0x7f,
                   0x12345678, 0x89abcdef, 0xaaaaaaaa]
    if bits > 32:
        values += [0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, top ^ 0x7fffffff, top ^ 0xffffffff, 0x001fffffffffffff,
                   0x0020000000000001, 0x0020000000000003, 0x0123456789abcdef, 0xfedcba9876543210, 0x7ffffffffffffc00,
                   0x7ffffffffffffdff, 0xfffffffffffff400, 0x00000000ff7fffff, 0x8000004000000000, 0x8000008000000000,
                   0x8000010000000001]
    return sorted(set(values))


_F32 = _signed([0, 1, 0x007fffff, 0x00800000, 0x00000d00, 0x3f800000, 0x3f7fffff, 0x3f800001, 0x3f000000, 0x3fc00000, 0x40000000,
                0x40200000, 0x40600000, 0x34000000, 0x33800000, 0x33000000, 0x38800000, 0x387fc000, 0x477fe000, 0x477ff000,
                0x43e00000, 0x43e80000, 0x42fe0000, 0x437f8000, 0x4b000001, 0x4effffff, 0x4f000000, 0x4f800000, 0x5f000000,
                0x7e800001, 0x7effffff, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00123, 0x7fffffff], 32)
_F64 = _signed([0, 1, 0x000fffffffffffff, 0x0010000000000000, 0x3ff0000000000000, 0x3fefffffffffffff, 0x3ff0000000000001,
                0x3fe0000000000000, 0x3ff8000000000000, 0x4004000000000000, 0x36a0000000000000, 0x3690000000000000,
                0x3690000000000001, 0x380fffffe0000000, 0x380fffffc0000000, 0x47efffffe0000000, 0x47effffff0000000,
                0x3ff0000010000000, 0x3ff0000030000000, 0x40effc0000000000, 0x40effe0000000000, 0x41dfffffffc00000,
                0x41e0000000000000, 0x41efffffffe00000, 0x43dfffffffffffff, 0x43e0000000000000, 0x43f0000000000000,
                0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff0000000000001, 0x7ff8000000000123, 0x7fffffffffffffff,
                0x3ca0000000000000, 0x3e70000000000001, 0x3f10000000000000], 64)
_F16 = _signed([0, 1, 0x1ff, 0x3ff, 0x400, 0x401, 0x3c00, 0x3bff, 0x3c01, 0x3800, 0x3e00, 0x4000, 0x4100, 0x4248, 0x2e66, 0x1400,
                0x1000, 0x57f8, 0x5c00, 0x7800, 0x7bff, 0x7c00, 0x7c01, 0x7e12, 0x7ff7, 0x7fff], 16)
_BF16 = _signed([0, 1, 0x3f, 0x7f, 0x80, 0x81, 0x3f80, 0x3f7f, 0x3f81, 0x3f00, 0x3fc0, 0x4000, 0x4020, 0x4049, 0x3c23, 0x3b80,
                 0x4300, 0x4f00, 0x5f00, 0x7f00, 0x7f7f, 0x7f80, 0x7f81, 0x7fc5, 0x7ff7, 0x7fff], 16)
# For products of three lists.
_FEW_F32 = _signed([0, 1, 0x00800000, 0x3f800000, 0x3f800001, 0x40490fdb, 0x7f7fffff, 0x7f800000, 0x7fc00123], 32)
_FEW_F64 = _signed([0, 1, 0x0010000000000000, 0x3ff0000000000000, 0x3ff0000000000001, 0x400921fb54442d18, 0x7fefffffffffffff,
                    0x7ff0000000000000, 0x7ff8000000000123], 64)
_FEW_F16 = _signed([0, 1, 0x400, 0x3c00, 0x3c01, 0x4248, 0x7bff, 0x7c00, 0x7e12, 0x7ff7], 16)
_FEW_BF16 = _signed([0, 1, 0x80, 0x3f80, 0x3f81, 0x4049, 0x7f7f, 0x7f80, 0x7fc5, 0x7ff7], 16)


def _few_integers(bits):
    top = (1 << bits) - 1
    return [0, 1, 2, 3, 0x55, 0xff, 100, top, top - 1, top >> 1, (top >> 1) + 1, top // 3, 0x1234, top ^ 0xffff if bits > 16 else 0x8001]


def _packed(values):
    """Pairs in which every value stands in both places."""
    n = len(values)
    return [values[i] | values[(7 * i + 3) % n] << 16 for i in range(n)]


def edges(domain, few=False):
    bits = BITS[domain]
    if domain in ("i16", "i32", "i64"):
        return _few_integers(bits) if few else _integers(bits)
    if domain == "f32":
        return _FEW_F32 if few else _F32
    if domain == "f64":
        return _FEW_F64 if few else _F64
    if domain in ("f16", "bf16", "f16x2", "bf16x2"):
        half = domain.startswith("f16")
        values = (_FEW_F16 if half else _FEW_BF16) if few else (_F16 if half else _BF16)
        return _packed(values) if domain.endswith("x2") else values
    if domain == "f32x2":
        values = _FEW_F32 if few else _F32
        return [v | values[(7 * i + 3) % len(values)] << 32 for i, v in enumerate(values)]
    if domain == "i16x2":
        return _packed(_few_integers(16) if few else _integers(16))
    if domain == "i8x4":
        return [0, 0x01010101, 0x7f7f7f7f, 0x80808080, 0xffffffff, 0x807f00ff, 0x01fe7f81, 0x12345678, 0xff00ff00, 0x00ff00ff, 0x80ff7f01]
    if domain == "shift":
        return [0, 1, 7, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 127, 255, 256, 0x10005, 0x80000000, 0xffffffff]
    if domain == "field":
        return [0, 1, 4, 8, 16, 24, 31, 32, 33, 40, 63, 64, 100, 255, 256, 0x101, 0xffffffff]
    if domain == "selector":
        return [0x3210, 0x7654, 0x0123, 0x8888, 0xfedc, 0x5410, 0x7632, 0, 1, 2, 3, 0xffffffff, 0x9a3b, 0x48c1]
    if domain in ("few", "flag"):
        return [0, 1]
    if domain in _HAIRS:
        return [word + step for word in _HAIRS[domain] for step in range(-4, 5)]
    return [0, 1, 31]  # lane


def _random_float(rng, exponent_bits, mantissa_bits):
    bits = 1 + exponent_bits + mantissa_bits
    how = rng.getrandbits(3)
    if how < 3:
        return rng.getrandbits(bits)
    bias = (1 << (exponent_bits - 1)) - 1
    sign, mantissa = rng.getrandbits(1), rng.getrandbits(mantissa_bits)
    if how == 3:  # near one
        exponent = bias + rng.getrandbits(3) - 4
    elif how == 4:  # few digits: ties
        exponent, mantissa = bias + rng.getrandbits(4) - 8, mantissa & -(1 << (mantissa_bits - min(mantissa_bits, 4)))
    elif how == 5:  # of integers' size
        exponent = min(bias + rng.getrandbits(6), (1 << exponent_bits) - 2)
    elif how == 6:  # next to the denormals
        exponent = rng.getrandbits(3)
    else:
        exponent = bias + rng.getrandbits(5) - 16
    exponent = max(0, min(exponent, (1 << exponent_bits) - 1))
    return sign << (bits - 1) | exponent << mantissa_bits | mantissa


# Next to what products of this kind come to: the smallest normal number, by a hair.
_HAIRS = {"hair16": [0x0404, 0x3bfb, 0x8404], "hair32": [0x00800004, 0x3f7ffffb, 0x80800004],
          "hair64": [0x380ffffff0000000, 0x380fffffe0000000, 0x380ffffffffffffb, 0xb80ffffff0000000]}


def draw(domain, rng):
    bits = BITS[domain]
    if domain == "f32":
        return _random_float(rng, 8, 23)
    if domain == "f64":
        return _random_float(rng, 11, 52)
    if domain in ("f16", "f16x2"):
        low = _random_float(rng, 5, 10)
        return low if domain == "f16" else low | _random_float(rng, 5, 10) << 16
    if domain in ("bf16", "bf16x2"):
        low = _random_float(rng, 8, 7)
        return low if domain == "bf16" else low | _random_float(rng, 8, 7) << 16
    if domain == "f32x2":
        return _random_float(rng, 8, 23) | _random_float(rng, 8, 23) << 32
    if domain in ("shift", "field"):
        return rng.getrandbits(7) if rng.getrandbits(2) else rng.getrandbits(32)
    if domain == "few":
        return rng.getrandbits(2)
    if domain == "flag":
        return rng.getrandbits(1)
    if domain == "lane":
        return rng.getrandbits(5)
    if domain in _HAIRS:
        return rng.choice(_HAIRS[domain]) + rng.getrandbits(4) - 4
    value = rng.getrandbits(bits)
    return value >> rng.getrandbits(5 if bits > 16 else 3) if rng.getrandbits(1) else value


def _dense(number, rng, bits):
    """One value in each of 2^20 slices of all bit patterns; the second operand's in another order."""
    low = bits - 20
    return [((i * 0x9e375 & DENSE - 1 if number else i) << low) | rng.getrandbits(low) for i in range(DENSE)]


def elements(domains):
    """How many elements the inputs of these domains have: a multiple of 256."""
    if domains[0].startswith("dense"):
        return DENSE
    if domains[0].startswith("all16"):
        return 1 << 16
    return 16384 if len(domains) == 1 else 4096


def make(domains):
    """A list of arrays, one an operand."""
    rng = random.Random("recuda " + " ".join(domains))
    if domains[0].startswith("dense"):
        return [array.array(TYPECODE[BITS[d]], _dense(i, rng, BITS[d])) for i, d in enumerate(domains)]
    if domains == ("all16",):
        return [array.array("H", range(1 << 16))]
    if domains == ("all16x2",):
        return [array.array("I", (low | (low * 40503 & 0xffff) << 16 for low in range(1 << 16)))]
    count = elements(domains)
    lists = [edges(d, few=len(domains) > 2) for d in domains]
    product = 1
    for one in lists:
        product *= len(one)
    if product <= 3 * count // 4:
        rows = list(itertools.product(*lists))
    else:  # as many different combinations as three quarters have room for
        rows = [tuple(one[rng.randrange(len(one))] for one in lists) for _ in range(count * 3 // 4)]
    while len(rows) < count:
        row = [draw(d, rng) for d in domains]
        if len(row) > 1 and domains[0] == domains[1] and rng.getrandbits(2) == 0:
            row[1] = row[0] ^ (rng.getrandbits(1) << (BITS[domains[0]] - 1)) ^ rng.getrandbits(2)  # cancellation
        rows.append(tuple(row))
    return [array.array(TYPECODE[BITS[d]], [row[i] for row in rows]) for i, d in enumerate(domains)]

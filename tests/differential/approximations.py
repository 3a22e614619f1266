"""How far approximations lie from the exact values, in units of the last place of the result's format.

The exact value is numpy's double function of the widened operand: its own error is below 2^-50 of the value, which is
nothing beside the last place of f32. For .ftz.f64 results, of which the hardware computes the upper 32 bits, the unit is
that of a 20-digit mantissa; for rsqrt.approx.f64 the measure is as good as numpy's function.
"""
import numpy

FORMATS = {"f16": (16, 5, 10), "bf16": (16, 8, 7), "f32": (32, 8, 23), "f64": (64, 11, 52)}
_WORD = {16: numpy.uint16, 32: numpy.uint32, 64: numpy.uint64}


def _wide(words, kind):
    if kind == "f16":
        return words.view(numpy.float16).astype(numpy.float64)
    if kind == "bf16":
        return (words.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    return words.view({"f32": numpy.float32, "f64": numpy.float64}[kind]).astype(numpy.float64)


_EXACT = {"rcp": lambda x: 1.0 / x, "sqrt": numpy.sqrt, "rsqrt": lambda x: 1.0 / numpy.sqrt(x), "sin": numpy.sin, "cos": numpy.cos,
          "lg2": numpy.log2, "ex2": numpy.exp2, "tanh": numpy.tanh, "div": lambda x, y: x / y}


def _kind(form):
    """The number format and how many stand in a word."""
    last = form.name.split(" ")[0].split(".")[-1]
    return (last[:-2], 2) if last.endswith("x2") else (last, 1)


def _flush(values, kind):
    bits, exponent_bits, _ = FORMATS[kind]
    least = 2.0 ** (2 - 2 ** (exponent_bits - 1))
    return numpy.where(numpy.abs(values) < least, numpy.copysign(0.0, values), values)


def apart(form, gpu, virtual):
    """How far two devices' results lie apart at most: in steps of the format, and absolutely where both are finite."""
    kind, _ = _kind(form)
    a, b = numpy.frombuffer(gpu, _WORD[FORMATS[kind][0]]), numpy.frombuffer(virtual, _WORD[FORMATS[kind][0]])
    top = 1 << (FORMATS[kind][0] - 1)

    def ordered(words):
        magnitudes = (words & (top - 1)).astype(numpy.int64) >> (32 if ".ftz.f64" in form.name else 0)
        return numpy.where(words >= top, -magnitudes, magnitudes)
    with numpy.errstate(all="ignore"):
        x, y = _wide(a, kind), _wide(b, kind)
        finite = numpy.isfinite(x) & numpy.isfinite(y)
        return {"steps": float(numpy.where(finite, numpy.abs(ordered(a) - ordered(b)), 0).max()),
                "absolute": float(numpy.where(finite, numpy.abs(x - y), 0).max())}


def measure(form, operands, results):
    """What one device's results are worth: {max_ulp, at, special_wrong}. `operands` are arrays of words, `results` bytes."""
    kind, lanes = _kind(form)
    bits, exponent_bits, mantissa_bits = FORMATS[kind]
    digits = 20 if kind == "f64" and ".ftz" in form.name else mantissa_bits
    word = _WORD[bits]
    got_words = numpy.frombuffer(results, word)
    inputs = [numpy.frombuffer(operand.tobytes(), word) for operand in operands]
    ftz = ".ftz" in form.name
    with numpy.errstate(all="ignore"):
        if kind == "f64" and ftz:  # these read the upper word alone
            inputs = [x & numpy.uint64(0xffffffff00000000) for x in inputs]
        wide = [_wide(x, kind) for x in inputs]
        if ftz:
            wide = [_flush(x, kind) for x in wide]
        exact, got = _EXACT[form.exact](*wide), _wide(got_words, kind)
        bias = 2 ** (exponent_bits - 1) - 1
        least = 1 - bias
        exponent = numpy.clip(numpy.frexp(exact)[1] - 1, least, bias)
        exponent = numpy.where(numpy.isfinite(exact), exponent, 0)
        difference = numpy.abs(got - exact)
        ulp = numpy.ldexp(difference, digits - exponent)
        largest = numpy.ldexp(2.0 - 2.0 ** -digits, bias)
        absolute = numpy.where(numpy.isfinite(exact) & numpy.isfinite(got), difference, 0)
        # NaN where the exact value is NaN, infinite where it is or overflows: otherwise a disagreement of its own kind.
        finite = numpy.isfinite(exact) & (numpy.abs(exact) <= largest)
        special = numpy.where(numpy.isnan(exact), ~numpy.isnan(got),
                              numpy.where(~finite, ~(numpy.isinf(got) & (numpy.signbit(got) == numpy.signbit(exact))), ~numpy.isfinite(got)))
        if ftz:  # a result below the normal numbers may be flushed
            flushed = (numpy.abs(exact) < 2.0 ** least * (1 + 2.0 ** -digits)) & (got == 0)
            ulp = numpy.where(flushed, 0, ulp)
        ulp = numpy.where(finite & numpy.isfinite(got), ulp, 0)
        if form.name.startswith("div.approx"):  # beyond 2^126 a divisor's reciprocal is flushed, as the ISA says
            ulp = numpy.where(numpy.abs(wide[1]) > 2.0 ** 126, 0, ulp)
    worst = int(numpy.argmax(ulp))
    summary = {"max_ulp": float(ulp[worst]), "max_absolute": float(absolute.max()), "at": [hex(int(x[worst])) for x in inputs],
               "result": hex(int(got_words[worst])), "special": int(special.sum())}
    if summary["special"]:
        where = numpy.flatnonzero(special)[:4]
        summary["special_at"] = [[*(hex(int(x[i])) for x in inputs), hex(int(got_words[i]))] for i in where]
    summary["off_by_more_than"] = {str(limit): int((ulp > limit).sum()) for limit in (0.5, 1, 2, 4)}
    return summary

"""The forms of PTX's scalar, packed and warp instructions that the differential suite runs, expanded from the rules of
rules_arithmetic.py and rules_data.py."""
import dataclasses
import itertools
import re

import rules_arithmetic  # noqa: F401: its rules
import rules_data  # noqa: F401
from grammar import DOMAIN, RULES, WIDTH


@dataclasses.dataclass(frozen=True)
class Form:
    name: str  # unique: the opcode, and what tells bodies of one opcode apart
    bits: int  # of d
    domains: tuple
    body: str
    two: bool  # e is a result too
    sm: int
    note: str
    exact: str  # the function that an approximation approximates


def _expanded(pattern):
    parts = re.split(r"\[([^\]]*)\]", pattern)
    choices = [[part] if i % 2 == 0 else part.split("|") for i, part in enumerate(parts)]
    return ["".join(combination) for combination in itertools.product(*choices)]


def _domain(word):
    return DOMAIN.get(word, word)


def expand():
    """Every form, in the table's order."""
    forms, seen = [], set()
    for pattern, result, operands, body, sm, note, exact, label, types in RULES:
        for values in itertools.product(*(words.split() for words in types.values())):
            bound = dict(zip(types, values))

            def put(text):
                for key, value in bound.items():
                    text = text.replace("{" + key + "}", value)
                return text
            for opcode in _expanded(put(pattern)):
                names = "abc"[:len(operands.split())]
                text = put(body) if body else f"OP d, {', '.join(names)};"
                extra = [value for key, value in bound.items() if "{" + key + "}" not in pattern]
                name = " ".join([opcode, *([label] if label else []), *extra])
                text = re.sub(r"\bOP\b", opcode, text).replace("{{", "{").replace("}}", "}")
                domains = tuple(_domain(word) for word in put(operands).split())
                if name in seen:
                    raise ValueError(f"two forms are called {name}")
                seen.add(name)
                forms.append(Form(name, WIDTH[put(result)], domains, text, bool(re.search(r"\be\b", text)), sm, note, exact))
    return forms

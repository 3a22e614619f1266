#!/usr/bin/env python3
"""Checks that every include in src/ is one that the layer table of docs/architecture.md allows.

usage: check_layers.py [ROOT]     ROOT is the source root; exit 1 and one line for each include that is not allowed.

The rules are the table's; beyond it:
  * a back end of device (device/vgpu, device/cuda) is entered from outside its folder by its factory header alone;
  * a test may include its own layer and every layer above it in the table;
  * what FORBIDDEN lists is refused even where the table would allow it.
"""

import pathlib
import re
import sys

BACK_ENDS = {"device/vgpu": "device/vgpu/vgpu.h", "device/cuda": "device/cuda/cuda.h"}
FORBIDDEN = {"search": {"device", "runtime"}, "runtime": {"search", "lm", "retrieval"}}
FORBIDDEN_IN_TESTS = {"runtime": {"search", "lm", "retrieval"}}

ROW = re.compile(r"^\|\s*`(\w+)`\s*\|[^|]*\|([^|]*)\|\s*$")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def read_table(text):
    """The table below the heading `## Layers`: layer -> what it may include, ground first."""
    table = {}
    section = re.search(r"^## Layers$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    for line in section.group(1).splitlines() if section else []:
        row = ROW.match(line)
        if row:
            table[row.group(1)] = re.findall(r"`([\w/.]+)`", row.group(2))
    return table


def check_table(table):
    """What is wrong with the table itself: a layer may only build on layers above it."""
    layers = list(table)
    for layer, allowed in table.items():
        for name in allowed:
            base = name.split("/")[0]
            if base not in table:
                yield f"the table lets {layer} include {name}, which is not a layer"
            elif layers.index(base) >= layers.index(layer):
                yield f"the table lets {layer} include {name}, which is not above it"
            elif name == base and base in FORBIDDEN.get(layer, ()):
                yield f"the table lets {layer} include {name}, which is forbidden"


def refusal(table, source, header):
    """Why `source` may not include `header` (both relative to src/), or None."""
    layer, target = source.split("/")[0], header.split("/")[0]
    is_test = source.endswith("_test.cpp")
    for folder, factory in BACK_ENDS.items():
        outside = not source.startswith(folder + "/")
        if header.startswith(folder + "/") and header != factory and outside:
            return f"{folder} is entered by {factory} alone"
    if target == layer:
        return None
    if target in (FORBIDDEN_IN_TESTS if is_test else FORBIDDEN).get(layer, ()):
        return f"{layer} must never include {target}"
    layers = list(table)
    if is_test:
        if layers.index(target) < layers.index(layer):
            return None
        return f"a test of {layer} may include {layer} and the layers above it"
    if target in table[layer] or header in table[layer]:
        return None
    return f"{layer} may include: " + (" ".join(table[layer]) or "no other layer")


def check_file(table, root, path):
    source = path.relative_to(root / "src").as_posix()
    if "/" not in source:  # src/main.cpp stands above the layers
        return
    if source.split("/")[0] not in table:
        yield f"src/{source}: its folder is not a layer of docs/architecture.md"
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        include = INCLUDE.match(line)
        if not include or "/" not in include.group(1):
            # A header without a folder is generated, a test helper's neighbour, or no file of ours.
            if include and (path.parent / include.group(1)).exists():
                yield f'src/{source}:{number}: "{include.group(1)}" must be written with its path below src/'
            continue
        header = include.group(1)
        if header.split("/")[0] not in table:
            yield f'src/{source}:{number}: "{header}" is no file of ours: write <{header}>'
            continue
        reason = refusal(table, source, header)
        if reason:
            yield f'src/{source}:{number}: "{header}": {reason}'


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parent.parent).resolve()
    table = read_table((root / "docs/architecture.md").read_text(encoding="utf-8"))
    if not table:
        print("docs/architecture.md has no layer table below `## Layers`")
        return 1
    problems = list(check_table(table))
    if not problems:
        files = sorted(p for p in (root / "src").rglob("*") if p.suffix in (".h", ".cpp"))
        problems = [problem for path in files for problem in check_file(table, root, path)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

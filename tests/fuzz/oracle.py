#!/usr/bin/env python3
"""Compares what ptxas and the virtual GPU take for PTX: real modules, changed lightly, go to both.

usage: oracle.py PROGRAM [FILE ...] [--rounds N] [--seed N] [--keep FOLDER]

PROGRAM is cuda-rlm; FILE are .ptx modules, by default the fuzzers' corpus. A change is one word: a statement repeated,
removed or moved, a modifier, register, number or label exchanged for another of the module. The table says how often
they agree, and groups disagreement by the two messages; `--keep` keeps one input of each group. Where ptxas takes what
we call build_failed, the exit status is 1: a correct kernel must never be called malformed. The other way round is
leniency. Not a part of CI: a round takes a tenth of a second.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PTXAS = ROOT / ".deps/cuda/bin/ptxas"
WORD = re.compile(r"\.[A-Za-z0-9_:]+|[%$A-Za-z_][\w$]*|\d\w*")


def statements(text):
    return [match.span() for match in re.finditer(r"[^;{}]*[;{}]", text)]


def exchange(rng, text, pattern):
    """One word that fits the pattern becomes another one that does."""
    words = [match for match in WORD.finditer(text, text.find("{")) if re.fullmatch(pattern, match.group())]
    if not words:
        return text
    place = rng.choice(words)
    return text[:place.start()] + rng.choice(words).group() + text[place.end():]


def changed(rng, text):
    body = [span for span in statements(text) if span[0] > text.find("{")]
    (begin, end), (other, _) = rng.choice(body), rng.choice(body)
    return rng.choice([
        lambda: text[:begin] + text[end:],
        lambda: text[:other] + text[begin:end] + text[other:],
        lambda: exchange(rng, text, r"\..+"),
        lambda: exchange(rng, text, r"%\w+"),
        lambda: exchange(rng, text, r"\d\w*"),
        lambda: exchange(rng, text, r"[A-Za-z_$][\w$]*"),
        lambda: text.replace(", ", " ", 1) if rng.random() < 0.1 else exchange(rng, text, r"[%.].+"),
    ])()


def ptxas_says(path, target):
    result = subprocess.run([PTXAS, "-arch=" + target, "-o", "/dev/null", path], capture_output=True, text=True)
    lines = [line for line in (result.stdout + result.stderr).splitlines() if "error" in line or "fatal" in line]
    if result.returncode == 0 or not lines:
        return None
    return re.sub(r"^.*?(error|fatal)\s*: ?", "", lines[0])


def we_say(program, path, target):
    entry = re.search(r"\.entry\s+([\w$]+)", path.read_text(errors="replace"))
    command = [program, "exec", path, "--device", "vgpu", "--target", target, "--json", "--launch",
               f"{entry.group(1) if entry else 'none'}<<<1, 32>>>()"]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60)
    try:
        answer = json.loads(result.stdout)
    except ValueError:
        return "CRASH " + result.stderr[-200:]
    return answer["log"] if answer["outcome"] == "build_failed" else None


def group(message):
    return re.sub(r"'[^']*'|\"[^\"]*\"|\b\d+\b|ptx line|line|[\w:.%$]*[.%$][\w:.%$]*", "…", message or "takes it")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    files = options.files or sorted((ROOT / "tests/fuzz/corpus").iterdir())
    both = collections.Counter()
    groups = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "changed.ptx"
        for _ in range(options.rounds):
            text = rng.choice(files).read_text(errors="replace")
            if "\0" in text or not statements(text):
                continue
            text = changed(rng, text)
            path.write_text(text)
            target = re.search(r"\.target\s+(\w+)", text)
            target = target.group(1) if target else "sm_90"
            theirs, ours = ptxas_says(path, target), we_say(options.program, path, target)
            both[theirs is None, ours is None] += 1
            if (theirs is None) != (ours is None) or (ours or "").startswith("CRASH"):
                groups[ours is not None, group(theirs), group(ours)].append((theirs, ours, text))
    print(f"both take it {both[True, True]}, both reject it {both[False, False]}, "
          f"we alone reject it {both[True, False]}, ptxas alone {both[False, True]}")
    for (_, _, _), cases in sorted(groups.items(), key=lambda item: (not item[0][0], -len(item[1]))):
        theirs, ours, text = min(cases, key=lambda case: len(case[2]))
        print(f"{len(cases):4}  ptxas: {theirs or 'takes it'}\n      we:    {ours or 'take it'}")
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{'we' if ours else 'ptxas'}-{abs(hash((theirs, ours))) % 10**8}.ptx").write_text(text)
    return 1 if both[True, False] else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Calibrates the estimate: what the virtual GPU counts of many kernels against the times that a real GPU took.

usage: calibrate.py pack FOLDER               a folder that measures on another machine
       calibrate.py keep COUNTS.jsonl TIMES.jsonl FOLDER
                                              keeps both, joined by variant, as FOLDER/variants.jsonl.gz
       calibrate.py rank FOLDER               prints the figures of the kept variants, writes FOLDER/figures.md and plot.svg
       calibrate.py fit FOLDER                prints constants fitted to all ops and to each half, with their figures

All need the program build/release/calibration (`cmake --build --preset release --target calibration`). On the machine
with the GPU, in the folder that `pack` made (no compiler is needed; NVRTC and Triton are the machine's own):

       LD_LIBRARY_PATH=lib RECUDA_HOME=. ./calibration measure >times.jsonl

and on any machine `build/release/calibration count >counts.jsonl`.
"""

import argparse
import collections
import gzip
import json
import math
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "release" / "calibration"
# Of the system or the compiler: every machine has its own.
OWN = re.compile(r"^(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s))\.so")
FEWEST = 4  # variants of a workload for a correlation within it
KEPT_TIMES = ("median_ns", "low_ns", "high_ns", "samples_ns", "runs_per_sample", "buffer_sets", "cold", "clock_mhz", "unstable")


def pack(folder):
    """The program, the libraries that it needs, and what it reads."""
    (folder / "lib").mkdir(parents=True)
    shutil.copy(PROGRAM, folder / "calibration")
    subprocess.run(["strip", folder / "calibration"], check=True)
    linked = subprocess.run(["ldd", PROGRAM], check=True, capture_output=True, text=True).stdout
    for name, path in re.findall(r"(\S+) => (\S+)", linked):
        if not OWN.match(name):
            shutil.copy(path, folder / "lib" / name)
    for part in ("ops", "tasks", "python", "bench/calibration"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.cpp", "*.h"))


def lines_of(text):
    return [json.loads(line) for line in text.splitlines() if line]


def keep(counts_file, times_file, folder):
    """Joins counts and times by variant; a variant that was not measured or not counted is an error."""
    times = lines_of(times_file.read_text(encoding="utf-8"))
    counted = lines_of(counts_file.read_text(encoding="utf-8"))
    timed = {line["id"]: line for line in times if "id" in line}
    folder.mkdir(parents=True, exist_ok=True)
    kept = []
    for variant in counted:
        if "id" not in variant:
            continue
        time = timed[variant["id"]]
        for line in (variant, time):
            if line["outcome"] != "correct":
                sys.exit(f"calibrate: {variant['id']} is {line['outcome']}: {line.get('log')}")
        kept.append({**variant, **{key: time[key] for key in KEPT_TIMES}})
        kept[-1]["samples_ns"] = [round(sample, 1) for sample in time["samples_ns"]]
    text = "".join(json.dumps(variant, separators=(",", ":")) + "\n" for variant in kept)
    (folder / "variants.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    environment = {**times[0]["environment"], "method": next(line["method"] for line in times if "method" in line)}
    (folder / "environment.json").write_text(json.dumps(environment, indent=1) + "\n", encoding="utf-8")


def ranks(values):
    """Ranks with ties shared."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result, first = [0.0] * len(values), 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for place in order[first:last + 1]:
            result[place] = (first + last) / 2
        first = last + 1
    return result


def spearman(a, b):
    """The correlation of ranks; 0 where one side has no order at all."""
    a, b = ranks(a), ranks(b)
    if len(set(a)) == 1 or len(set(b)) == 1:
        return 0.0
    return statistics.correlation(a, b)


def figures(variants, estimates):
    """What the estimates of these variants are worth."""
    times = [variant["median_ns"] for variant in variants]
    guesses = [estimates[variant["id"]] for variant in variants]
    groups = collections.defaultdict(list)
    for variant, time, guess in zip(variants, times, guesses):
        groups[variant["workload"]].append((guess, time))
    within, regret = [], []
    for pairs in groups.values():
        if len(pairs) < FEWEST:
            continue
        within.append(spearman(*zip(*pairs)))
        regret.append(math.log(min(pairs)[1] / min(time for _, time in pairs)))
    return {
        "variants": len(variants),
        "spearman": spearman(guesses, times),
        "within_mean": statistics.mean(within),
        "within_median": statistics.median(within),
        "workloads": len(within),
        "error": math.exp(statistics.median(abs(math.log(guess / time)) for guess, time in zip(guesses, times))) - 1,
        "regret": math.exp(statistics.mean(regret)) - 1,
    }


def row(name, seen):
    return (f"| {name} | {seen['variants']} | {seen['spearman']:.2f} | {seen['within_mean']:.2f} | {seen['within_median']:.2f} "
            f"| {100 * seen['regret']:.0f} % | {100 * seen['error']:.0f} % |")


HEAD = """| variants | number | Spearman | within a workload, mean | median | first choice slower by | typical error |
|---|---|---|---|---|---|---|"""


def read_variants(folder):
    return lines_of(gzip.decompress((folder / "variants.jsonl.gz").read_bytes()).decode())


def scaled(variants):
    """Workloads of more than 8 tokens by the counters of 8, as a search estimates them."""
    of = lambda variant: (variant["task"], variant["file"], json.dumps(variant["point"]))
    small = {of(variant): variant for variant in variants if variant.get("axes", {}).get("T") == 8}
    for variant in variants:
        if variant.get("axes", {}).get("T", 0) > 8:
            yield {**small[of(variant)], "scale": variant["axes"]["T"] / 8,
                   **{key: variant[key] for key in ("id", "workload", "median_ns")}}


def estimates_of(variants, verb):
    """Estimates by what the constants were fitted to, and the constants."""
    text = "".join(json.dumps(variant) + "\n" for variant in variants)
    lines = lines_of(subprocess.run([PROGRAM, verb], input=text, check=True, capture_output=True, text=True).stdout)
    estimates, constants = collections.defaultdict(dict), {}
    for line in lines:
        if "constants" in line:
            constants[line["fitted_to"]] = line["constants"]
        else:
            estimates[line["fitted_to"]][line["id"]] = line["estimate"]
    return estimates, constants


def by_kind(variants):
    """Rows of the table: all, those of tasks, small kernels, each op with many variants."""
    yield "all", variants
    yield "kernels of tasks", [variant for variant in variants if "task" in variant]
    yield "small kernels", [variant for variant in variants if "task" not in variant]
    ops = collections.defaultdict(list)
    for variant in variants:
        ops[variant["op"]].append(variant)
    for op, some in sorted(ops.items()):
        if "task" in some[0]:
            yield op, some


def halves(variants):
    """Ops in the order of their names in turns, as the program's `fit` splits them."""
    ops = sorted({variant["op"] for variant in variants})
    return ([variant for variant in variants if ops.index(variant["op"]) % 2 == 0],
            [variant for variant in variants if ops.index(variant["op"]) % 2 == 1])


def rank(folder):
    variants = read_variants(folder)
    estimates = estimates_of(variants, "estimate")[0]["kept"]
    rows = [row(name, figures(some, estimates)) for name, some in by_kind(variants)]
    by_eight = list(scaled(variants))
    rows.insert(3, row("more than 8 tokens by the counters of 8",
                       figures(by_eight, estimates_of(by_eight, "estimate")[0]["kept"])))
    table = "\n".join([HEAD] + rows)
    (folder / "figures.md").write_text(table + "\n", encoding="utf-8")
    (folder / "plot.svg").write_text(plot(variants, estimates), encoding="utf-8")
    print(table)


def fit(folder):
    variants = read_variants(folder)
    estimates, constants = estimates_of(variants, "fit")
    first, second = halves(variants)
    print(HEAD)
    print(row("all, documented constants", figures(variants, estimates["nothing"])))
    print(row("all, fitted to all", figures(variants, estimates["all"])))
    print(row("first half of the ops, fitted to it", figures(first, estimates["first half"])))
    print(row("second half, fitted to the first", figures(second, estimates["first half"])))
    print(row("second half of the ops, fitted to it", figures(second, estimates["second half"])))
    print(row("first half, fitted to the second", figures(first, estimates["second half"])))
    print(json.dumps(constants, indent=1))


def plot(variants, estimates):
    """Estimate over time, both logarithmic, as SVG."""
    size, edge = 640, 60
    points = [(math.log10(variant["median_ns"]), math.log10(estimates[variant["id"]]), variant) for variant in variants]
    low = math.floor(min(min(x, y) for x, y, _ in points))
    high = math.ceil(max(max(x, y) for x, y, _ in points))
    scale = (size - 2 * edge) / (high - low)
    at = lambda x, y: (edge + (x - low) * scale, size - edge - (y - low) * scale)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" font-family="sans-serif" font-size="12">',
             f'<rect width="{size}" height="{size}" fill="white"/>']
    for decade in range(low, high + 1):
        x, y = at(decade, decade)
        parts.append(f'<path d="M{x:.1f} {edge}V{size - edge}M{edge} {y:.1f}H{size - edge}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{size - edge + 18}" text-anchor="middle">10^{decade}</text>')
        parts.append(f'<text x="{edge - 6}" y="{y + 4:.1f}" text-anchor="end">10^{decade}</text>')
    parts.append(f'<path d="M{edge} {size - edge}L{size - edge} {edge}" stroke="#888"/>')
    for x, y, variant in points:
        left, top = at(x, y)
        colour = "#1f77b4" if "task" in variant else "#ff7f0e"
        parts.append(f'<circle cx="{left:.1f}" cy="{top:.1f}" r="2.5" fill="{colour}" fill-opacity="0.5"><title>{variant["id"]}</title></circle>')
    parts.append(f'<text x="{size / 2}" y="{size - 16}" text-anchor="middle">time on the GPU, ns (blue: kernels of tasks, orange: small kernels)</text>')
    parts.append(f'<text transform="translate(16 {size / 2}) rotate(-90)" text-anchor="middle">estimate</text></svg>')
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("pack").add_argument("folder", type=pathlib.Path)
    keeping = verbs.add_parser("keep")
    keeping.add_argument("counts", type=pathlib.Path)
    keeping.add_argument("times", type=pathlib.Path)
    keeping.add_argument("folder", type=pathlib.Path)
    verbs.add_parser("rank").add_argument("folder", type=pathlib.Path)
    verbs.add_parser("fit").add_argument("folder", type=pathlib.Path)
    words = parser.parse_args()
    if words.verb == "keep":
        keep(words.counts, words.times, words.folder)
    else:
        {"pack": pack, "rank": rank, "fit": fit}[words.verb](words.folder)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""How many rmsnorm candidates a minute `cuda-rlm run` takes from text to screened verdict, with an empty cache.

usage: throughput.py [--program CUDA-RLM] [--device cuda] [--candidates 240] [--seed 1] [--home FOLDER]
                     [--no-vgpu-filter] >throughput.json

The candidates are seeds of a copy of the catalogue, each with a text of its own (rmsnorm_variants.py), so nothing of
them is known before. The time runs from the start of the program (compilers, reference, measured peaks included) to
the line of the last screened candidate in evaluations.jsonl. Prints one JSON document.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from rmsnorm_variants import variants

ROOT = pathlib.Path(__file__).resolve().parent.parent
TASK = "nano30b_rmsnorm"
STAGES = ("build_seconds", "filter_seconds", "verify_seconds", "measure_seconds", "judge_seconds")


def make_home(source, home, number, seed):
    """A catalogue with rmsnorm alone, whose seeds are the plain one and the variants."""
    for part in ("ops", "tasks", "presets", "python"):
        if (source / part).exists():
            shutil.copytree(source / part, home / part)
    seeds = home / "ops" / "rmsnorm" / "seeds"
    for seed_file in seeds.iterdir():
        if seed_file.name != "plain.cu":
            seed_file.unlink()
    for name, _, _, text in variants(number - 1, seed):
        (seeds / f"{name}.cu").write_text(text, encoding="utf-8")


def screened(path):
    """The whole lines of stage `screen` so far."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return []
    lines = [json.loads(line) for line in text[:text.rfind(b"\n") + 1].splitlines()]
    return [line for line in lines if line["stage"] == "screen"]


def watch(process, path, start, number):
    """Seconds after `start` at which the first and the last screened line were there."""
    first = last = None
    count, size = 0, -1
    while count < number:
        ended = process.poll() is not None
        now = path.stat().st_size if path.exists() else 0
        if now != size:
            size, count = now, len(screened(path))
            last = time.monotonic() - start
            if first is None and count > 0:
                first = last
        if ended:
            break
        time.sleep(0.02)
    return first, last


def share(values):
    return {"sum_s": round(sum(values), 3), "median_ms": round(1000 * statistics.median(values), 2),
            "p90_ms": round(1000 * sorted(values)[int(0.9 * (len(values) - 1))], 2)}


def figures(lines, first, last, whole):
    for line in lines:
        line["filter_seconds"] = (line.get("filter") or {}).get("seconds", 0)
    outcomes = {}
    for line in lines:
        outcomes[line["outcome"]] = outcomes.get(line["outcome"], 0) + 1
    return {"candidates": len(lines), "outcomes": outcomes, "first_verdict_s": round(first, 3), "screened_s": round(last, 3),
            "run_s": round(whole, 3), "per_minute": round(60 * len(lines) / last, 1),
            "per_minute_after_first": round(60 * (len(lines) - 1) / (last - first), 1),
            "stages": {stage: share([float(line[stage]) for line in lines]) for stage in STAGES}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "release" / "cuda-rlm")
    parser.add_argument("--home", type=pathlib.Path, default=ROOT, help="the catalogue that is copied")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--candidates", type=int, default=240)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-vgpu-filter", action="store_true")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recuda-throughput-") as name:
        folder = pathlib.Path(name)
        make_home(words.home, folder / "home", words.candidates, words.seed)
        out = folder / "run"
        asked = ["run", "--task", TASK, "--preset", "offline", "--device", words.device, "--num-candidates", str(words.candidates)]
        asked += ["--no-vgpu-filter"] if words.no_vgpu_filter else []
        command = [str(words.program.resolve()), *asked, "--out-dir", str(out), "--db", str(folder / "main.duckdb"), "--json"]
        environment = {**os.environ, "RECUDA_HOME": str(folder / "home"), "RECUDA_CACHE": str(folder / "cache")}
        start = time.monotonic()
        with subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
            first, last = watch(process, out / "evaluations.jsonl", start, words.candidates)
            process.communicate()
        whole = time.monotonic() - start
        lines = screened(out / "evaluations.jsonl")
        if process.returncode != 0 or len(lines) != words.candidates:
            sys.exit(f"throughput.py: the run ended with {process.returncode} after {len(lines)} candidates")
        run = json.loads((out / "run.json").read_text(encoding="utf-8"))
        starts = run.get("starts") or [run]
        result = {"task": TASK, "command": " ".join(asked), "cores": os.cpu_count(),
                  **figures(lines, first, last, whole), "environment": starts[-1].get("environment")}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

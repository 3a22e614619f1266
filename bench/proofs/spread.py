#!/usr/bin/env python3
"""Figures of what bench/proofs printed: how far times differ between sessions, and what proofs of equal kernels say.

usage: spread.py PROOFS.jsonl [PROOFS.jsonl …]

For each task and workload: the median time; the spread (standard deviation) of a session's median time over sessions;
the spread of the sessions' median log ratios of two copies, in percent, and how much of it samples within a session
explain (from halves of each session); the interval of the ratio; the verdicts of all proofs; what half the interval of
a proof of so many sessions would be. A clock's resolution is the smallest step between different samples.
"""

import json
import math
import pathlib
import statistics
import sys

T99 = {6: 3.365, 8: 2.998, 10: 2.821, 12: 2.718, 16: 2.602, 20: 2.539}  # one-sided 1 %, sessions - 1 degrees of freedom


def logs(session):
    return [math.log(b / c) for c, b in zip(session["candidate_ns"], session["baseline_ns"])]


def step(sessions):
    seen = sorted({x for s in sessions for x in s["candidate_ns"]})
    return min((b - a for a, b in zip(seen, seen[1:]) if b > a), default=0)


def main(files):
    proofs = [json.loads(line) for file in files for line in pathlib.Path(file).read_text(encoding="utf-8").splitlines() if line]
    proofs = [proof for proof in proofs if "proof" in proof]
    cells, verdicts = {}, {}
    for proof in proofs:
        for workload in proof["proof"]["workloads"]:
            cells.setdefault((proof["task"], json.dumps(workload["axes"])), []).extend(workload["sessions"])
        for comparison in proof["comparisons"]:
            kind = "whole" if not comparison["axes"] else "workload"
            verdicts.setdefault(kind, {}).setdefault(comparison["outcome"], []).append(comparison)
    print("| task | workload | sessions | median us | session medians % | ratios % | within sessions % | clock MHz | step ns |")
    print("|---|---|---|---|---|---|---|---|---|")
    ratios = []
    for (task, axes), sessions in sorted(cells.items()):
        medians = [statistics.median(s["candidate_ns"]) for s in sessions]
        each = [s["log_ratio"] for s in sessions]
        halves = [statistics.median(logs(s)[0::2]) - statistics.median(logs(s)[1::2]) for s in sessions]
        within = statistics.pstdev(halves) / 2
        spread = statistics.stdev(each)
        ratios.append(spread)
        clocks = [x for s in sessions for x in s["candidate_clock_mhz"] + s["baseline_clock_mhz"]]
        clock = f"{min(clocks):.0f}-{max(clocks):.0f}" if clocks else "-"
        print(f"| {task} | {axes} | {len(sessions)} | {statistics.median(medians) / 1e3:.2f} | {100 * statistics.stdev(medians) / statistics.mean(medians):.2f} "
              f"| {100 * spread:.2f} | {100 * within:.2f} | {clock} | {step(sessions):.1f} |")
    print()
    for kind, outcomes in verdicts.items():
        print(f"{kind}: " + ", ".join(f"{len(all_)} {outcome}" for outcome, all_ in sorted(outcomes.items())))
        widest = max((c["high"] / c["low"] - 1 for all_ in outcomes.values() for c in all_ if c["low"] > 0), default=0)
        print(f"  widest interval {100 * widest:.2f} % at level {proofs[0]['proof']['level']}")
    worst = max(ratios, default=0)
    print(f"spread of ratios: median {100 * statistics.median(ratios):.2f} %, worst {100 * worst:.2f} %")
    for count, quantile in T99.items():
        print(f"{count} sessions: half an interval at 1 % is {100 * quantile * worst / math.sqrt(count):.2f} % at the worst")
    print("seconds a proof: " + ", ".join(f"{p['wall_s']:.0f}" for p in proofs))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])

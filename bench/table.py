#!/usr/bin/env python3
"""Markdown of what bench_vgpu wrote: bench/table.py docs/evidence/DATE-vgpu-bench.json"""

import json
import sys

KERNELS = ("rmsnorm", "silu_mul", "topk", "matmul_mma", "matmul_wgmma")


def main(path):
    with open(path) as file:
        rows = {row["name"].split("/")[1]: row for row in json.load(file)["benchmarks"]}
    print("| kernel | ms, all checks | no checks | G thread-instructions/s | times host C++ | two cores |\n|---|---|---|---|---|---|")
    for kernel in KERNELS:
        checked, bare, two = (rows[f"{kernel}_{mode}"] for mode in ("checks", "neither", "checks_two_cores"))
        print(f"| `{kernel}` | {checked['ms']:.1f} | {bare['ms']:.1f} | {checked['G thread instr/s']:.2f} | "
              f"{checked['times host C++']:.1f} | {two['times one core']:.2f} × |")


if __name__ == "__main__":
    main(sys.argv[1])

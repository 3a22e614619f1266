#!/usr/bin/env python3
"""Calibrates the estimate: what the virtual GPU counts of many kernels against the times that a real GPU took.

usage: calibrate.py pack FOLDER              a folder that measures on another machine, from build/release/calibration
       calibrate.py count OUT.jsonl          counts the corpus here
       calibrate.py keep COUNTS TIMES FOLDER joins both into FOLDER/variants.jsonl.gz

On the machine with the GPU, in the unpacked folder (no compiler is needed; NVRTC and Triton are the machine's own):
       LD_LIBRARY_PATH=lib RECUDA_HOME=. ./calibration measure >times.jsonl
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "release" / "calibration"
# Of the system or the compiler: every machine has its own.
OWN = re.compile(r"^(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s))\.so")


def pack(folder):
    """The program, the libraries that it needs, and what it reads."""
    folder.mkdir(parents=True)
    (folder / "lib").mkdir()
    shutil.copy(PROGRAM, folder / "calibration")
    subprocess.run(["strip", folder / "calibration"], check=True)
    linked = subprocess.run(["ldd", PROGRAM], check=True, capture_output=True, text=True).stdout
    for name, path in re.findall(r"(\S+) => (\S+)", linked):
        if not OWN.match(name):
            shutil.copy(path, folder / "lib" / name)
    for part in ("ops", "tasks", "python", "bench/calibration"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.cpp", "*.h"))


def count(out):
    with open(out, "w", encoding="utf-8") as file:
        subprocess.run([PROGRAM, "count"], check=True, stdout=file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("pack").add_argument("folder", type=pathlib.Path)
    verbs.add_parser("count").add_argument("out", type=pathlib.Path)
    words = parser.parse_args()
    if words.verb == "pack":
        pack(words.folder)
    elif words.verb == "count":
        count(words.out)


if __name__ == "__main__":
    sys.exit(main())

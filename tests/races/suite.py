#!/usr/bin/env python3
"""Kernels with and without races, and what the virtual GPU says of them.

Each .cu here opens with a sentence and indented lines: `launch:`, `buffer:` (both as `cuda-rlm exec` takes them), and one
line a case: `clean`, `global_race` or `shared_race`, and behind a colon the macros with which the case is compiled. Lines
that end in `// race` are those that a report may name, `// race: A B` in the cases that define A or B alone. A case is
right when, whatever the seed, it completes, or all reports are of its check and name two such lines. A race with a
question mark needs a schedule in which a flag or counter has certain values: that it is missed is no mistake.

    suite.py [--seeds 0,1,2] [WORD]     prints a table; exit 1 where a case is not right
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = pathlib.Path(os.environ.get("CUDA_RLM", HERE.parents[1] / "build" / "release" / "cuda-rlm")).resolve()


class Case:
    def __init__(self, file, launch, buffers, verdict, macros):
        self.file, self.launch, self.buffers, self.macros = file, launch, buffers, macros
        self.depends, self.verdict = verdict.endswith("?"), verdict.rstrip("?")
        self.name = " ".join([file.stem, *macros])
        self.lines = {number for number, line in enumerate(file.read_text().splitlines(), 1)
                      if (mark := re.search(r"// race(?:: (.*))?$", line))
                      and (mark[1] is None or set(mark[1].split()) & set(macros))}

    def wrong(self, seed):
        """Nothing, or what is wrong under this seed."""
        words = ["exec", str(self.file), "--json", "--device", "vgpu", "--seed", str(seed), "--launch", self.launch]
        for buffer in self.buffers:
            words += ["--buffer", buffer]
        for macro in self.macros:
            words += ["--define", f"{macro}=1"]
        done = subprocess.run([str(PROGRAM), *words], capture_output=True, text=True, timeout=120, check=False)
        if not done.stdout.startswith("{"):
            return "broken", done.stderr.strip()[-300:]
        result = json.loads(done.stdout)
        reports = [(r["check"], r["line"], (r["other"] or {}).get("line"), r["message"]) for r in result["reports"]]
        if self.verdict == "clean":
            return None if result["outcome"] == "completed" else ("false alarm", reports or result["log"])
        if result["outcome"] == "completed":
            return ("depends", "") if self.depends else ("missed", "")
        if result["outcome"] != "faulted":
            return "broken", result["log"]
        good = all(check == self.verdict and {line, other} <= self.lines for check, line, other, _ in reports)
        return None if good else ("elsewhere", reports)


def cases_of(file):
    launch, buffers, cases = "", [], []
    for line in file.read_text().splitlines():
        words = re.match(r"//   (\w+\??)(?:: (.*))?$", line)
        if words is None:
            continue
        if words[1] == "launch":
            launch = words[2]
        elif words[1] == "buffer":
            buffers.append(words[2])
        else:
            cases.append((words[1], (words[2] or "").split()))
    return [Case(file, launch, buffers, *case) for case in cases]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("word", nargs="?", default="")
    options = parser.parse_args()
    cases = [case for file in sorted(HERE.glob("*.cu")) for case in cases_of(file) if options.word in case.name]
    seeds = [int(seed) for seed in options.seeds.split(",")]
    runs = [(case, seed) for case in cases for seed in seeds]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda run: run[0].wrong(run[1]), runs))
    bad = {}
    for (case, seed), wrong in zip(runs, found):
        if wrong is not None:
            bad.setdefault((case.name, wrong[0]), []).append((seed, wrong[1]))
    depends = {name for name, what in bad if what == "depends"}
    bad = {key: times for key, times in bad.items() if key[1] != "depends"}
    for (name, what), times in bad.items():
        print(f"{what}: {name} (seeds {', '.join(str(seed) for seed, _ in times)}): {times[0][1]}")
    racy = [case for case in cases if case.verdict != "clean"]
    wrong = {name: what for name, what in bad}
    count = lambda what: sum(1 for kind in wrong.values() if kind == what)
    print(f"{len({case.file for case in cases})} kernels, {len(cases)} cases, {len(seeds)} seeds")
    detected = sum(case.name not in wrong and case.name not in depends for case in racy)
    print(f"  racy  {len(racy):4}: {detected} detected, {count('missed')} missed, {len(depends)} that depend on the schedule, "
          f"{count('elsewhere')} reported elsewhere")
    print(f"  clean {len(cases) - len(racy):4}: {count('false alarm')} false alarms")
    print(f"  broken {count('broken'):3}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

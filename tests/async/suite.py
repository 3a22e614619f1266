"""Runs the cases of the .cu files beside it on a device, and compares what two devices gave.

    python3 suite.py --program cuda-rlm --device vgpu [--keep FILE] [-k WORD] [--schedules N]
    python3 suite.py --compare FILE FILE
    python3 suite.py --record FILE RECORD.json.gz

What --keep writes of a device --record cuts down to digests, which test_copies.py holds the virtual GPU to. A case is a block of `//@` lines in a file: `case NAME`, then `launch`, `buffer` and `define` as `exec` takes them,
`target` for another architecture, `hide` for buffers that are not compared, and what must come of it: `holds` an
expression of the buffers, or `fault CHECK MARKER…`, a report at the line that ends in
`// <- MARKER`, with the line of the second marker as the other access, or `outcome NAME`, perhaps with words that the
log must have. Buffers are flat lists. Faulty cases run on the virtual GPU alone, but for `fault_anywhere`: a GPU, which
has no reports, must fault too.
"""

import argparse
import gzip
import hashlib
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SHOWN = 64  # elements of a buffer in a record


class Case:
    def __init__(self, file, name):
        self.file, self.name = file, name
        self.launch, self.target, self.outcome, self.words = "", "sm_90a", "completed", ""
        self.buffers, self.defines, self.hidden, self.holds = [], [], [], []
        self.check, self.markers, self.everywhere = "", [], False

    def add(self, word, rest):
        if word == "launch":
            self.launch = rest
        elif word == "buffer":
            self.buffers.append(rest)
        elif word == "define":
            self.defines.append(rest)
        elif word == "target":
            self.target = rest
        elif word == "hide":
            self.hidden += rest.split()
        elif word == "holds":
            self.holds.append(rest)
        elif word in ("fault", "fault_anywhere"):
            self.outcome, self.everywhere = "faulted", word == "fault_anywhere"
            self.check, *self.markers = rest.split()
        elif word == "outcome":
            self.outcome, _, self.words = rest.partition(" ")
        else:
            raise SystemExit(f"{self.file}: `{word}` is no part of a case")

    def names(self):
        return [text.split(":")[0] for text in self.buffers]


def cases_of(file):
    found = []
    for line in file.read_text().splitlines():
        if not line.startswith("//@ "):
            continue
        word, _, rest = line[4:].partition(" ")
        if word == "case":
            found.append(Case(file, rest))
        else:
            found[-1].add(word, rest.strip())
    return found


def line_of(file, marker):
    lines = file.read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if line.rstrip().endswith("// <- " + marker)]


def run(case, program, device, seed):
    words = [program, "exec", str(case.file), "--json", "--device", device, "--launch", case.launch]
    if case.target:
        words += ["--target", case.target]
    if device == "vgpu":
        words += ["--seed", str(seed)]
    for option, values in (("--buffer", case.buffers), ("--define", case.defines)):
        for value in values:
            words += [option, value]
    for name in case.names():
        words += ["--print", name]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 3):
        return {"outcome": "error", "reports": [], "buffers": {}, "log": done.stderr}
    return json.loads(done.stdout)


def problems(case, seen, device):
    """What is not as it must be."""
    if seen["outcome"] != case.outcome:
        return [f"{seen['outcome']} instead of {case.outcome}: {seen['log']} {json.dumps(seen['reports'])[:600]}"]
    if case.words not in seen["log"]:
        return [f"the log has no `{case.words}`: {seen['log']}"]
    found = [text for text in case.holds if not eval(text, dict(seen["buffers"]))]
    wrong = [f"does not hold: {text}" for text in found]
    if case.check and device == "vgpu":
        report = seen["reports"][0]
        lines = [line_of(case.file, marker) for marker in case.markers]
        places = [report["line"]] + ([report["other"]["line"]] if report["other"] else [])
        fits = report["check"] == case.check and all(any(place in line for place in places) for line in lines)
        if not fits or len(seen["reports"]) != 1:
            wrong.append(f"wanted {case.check} at {lines}, got {json.dumps(seen['reports'])[:900]}")
    return wrong


def all_cases():
    """[(label, case)]."""
    return [(f"{file.stem}.{case.name}", case) for file in sorted(HERE.glob("*.cu")) for case in cases_of(file)]


def kept(case, seen):
    return {"outcome": seen["outcome"], "buffers": {name: list for name, list in seen["buffers"].items() if name not in case.hidden}}


def run_all(options):
    results, failed = {}, 0
    for label, case in all_cases():
        if options.k not in label or (options.device != "vgpu" and case.outcome != "completed" and not case.everywhere):
            continue
        for seed in range(options.schedules if options.device == "vgpu" else 1):
            seen = run(case, options.program, options.device, seed)
            wrong = problems(case, seen, options.device)
            failed += bool(wrong)
            print(f"{'FAIL' if wrong else 'ok  '} {label} {'; '.join(wrong)}", flush=True)
        results[label] = kept(case, seen)
    if options.keep:
        pathlib.Path(options.keep).write_text(json.dumps(results))
    print(f"{len(results)} cases, {failed} failures")
    return 1 if failed else 0


def compare(first, second):
    """Bit for bit, as far as the printed numbers tell: they round-trip."""
    ours, theirs = (json.loads(pathlib.Path(file).read_text()) for file in (first, second))
    different = 0
    for label in sorted(ours.keys() & theirs.keys()):
        outcomes = (ours[label]["outcome"], theirs[label]["outcome"])
        if outcomes[0] != outcomes[1] or outcomes[0] != "completed":
            different += outcomes[0] != outcomes[1]
            print(f"{'same' if outcomes[0] == outcomes[1] else 'DIFF'} {label}: {' and '.join(outcomes)}")
            continue
        for name, values in ours[label]["buffers"].items():
            others = theirs[label]["buffers"].get(name, [])
            places = [i for i, pair in enumerate(zip(values, others)) if pair[0] != pair[1]]
            same = not places and len(values) == len(others)
            different += not same
            shown = "" if same else [(i, values[i], others[i]) for i in places[:6]]
            print(f"{'same' if same else 'DIFF'} {label} {name} {shown}")
    return 1 if different else 0


def recorded(one):
    """A case of a record: buffers of completed runs as their length, digest and first elements."""
    buffers = {}
    for name, values in one["buffers"].items() if one["outcome"] == "completed" else ():
        digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]
        buffers[name] = {"elements": len(values), "digest": digest, "first": values[:SHOWN]}
    return {"outcome": one["outcome"], "buffers": buffers}


def write_record(source, target):
    results = json.loads(pathlib.Path(source).read_text())
    text = json.dumps({label: recorded(one) for label, one in results.items()}, indent=0)
    # No time in it: the same run makes the same file.
    pathlib.Path(target).write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return 0


def read_record(path):
    return json.loads(gzip.decompress(pathlib.Path(path).read_bytes()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="cuda-rlm")
    parser.add_argument("--device", default="vgpu", choices=("vgpu", "cuda"))
    parser.add_argument("--keep", help="a file for the buffers of all cases")
    parser.add_argument("--schedules", type=int, default=1)
    parser.add_argument("-k", default="")
    parser.add_argument("--compare", nargs=2, metavar="FILE")
    parser.add_argument("--record", nargs=2, metavar="FILE")
    options = parser.parse_args()
    if options.record:
        return write_record(*options.record)
    return compare(*options.compare) if options.compare else run_all(options)


if __name__ == "__main__":
    sys.exit(main())

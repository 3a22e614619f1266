"""What is kept of a run on a GPU: digests for test_record.py and the tables of docs/vgpu.md.

    python3 record.py FOLDER     the --out folder of run.py and corpus.py

Writes tests/goldens/differential-h200.json and prints the tables.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "goldens" / "differential-h200.json"


def digests(report):
    """{form: digest} of the forms whose results agreed."""
    return {name: row["cuda_digest"] for name, row in report["forms"].items()
            if row.get("note") != "approx" and row.get("mismatches") == 0 and "cuda_digest" in row}


def approximations(report):
    """A table of the approximate forms: largest errors in ulp, and how many of the sampled results differ."""
    lines = ["| instruction | samples | differ | H200, largest error | here | apart at most |", "|---|--:|--:|--:|--:|--:|"]
    for name, row in report["forms"].items():
        if row.get("note") != "approx" or name.endswith(" edges") or "cuda_error" not in row:
            continue
        gpu, virtual = row["cuda_error"], row["vgpu_error"]

        def shown(error):
            return f"{error['max_ulp']:.2f} ulp" if error["max_ulp"] < 1000 else f"{error['max_absolute']:.1e}"
        apart = row["apart"]
        distance = f"{apart['steps']:.0f} ulp" if apart["steps"] < 1000 else f"{apart['absolute']:.1e}"
        lines.append(f"| `{name}` | {row['elements']} | {row['mismatches']} | {shown(gpu)} | {shown(virtual)} | {distance} |")
    return lines


def disagreements(report):
    """Forms of other notes whose results differ, gathered by opcode."""
    gathered = {}
    for name, row in report["forms"].items():
        if row.get("note") == "approx" or not row.get("mismatches"):
            continue
        gathered.setdefault((row.get("note", "disagrees"), name.split(".")[0]), []).append(name)
    return [f"| `{opcode}` | {note} | {len(names)} | `{names[0]}` |" for (note, opcode), names in sorted(gathered.items())]


def main():
    folder = pathlib.Path(sys.argv[1])
    report = json.loads((folder / "differential.json").read_text())
    kept = {"environment": report["environment"], "forms": digests(report)}
    GOLDEN.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n")
    print(f"{len(kept['forms'])} of {len(report['forms'])} forms agree bit by bit\n")
    print("\n".join(approximations(report)) + "\n")
    print("\n".join(["| opcode | note | forms | such as |", "|---|---|--:|---|", *disagreements(report)]))
    corpus = folder / "corpus.json"
    if corpus.exists():
        rows = json.loads(corpus.read_text())
        same = sum(all(one.get("mismatches") == 0 for one in row.values()) for row in rows.values() if "failed" not in row and "skipped" not in row)
        print(f"\n{same} of {len(rows)} seeds agree bit by bit; the others:")
        for name, row in rows.items():
            if "failed" in row or "skipped" in row or any(one["mismatches"] for one in row.values()):
                print(f"  {name}: {row}")


if __name__ == "__main__":
    main()

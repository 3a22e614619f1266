"""What is kept of a run on a GPU: digests for test_record.py and the tables of docs/vgpu.md.

    python3 record.py FOLDER     the --out folder of run.py and corpus.py

Writes tests/goldens/differential-h200.json and prints the tables.
"""
import gzip
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
    """A table of the approximate forms: largest errors, and how far the two devices lie apart. What .ftz and pairs add is
    left out, as is the distance where it is that of tiny results: then it is absolute."""
    forms = report["forms"]
    lines = ["| instruction | samples | H200, largest error | here | apart at most |", "|---|--:|--:|--:|--:|"]
    for name, row in forms.items():
        twin = name.replace(".ftz", "")
        if row.get("note") != "approx" or name.endswith((" edges", "x2")) or (twin != name and twin in forms):
            continue
        edges = forms.get(f"{name} edges", {})
        if "cuda_error" not in row:
            row = edges
        apart = row.get("apart") or edges.get("apart")
        distance = "" if apart is None else f"{apart['steps']:.0f} ulp" if apart["steps"] < 300 else f"{apart['absolute']:.1e}"
        lines.append(f"| `{name}` | {row['elements']} | {shown(row['cuda_error'])} | {shown(row['vgpu_error'])} | {distance} |")
    return lines


def shown(error):
    return f"{error['max_ulp']:.2f} ulp" if error["max_ulp"] < 300 else f"{error['max_absolute']:.1e}"


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
    packed = folder / "differential.json.gz"
    report = json.loads(gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / "differential.json").read_bytes())
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

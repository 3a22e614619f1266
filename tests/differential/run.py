"""The differential suite: every form of the rules on a GPU and on the virtual GPU, bit by bit.

    python3 run.py --program cuda-rlm --out FOLDER                          on a machine with a GPU; needs numpy
    python3 run.py --program cuda-rlm --out FOLDER --devices vgpu --sm 100  does the virtual GPU know every form?

FOLDER/gpu.zip has the GPU's results of the forms that differ or that the virtual GPU lacks. FOLDER/differential.json has the environment and for every form how many results differ, the first of them, digests of
both devices' results, and for approximations their largest error. Exit 1 when results differ that should not.
"""
import argparse
import array
import hashlib
import json
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import time
import zipfile

import execute
import forms
import generate
import inputs

FIRST = 6  # differences shown of a form
KEPT = 12 << 20  # bytes of gpu.zip


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def environment(program):
    def said(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()
        except OSError:
            return ""
    return {"program": said(str(program), "--version"), "gpu": said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"),
            "machine": platform.machine(), "python": platform.python_version(), "seconds": 0}


def words_of(data, bits):
    result = array.array(inputs.TYPECODE[bits])
    result.frombytes(data)
    return result


def difference(form, operands, gpu, virtual):
    """How many elements differ, and the first of them as [operands…, GPU's result, virtual GPU's result]."""
    if gpu == virtual:
        return 0, []
    a, b = words_of(gpu, form.bits), words_of(virtual, form.bits)
    differing = [i for i in range(len(a)) if a[i] != b[i]]
    elements = len(operands[0])
    first = []
    for i in differing[:: max(1, len(differing) // FIRST)][:FIRST]:
        first.append([*(hex(operand[i % elements]) for operand in operands), hex(a[i]), hex(b[i]), *(["e"] if i >= elements else [])])
    return len(differing), first


def judge(form, operands, results, measures):
    """The JSON object of one form."""
    row = {"elements": len(operands[0]), "sm": form.sm}
    if form.note:
        row["note"] = form.note
    for device, data in results.items():
        if isinstance(data, str):
            row[f"{device}_failed"] = data
        else:
            row[f"{device}_digest"] = digest(data)
            if form.note == "approx" and measures:
                row[f"{device}_error"] = measures.measure(form, operands, data)
    both = [data for data in results.values() if not isinstance(data, str)]
    if len(both) == 2:
        row["mismatches"], row["first"] = difference(form, operands, results["cuda"], results["vgpu"])
        if form.note == "approx" and measures:
            row["apart"] = measures.apart(form, results["cuda"], results["vgpu"])
    return row


def wrong(row):
    return any(key.endswith("_failed") for key in row) or (row.get("mismatches", 0) > 0 and "note" not in row)


def keep(path, report, results):
    """Saves the GPU's results of what is wrong, up to 256 KiB a form and KEPT bytes in all: enough to look into it at leisure."""
    kept = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, row in report["forms"].items():
            data = results["cuda"][name]
            if isinstance(data, str) or not (row.get("mismatches") or "vgpu_failed" in row) or len(data) > 1 << 18 or kept > KEPT:
                continue
            archive.writestr(name, data)
            kept += archive.getinfo(name).compress_size


def show(name, row):
    failures = [row[key] for key in row if key.endswith("_failed")]
    if failures:
        print(f"{name:44} {re.sub(chr(10), ' ', failures[0])[:120]}")
    elif row.get("note") == "approx" and "vgpu_error" in row:
        texts = [f"{device} {row[device + '_error']['max_ulp']:.3f} ulp, {row[device + '_error']['special']} special"
                 for device in ("cuda", "vgpu") if device + "_error" in row]
        print(f"{name:44} {row.get('mismatches', 0):8} differ; {'; '.join(texts)}")
    elif row.get("mismatches"):
        print(f"{name:44} {row['mismatches']:8} of {row['elements']}{' (' + row['note'] + ')' if 'note' in row else ''}: "
              f"{'  '.join(','.join(one) for one in row['first'][:3])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--devices", default="cuda,vgpu")
    parser.add_argument("--sm", type=int, default=90, choices=(90, 100))
    parser.add_argument("--only", default="", help="forms whose names match this regular expression")
    parser.add_argument("--workers", type=int, default=0)
    words = parser.parse_args()
    start = time.monotonic()
    try:
        import approximations as measures
    except ImportError:
        measures = None
    chosen = generate.modules(words.sm, [form for form in forms.expand() if re.search(words.only, form.name)])
    report = {"environment": environment(words.program), "forms": {}}
    with tempfile.TemporaryDirectory(prefix="differential-") as folder:
        generate.write(folder, chosen)
        results = execute.run_all(words.program, words.devices.split(","), chosen, folder, words.workers)
    made = {}
    for module in chosen:
        if module.domains not in made:
            made = {module.domains: inputs.make(module.domains)}
        for one in module.slices:
            of_form = {device: by_form[one.form.name] for device, by_form in results.items()}
            report["forms"][one.form.name] = judge(one.form, made[module.domains], of_form, measures)
    report["environment"]["seconds"] = round(time.monotonic() - start, 1)
    for name, row in report["forms"].items():
        show(name, row)
    bad = sum(wrong(row) for row in report["forms"].values())
    print(f"{len(report['forms'])} forms, {bad} wrong, {report['environment']['seconds']} s")
    out = pathlib.Path(words.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"differential{'' if words.sm == 90 else '-sm100'}.json").write_text(json.dumps(report, indent=0) + "\n")
    if "cuda" in results:
        keep(out / "gpu.zip", report, results)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

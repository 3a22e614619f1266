"""Every seed of ops/ on a GPU and on the virtual GPU: outputs of CUDA C++ compared bit by bit, of Triton by their error.

    python3 corpus.py --program cuda-rlm --out FOLDER

A seed's first legal point runs on a few rows of its op's first task, as `check --dry-run` plans it, through `exec` with
equal inputs on both devices. Seeds that use approximate functions may differ in last places: the table says how many
elements do, and by how many steps of the output's format at most. A Triton seed, which `exec` does not take, goes through
`check` on both devices: its outcome and its largest error against the reference must be the same numbers.
FOLDER/corpus.json has the results.
"""
import argparse
import array
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

import npy

ROOT = pathlib.Path(__file__).resolve().parents[2]
C_TYPE = {"bf16": "__nv_bfloat16", "f16": "__half", "f32": "float", "f64": "double", "i32": "int", "u32": "unsigned", "i64": "long long",
          "u64": "unsigned long long", "i8": "signed char", "u8": "unsigned char", "e4m3": "__nv_fp8_e4m3", "e5m2": "__nv_fp8_e5m2"}
BYTES = {"bf16": 2, "f16": 2, "f32": 4, "f64": 8, "i32": 4, "u32": 4, "i64": 8, "u64": 8, "i8": 1, "u8": 1, "e4m3": 1, "e5m2": 1}
ROWS = 5


def call(program, folder, *words):
    done = subprocess.run([str(program), *map(str, words), "--json"], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=300)
    return json.loads(done.stdout) if done.stdout.strip() else {"outcome": "error", "log": done.stderr[-500:]}


def extent(expression, axes):
    values = {**axes, "ceil_div": lambda a, b: -(-a // b), "min": min, "max": max}
    return int(eval(str(expression).replace("/", "//"), {"__builtins__": {}}, values))  # noqa: S307: expressions of our own op.toml


def volume(shape, axes):
    result = 1
    for one in shape:
        result *= extent(one, axes)
    return result


def defines(task, plan):
    op = tomllib.loads((ROOT / "ops" / task["op"] / "op.toml").read_text())
    found = {**task["axes"], **plan["tunables"]}
    for name, option in op.get("options", {}).items():
        for value in option["values"]:
            found[f"{name}_{value}".upper()] = int(task["options"].get(name, option["default"]) == value)
    for tensor in [*task["inputs"], *task["outputs"]]:
        if not tensor.get("scalar"):
            found[f"{tensor['name']}_t"] = C_TYPE[tensor["dtype"]]
    return found


def buffers(task, plan, used):
    """{name: (type, elements, fill)} of the buffers that the launch names."""
    found = {}
    for tensor in [*task["outputs"], *task["inputs"]]:
        if tensor["name"] in used and not tensor.get("scalar"):
            given = tensor in task["inputs"] or tensor.get("inout")
            fill = "zeros" if not given else ("normal(0,1)" if tensor["dtype"] in ("bf16", "f16", "f32") else "iota")
            shape = [*tensor["shape"][:-1], tensor.get("row_stride", tensor["shape"][-1])]
            found[tensor["name"]] = (tensor["dtype"], volume(shape, plan["axes"]), fill)
    for scratch in plan["scratch"]:
        elements = volume(scratch["shape"], plan["axes"]) if "shape" in scratch else scratch["bytes"] // BYTES[scratch["dtype"]]
        found[scratch["name"]] = (scratch["dtype"], elements, "zeros")
    return found


def shape_of_launch(launch):
    def dims(three):
        return f"({','.join(map(str, three))})"
    text = f"{launch['kernel']}<<<{dims(launch['grid'])}, {dims(launch['block'])}, {launch['shared_bytes']}"
    if launch.get("cluster", [1, 1, 1]) != [1, 1, 1]:
        text += f", cluster={dims(launch['cluster'])}"
    return text + ">>>"


def literal(argument):
    if argument["kind"] == "buffer":
        return argument["name"]
    suffix = {"f32": "f", "i64": "ll"}.get(argument["dtype"], "")
    return f"{argument['value']!r}{suffix}"


def steps(a, b, kind):
    """The largest distance of two numbers in steps of their format."""
    bits = 8 * BYTES[kind]
    code = {8: "B", 16: "H", 32: "I", 64: "Q"}[bits]
    x, y = array.array(code), array.array(code)
    x.frombytes(a)
    y.frombytes(b)
    top = 1 << (bits - 1)

    def ordered(word):
        return -(word - top) if kind[0] in "bfe" and word >= top else word
    differing = [(abs(ordered(p) - ordered(q)), i) for i, (p, q) in enumerate(zip(x, y)) if p != q]
    return len(x), len(differing), max(differing, default=(0, 0))[0]


def check_triton(program, task, seed, folder, axes):
    seen = {}
    for device in ("cuda", "vgpu"):
        done = call(program, folder, "check", seed, "--task", task["name"], "--device", device, "--axes", axes)
        if done["outcome"] != "correct":
            return {"failed": f"{device}: {done['outcome']}: {str(done.get('log'))[:300]}"}
        seen[device] = [one["max_error"] for one in done["workloads"]]
    return {"max_error": {"elements": len(seen["cuda"]), "mismatches": sum(a != b for a, b in zip(seen["cuda"], seen["vgpu"])),
                          "largest_steps": 0, **seen}}


def run_seed(program, task, seed, folder):
    axes = {name: value for name, value in task["workloads"][0]["axes"].items() if name not in task["axes"]}
    words = [f"{name}={ROWS}" for name in axes]
    if seed.suffix == ".py":
        return check_triton(program, task, seed, folder, ",".join(words))
    plan = call(program, folder, "check", seed, "--task", task["name"], "--dry-run", "--device", "vgpu", "--axes", ",".join(words))
    if "launches" not in plan:
        return {"failed": str(plan.get("log", plan))[:300]}
    if len(plan["launches"]) != 1:
        return {"skipped": "more than one launch"}
    launch = plan["launches"][0]
    used = {argument["name"] for argument in launch["arguments"]}
    if any(argument["kind"] not in ("buffer", "value") for argument in launch["arguments"]):
        return {"skipped": "tensor maps"}
    of_launch = buffers(task, plan, used)
    outputs = [tensor["name"] for tensor in task["outputs"] if tensor["name"] in used]
    outputs += [tensor["name"] for tensor in task["inputs"] if tensor.get("inout") and tensor["name"] in used and tensor["name"] not in outputs]
    options = ["--launch", f"{shape_of_launch(launch)}({', '.join(literal(a) for a in launch['arguments'])})"]
    for name, (kind, elements, fill) in of_launch.items():
        options += ["--buffer", f"{name}:{kind}[{elements}]={fill}"]
    for name, value in defines(task, plan).items():
        options += ["--define", f"{name}={value}"]
    saved = {}
    for device in ("cuda", "vgpu"):
        files = {name: f"{task['op']}.{seed.stem}.{name}.{device}.npy" for name in outputs}
        done = call(program, folder, "exec", seed, "--device", device, *options, *(w for n, f in files.items() for w in ("--save", f"{n}={f}")))
        if done["outcome"] != "completed":
            return {"failed": f"{device}: {done['outcome']}: {str(done.get('log'))[:300]} {str(done.get('reports', '')[:1])[:300]}"}
        saved[device] = {name: npy.read(pathlib.Path(folder) / file) for name, file in files.items()}
    row = {}
    for name in outputs:
        elements, differing, largest = steps(saved["cuda"][name], saved["vgpu"][name], of_launch[name][0])
        row[name] = {"elements": elements, "mismatches": differing, "largest_steps": largest}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    words = parser.parse_args()
    program = pathlib.Path(words.program).resolve()
    tasks = {}
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        for brief in call(program, folder, "tasks"):
            if brief["op"] not in tasks:
                tasks[brief["op"]] = call(program, folder, "tasks", brief["name"])
        jobs = [(task, seed) for task in tasks.values() for seed in sorted((ROOT / "ops" / task["op"] / "seeds").iterdir())
                if seed.suffix in (".cu", ".py")]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            rows = list(pool.map(lambda job: run_seed(program, *job, folder), jobs))
    report = {f"{task['op']}/{seed.name}": row for (task, seed), row in zip(jobs, rows)}
    for name, row in report.items():
        text = row.get("failed") or row.get("skipped") or "  ".join(
            f"{tensor}: {one['mismatches']} of {one['elements']} differ, at most {one['largest_steps']} steps" for tensor, one in row.items())
        print(f"{name:40} {re.sub(chr(10), ' ', text)[:150]}")
    out = pathlib.Path(words.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "corpus.json").write_text(json.dumps(report, indent=1) + "\n")
    return 1 if any("failed" in row for row in report.values()) else 0


if __name__ == "__main__":
    sys.exit(main())

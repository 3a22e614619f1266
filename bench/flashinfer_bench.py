#!/usr/bin/env python3
"""The candidates of throughput.py through flashinfer-bench: how many a minute it takes from text to evaluation.

usage: flashinfer_bench.py convert FOLDER [--candidates 240] [--seed 1]    the data set as JSON, needs nothing
       flashinfer_bench.py run [--candidates 12] [--seed 1] [--wheels FOLDER] >flashinfer_bench.json

`run` needs a GPU, nvcc, ninja and PyTorch, and flashinfer-bench with pydantic, docstring-parser and apache-tvm-ffi;
`--wheels` installs them from a folder into a temporary one, without a network. Its own settings are left as they are
(3 trials of inputs, 10 warm-up and 50 timed runs each, one persistent worker a GPU) and its cache is empty. Each
candidate is evaluated on the workloads that `cuda-rlm run` measures. Prints one JSON document.
"""

import argparse
import collections
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from rmsnorm_variants import variants

WIDTH, EPSILON, TOKENS = 2688, 1e-5, (1, 8, 128)
NAME = f"rmsnorm_h{WIDTH}"

REFERENCE = f"""import torch

def run(x, w):
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + {EPSILON}) * w.float()).to(torch.bfloat16)
"""

LAUNCHER = """
#include <cuda_runtime.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

void run(tvm::ffi::TensorView x, tvm::ffi::TensorView w, tvm::ffi::TensorView y) {{
    const DLDevice device = x.device();
    const auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
    rmsnorm<<<static_cast<unsigned>(x.size(0)), {block}, 0, stream>>>(
        static_cast<const Chunk*>(x.data_ptr()), static_cast<const Chunk*>(w.data_ptr()), static_cast<Chunk*>(y.data_ptr()), {epsilon}f);
}}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);
"""


def definition():
    tensor = {"shape": ["T", "H"], "dtype": "bfloat16"}
    return {"name": NAME, "op_type": "rmsnorm", "tags": [],
            "axes": {"T": {"type": "var"}, "H": {"type": "const", "value": WIDTH}},
            "inputs": {"x": tensor, "w": {"shape": ["H"], "dtype": "bfloat16"}}, "outputs": {"y": tensor}, "reference": REFERENCE}


def workloads():
    for tokens in TOKENS:
        yield {"definition": NAME, "workload": {"uuid": f"t{tokens}", "axes": {"T": tokens},
                                                "inputs": {"x": {"type": "random"}, "w": {"type": "random"}}}}


def solution(name, block, body):
    text = f"constexpr int H = {WIDTH};\n{body}{LAUNCHER.format(block=block, epsilon=EPSILON)}"
    return {"name": name, "definition": NAME, "author": "recuda",
            "spec": {"language": "cuda", "target_hardware": ["NVIDIA_H200"], "entry_point": "kernel.cu::run", "dependencies": [],
                     "destination_passing_style": True, "binding": "tvm-ffi"},
            "sources": [{"path": "kernel.cu", "content": text}]}


def convert(folder, number, seed):
    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    write(folder / "definitions/rmsnorm" / f"{NAME}.json", json.dumps(definition(), indent=1))
    write(folder / "workloads/rmsnorm" / f"{NAME}.jsonl", "".join(json.dumps(line) + "\n" for line in workloads()))
    for name, block, body, _ in variants(number, seed):
        write(folder / "solutions/recuda/rmsnorm" / NAME / f"{name}.json", json.dumps(solution(name, block, body), indent=1))


def install(wheels, folder):
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(folder),
                    *map(str, sorted(wheels.glob("*.whl")))], check=True, stdout=sys.stderr)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    os.environ["PATH"] = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])


def run(data):
    """Evaluates every solution on every workload; its own command does the same. Gives the seconds and the traces."""
    from flashinfer_bench.bench import Benchmark, BenchmarkConfig  # pylint: disable=import-outside-toplevel,import-error
    from flashinfer_bench.data import TraceSet  # pylint: disable=import-outside-toplevel,import-error

    start = time.monotonic()
    benchmark = Benchmark(TraceSet.from_path(str(data)), BenchmarkConfig())
    try:
        traces = benchmark.run_all(dump_traces=False).traces.get(NAME, [])
    finally:
        benchmark.close()
    return time.monotonic() - start, traces


def figures(seconds, traces, number):
    statuses = collections.Counter(trace.evaluation.status.value for trace in traces)
    failed = [trace.evaluation.log for trace in traces if trace.evaluation.status.value != "PASSED"]
    import torch  # pylint: disable=import-outside-toplevel,import-error

    return {"task": NAME, "workloads": [f"T={tokens}" for tokens in TOKENS], "candidates": number, "evaluations": len(traces),
            "statuses": statuses, "seconds": round(seconds, 2), "per_minute": round(60 * number / seconds, 2),
            "first_failure": failed[0][-2000:] if failed else None,
            "environment": {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "cores": os.cpu_count(),
                            **{name: importlib.metadata.version(name) for name in ("flashinfer-bench", "apache-tvm-ffi")}}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("convert", "run"))
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--candidates", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wheels", type=pathlib.Path)
    words = parser.parse_args()
    if words.what == "convert":
        if words.folder is None:
            parser.error("convert needs a folder")
        convert(words.folder, words.candidates or 240, words.seed)
        return
    with tempfile.TemporaryDirectory(prefix="flashinfer-bench-") as name:
        folder, number = pathlib.Path(name), words.candidates or 12
        if words.wheels:
            install(words.wheels, folder / "packages")
        os.environ["FIB_CACHE_PATH"] = str(folder / "cache")
        convert(folder / "data", number, words.seed)
        seconds, traces = run(folder / "data")
        print(json.dumps(figures(seconds, traces, number), indent=1))


if __name__ == "__main__":
    main()

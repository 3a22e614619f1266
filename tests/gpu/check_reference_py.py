#!/usr/bin/env python3
"""Compares ops/*/reference.py with tests/goldens, where PyTorch is: prints a line for each difference, then the counts.

`run` of a reference.py takes inputs, scalars, options and constant axes by their names, those that it asks for.
Usage: check_reference_py.py [--device cpu|cuda]
"""

import argparse
import importlib.util
import inspect
import json
import pathlib
import struct
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDENS = ROOT / "tests" / "goldens"
DTYPES = {"BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64, "I32": torch.int32}

# f32 arithmetic against float64, relative to the golden's largest value; bf16 outputs are allowed their one rounding.
F32_TOLERANCE, BF16_TOLERANCE = 2e-6, 2.0**-8


def read_safetensors(path):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        flat = torch.frombuffer(bytearray(raw[8 + size + begin : 8 + size + end]), dtype=DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def load_run(op):
    path = ROOT / "ops" / op / "reference.py"
    spec = importlib.util.spec_from_file_location(f"reference_{op}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.run


def choice_score(case, arguments):
    """The score that the op's choice is made by, in float64."""
    return torch.sigmoid(arguments["logits"].double()) + arguments["bias"].double()


def difference(case, output, got, golden, arguments):
    """What is wrong with an output, or None."""
    if got.shape != golden.shape:
        return f"shape {tuple(got.shape)}, golden {tuple(golden.shape)}"
    if output["compare"] == "choice":
        score = choice_score(case, arguments)
        gap = (score.gather(-1, got.long()) - score.gather(-1, golden.long())).abs().max().item()
        return f"scores of the choice differ by {gap:.3g}" if gap > output["tolerance"] else None
    if output["compare"] == "bitwise":
        if got.dtype != golden.dtype:
            return f"dtype {got.dtype}, golden {golden.dtype}"
        as_bits = {2: torch.int16, 4: torch.int32}[golden.element_size()]
        differing = (got.view(as_bits) != golden.view(as_bits)).sum().item()
        return f"{differing} of {golden.numel()} values differ" if differing else None
    tolerance = BF16_TOLERANCE if got.dtype == torch.bfloat16 else max(F32_TOLERANCE, output["tolerance"])
    error = (got.double() - golden).abs()
    relative = (error / golden.abs().clamp_min(1e-6 * golden.abs().max())).max().item()
    return f"relative error {relative:.3g}, allowed {tolerance:.3g}" if not relative <= tolerance else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    device = parser.parse_args().device
    tensors = {name: tensor.to(device) for name, tensor in read_safetensors(GOLDENS / "ops.safetensors").items()}
    passed = failed = 0
    for case in json.loads((GOLDENS / "index.json").read_text()):
        run = load_run(case["op"])
        known = {name: tensors[golden].clone() for name, golden in case["inputs"].items()}
        known |= case["scalars"] | case["options"] | case["axes"]
        outputs = run(**{name: known[name] for name in inspect.signature(run).parameters if name in known})
        for output in case["outputs"]:
            wrong = difference(case, output, outputs[output["tensor"]], tensors[output["golden"]], known)
            passed, failed = passed + (wrong is None), failed + (wrong is not None)
            if wrong is not None:
                print(f"{case['case']}: {output['tensor']} against {output['golden']}: {wrong}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())

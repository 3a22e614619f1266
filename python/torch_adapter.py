"""Times an op's reference.py in PyTorch, for cuda-rlm's baselines torch-eager and torch-compile.

A server on stdin and stdout, in messages of recuda_messages.py.
Requests and answers are JSON objects; an answer with "error" says why there is none. The calls:

    {"call": "open"}                        imports torch -> {"torch", "device"}
    {"call": "load", "workload", "file", "inputs": [...], "arguments": {...}}
                                            takes a workload's inputs and makes what runs them -> {"how", "sets", "cold"}
    {"call": "forget"}                      drops inputs and buffers: the next load has new ones, elsewhere in memory -> {}
    {"call": "time", "workload", "samples"} -> {"samples_ns", "clock_mhz", "method", "runs_per_sample", "cold", "outputs"}

The protocol is that of src/device/cuda/timing.h: inputs lie in many copies, more than three times the L2 together, and each
run takes the next; a sample is several runs between two events behind a kernel that holds the stream, or one CUDA graph of
them; samples in which the hold ended too early are taken again. What the timed runs computed goes back for judgement.

This process is cuda-rlm's own and runs nothing but PyTorch and the catalogue's reference.py.
"""

import argparse
import ctypes
import gc
import importlib.util
import inspect
import json
import math
import os
import random
import sys
import traceback

from recuda_messages import read_message, write_message

WARMUPS = 3
WANTED_SPAN_NS = 100_000  # of a sample: 200 times what events resolve
SHORTEST_SPAN_NS = 10_000
MOST_RUNS = 20
MOST_RUNS_IF_SHORT = 256
CLOCK_CYCLES = 200_000  # about 100 us: what events miss of it is a hundredth
FIRST_HOLD_CYCLES = 1_000_000
MOST_HOLD_CYCLES = 200_000_000
RING_LIMIT_BYTES = 4 << 30
ALIGNMENT = 256
PLACES = 32


# --- A workload ------------------------------------------------------------------------------------------------------


def dtype_of(torch, name):
    names = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn",
             "e5m2": "float8_e5m2", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8"}
    return getattr(torch, names[name])


def name_of(dtype):
    names = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "e4m3",
             "float8_e5m2": "e5m2", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8"}
    return names[str(dtype).split(".")[-1]]


class Ring:
    """Copies of a workload's inputs behind one another; set i is a tuple of tensors in the order of the inputs."""

    def __init__(self, torch, file, inputs, l2_bytes):
        with open(file, "rb") as opened:
            held = torch.frombuffer(bytearray(opened.read()), dtype=torch.uint8)
        self.inputs = inputs
        touched = sum(one["bytes"] for one in inputs)
        strides = [max(1, math.ceil(one["bytes"] / ALIGNMENT)) * ALIGNMENT for one in inputs]
        self.sets = int(max(2, min(3 * l2_bytes // max(1, touched) + 1, RING_LIMIT_BYTES // sum(strides))))
        self.cold = self.sets * touched > 3 * l2_bytes
        self.buffers = []
        for one, stride in zip(inputs, strides):
            # At a random multiple of the alignment, for where data lies may cost time.
            flat = torch.zeros(self.sets * stride + PLACES * ALIGNMENT, dtype=torch.uint8, device="cuda")
            start = ALIGNMENT * random.randrange(PLACES)
            whole = flat[start : start + self.sets * stride].view([self.sets, stride])
            whole[:, : one["bytes"]] = held[one["offset"] : one["offset"] + one["bytes"]].to("cuda")
            self.buffers.append(whole)
        self.torch = torch
        self.made = {}

    def at(self, index):
        index %= self.sets
        if index not in self.made:
            self.made[index] = tuple(self.view(number, index) for number in range(len(self.inputs)))
        return self.made[index]

    def view(self, number, index):
        one = self.inputs[number]
        flat = self.buffers[number][index, : one["bytes"]].view(dtype_of(self.torch, one["dtype"]))
        shape, stride = one["shape"], one["row_stride"]
        if stride == shape[-1]:
            return flat[: math.prod(shape)].view(shape)
        steps = [math.prod(shape[at + 1 : -1]) * stride for at in range(len(shape) - 1)]
        return flat.as_strided(shape, [*steps, 1])


class Workload:
    def __init__(self, torch, options, request, run, compiled):
        self.torch, self.graph = torch, options.graph
        self.ring = Ring(torch, request["file"], request["inputs"], options.l2_bytes)
        self.next = 0
        self.runs = 1
        self.hold_cycles = FIRST_HOLD_CYCLES
        self.held = True
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
        self.how = "eager"
        takes = inspect.signature(run).parameters
        constants = {name: value for name, value in request["arguments"].items() if name in takes}
        names = [one["name"] for one in request["inputs"]]

        def call(*tensors):
            return run(**dict(zip(names, tensors)), **constants)

        self.call = call
        if options.mode == "compile":
            if request["workload"] not in compiled:
                compiled[request["workload"]] = self.compile(call)
            self.call, self.how = compiled[request["workload"]]
        # Libraries make their handles and workspaces at a stream's first use, which must not be within a graph.
        self.side = torch.cuda.Stream()
        with torch.cuda.stream(self.side):
            self.call(*self.ring.at(0))
        torch.cuda.synchronize()
        self.settled = False

    def compile(self, call):
        torch = self.torch
        how = "torch.compile, default mode, the whole function"
        made = torch.compile(call, dynamic=False, fullgraph=True)
        try:
            made(*self.ring.at(0))
        except torch._dynamo.exc.Unsupported as error:
            how = f"torch.compile, default mode, with graph breaks ({str(error).splitlines()[0][:120]})"
            made = torch.compile(call, dynamic=False)
            made(*self.ring.at(0))
        torch.cuda.synchronize()
        return made, how

    def enqueue(self):
        return [self.call(*self.ring.at(self.next + run)) for run in range(self.runs)]

    def captured(self):
        """A graph of the runs of a sample and what they compute."""
        torch = self.torch
        graph = torch.cuda.CUDAGraph()
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            graph.capture_begin()
            try:
                outputs = self.enqueue()
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(self.side)
        return graph, outputs

    def sample(self):
        """Nanoseconds of one run, the SM clock in MHz, and what each run computed."""
        torch, (start, stop, before, after) = self.torch, self.events
        while True:
            graph, outputs = self.captured() if self.graph else (None, None)
            torch.cuda.synchronize()
            torch.cuda._sleep(self.hold_cycles)
            start.record()
            if graph is not None:
                graph.replay()
            else:
                outputs = self.enqueue()
            stop.record()
            held = not start.query()
            before.record()
            torch.cuda._sleep(CLOCK_CYCLES)
            after.record()
            torch.cuda.synchronize()
            span = start.elapsed_time(stop) * 1e6
            if held or self.hold_cycles >= MOST_HOLD_CYCLES:
                break
            # The host was slower than the hold, or the queue was full behind it: a longer hold, then fewer runs.
            self.hold_cycles *= 2
            if self.hold_cycles >= MOST_HOLD_CYCLES and self.runs > 1:
                self.runs, self.hold_cycles = max(1, self.runs // 2), FIRST_HOLD_CYCLES
        self.held = held
        self.next = (self.next + self.runs) % self.ring.sets
        self.graph_of_outputs = graph  # its memory holds them
        clock_ns = before.elapsed_time(after) * 1e6
        return span / self.runs, CLOCK_CYCLES / clock_ns * 1e3 if clock_ns > 0 else 0.0, outputs

    def settle(self):
        for _ in range(WARMUPS):
            ns, _, _ = self.sample()
        if not self.settled:
            self.settled = True
            self.runs = max(1, min(MOST_RUNS, math.ceil(WANTED_SPAN_NS / max(ns, 500.0))))
            ns, _, _ = self.sample()
            if ns * self.runs < SHORTEST_SPAN_NS:
                self.runs = min(MOST_RUNS_IF_SHORT, math.ceil(WANTED_SPAN_NS / max(ns, 100.0)))
            self.sample()

    def time(self, samples, folder):
        self.settle()
        spans, clocks, kept = [], [], []
        wanted = {0: 0, samples // 2: self.runs // 2, samples - 1: self.runs - 1}
        for number in range(samples):
            ns, clock, outputs = self.sample()
            spans.append(ns)
            clocks.append(clock)
            if number in wanted:
                kept.append(written(outputs[min(wanted[number], len(outputs) - 1)], os.path.join(folder, f"outputs{len(kept)}")))
        what = f"a graph of {self.runs} runs" if self.graph else f"{self.runs} runs"
        method = (f"PyTorch's events around {what}, {'queued behind a holding kernel' if self.held else 'not held'}; "
                  f"SM clock from a kernel of {CLOCK_CYCLES} cycles after each sample; {self.how}; "
                  + (f"cold: {self.ring.sets} sets of inputs" if self.ring.cold else "data may lie in L2"))
        return {"samples_ns": spans, "clock_mhz": clocks, "method": method, "runs_per_sample": self.runs,
                "cold": self.ring.cold, "outputs": kept}


def written(outputs, path):
    """Writes what one run computed, its tensors behind one another, and says where each lies."""
    places, offset = [], 0
    with open(path, "wb") as file:
        for name, tensor in outputs.items():
            host = tensor.detach().contiguous().cpu()
            file.write(raw_bytes(host))
            places.append({"name": name, "dtype": name_of(host.dtype), "shape": list(host.shape), "offset": offset,
                           "bytes": host.numel() * host.element_size()})
            offset = file.tell()
    return {"file": path, "tensors": places}


def raw_bytes(host):
    """The bytes of a dense tensor, without NumPy, which PyTorch does not need."""
    return ctypes.string_at(host.data_ptr(), host.numel() * host.element_size())


# --- Calls -----------------------------------------------------------------------------------------------------------


class Server:
    def __init__(self, options):
        self.options, self.workloads, self.compiled = options, {}, {}

    def open(self, request):
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(self.options.cache, "inductor"))
        os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(self.options.cache, "triton"))
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
        import torch

        if not torch.cuda.is_available():
            return {"error": f"PyTorch {torch.__version__} sees no GPU"}
        torch.cuda.set_device(self.options.device)
        torch.set_grad_enabled(False)
        self.torch = torch
        if self.options.mode == "compile":
            limits = torch._dynamo.config
            setattr(limits, "recompile_limit" if hasattr(limits, "recompile_limit") else "cache_size_limit", 64)
        spec = importlib.util.spec_from_file_location("reference", self.options.reference)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # where torch.compile looks for the globals of what it traces
        spec.loader.exec_module(module)
        self.run = module.run
        return {"torch": torch.__version__, "device": torch.cuda.get_device_name()}

    def load(self, request):
        made = Workload(self.torch, self.options, request, self.run, self.compiled)
        self.workloads[request["workload"]] = made
        gc.collect()
        gc.freeze()  # PyTorch's own objects stay; looking through them before every timing would take longer than it
        return {"how": made.how, "sets": made.ring.sets, "cold": made.ring.cold}

    def forget(self, request):
        """What was compiled stays, and the process with it: both take seconds to make."""
        self.workloads.clear()
        gc.unfreeze()
        gc.collect()
        self.torch.cuda.empty_cache()
        return {}

    def time(self, request):
        gc.collect()
        gc.disable()
        try:
            return self.workloads[request["workload"]].time(request["samples"], self.options.folder)
        finally:
            gc.enable()

    def answer(self, request):
        try:
            return {"open": self.open, "load": self.load, "forget": self.forget, "time": self.time}[request["call"]](request)
        except Exception as error:
            traceback.print_exc()
            text = str(error).strip().splitlines()
            return {"error": f"{type(error).__name__}: {text[0][:400] if text else ''}"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reference", required=True)
    parser.add_argument("--folder", required=True, help="for outputs and errors")
    parser.add_argument("--cache", required=True, help="for what PyTorch compiles")
    parser.add_argument("--mode", choices=["eager", "compile"], required=True)
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--l2-bytes", type=int, required=True)
    options = parser.parse_args()
    # Nothing but messages may reach the real stdout, whoever prints; what libraries say is kept in a file.
    stdin, stdout = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    errors = os.open(os.path.join(options.folder, "errors"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(errors, 1)
    os.dup2(errors, 2)
    server = Server(options)
    while (message := read_message(stdin)) is not None:
        write_message(stdout, json.dumps(server.answer(json.loads(message))).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())

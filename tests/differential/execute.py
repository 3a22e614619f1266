"""Runs the suite's modules through `cuda-rlm exec` and cuts their outputs into the forms' results."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess

import npy


def _once(program, device, module, text, folder, tag):
    """One execution: the output's bytes, or what it said."""
    source, saved = folder / f"{module.name}.{tag}.ptx", folder / f"{module.name}.{tag}.out.npy"
    source.write_text(text)
    saved.unlink(missing_ok=True)
    command = [str(program), "exec", source.name, "--device", device, "--json", "--launch", module.launch(), *module.buffers("."),
               "--save", f"out={saved.name}", "--deadline", "300"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
    try:
        result = json.loads(done.stdout)
    except ValueError:
        return None, (done.stderr or done.stdout)[-2000:]
    if result["outcome"] != "completed" or not saved.exists():
        return None, f"{result['outcome']}: {result['log']} {result['reports'][:1] or ''}"
    data = npy.read(saved)
    saved.unlink()
    return data, ""


def _culprit(text, said):
    """The form whose statement a message's line number lies in, and the lines that it occupies; None where none does."""
    lines = text.split("\n")
    for number in re.findall(r"ptx line (\d+)|, line (\d+);", said):
        at = int(number[0] or number[1]) - 1
        first = next((k for k in range(min(at, len(lines) - 1), -1, -1) if lines[k].startswith("// ")), None)
        if first is None:
            continue
        last = next((k for k in range(first + 1, len(lines)) if lines[k].startswith("// ") or lines[k] == "ret;"), len(lines))
        if at < last:
            return lines[first][3:], first, last
    return None


def run_module(program, device, module, folder):
    """Results by form name: bytes (d's, then e's), or the text of a failure. A form that a device refuses is taken out of
    the module, and the rest runs again."""
    text, failed = module.ptx(), {}
    while True:
        data, said = _once(program, device, module, text, folder, device)
        if data is not None:
            break
        found = _culprit(text, said)
        if found is None:
            return {s.form.name: said[:400] for s in module.slices} | failed
        name, first, last = found
        failed[name] = said[:400]
        lines = text.split("\n")
        text = "\n".join(lines[:first] + lines[last:])
    results = {}
    for one in module.slices:
        results[one.form.name] = data[one.first:one.first + one.bytes]
        if one.form.two:
            results[one.form.name] += data[one.second:one.second + one.bytes]
    return results | failed


def run_all(program, devices, modules, folder, workers=0):
    """{device: {form: bytes or text}}. Executions run side by side: most of an execution's time is starting up."""
    program, folder = pathlib.Path(program).resolve(), pathlib.Path(folder)
    results = {device: {} for device in devices}
    with concurrent.futures.ThreadPoolExecutor(workers or min(8, os.cpu_count() or 1)) as pool:
        waiting = {pool.submit(run_module, program, device, module, folder): device for module in modules for device in devices}
        for done in concurrent.futures.as_completed(waiting):
            results[waiting[done]].update(done.result())
    return results

"""Compiles Triton kernels ahead of time, for cuda-rlm: no GPU, no PyTorch.

A server on stdin and stdout, in messages of recuda_messages.py.
It says "+" when Triton is imported and warm. A request is a JSON object:

    {"source": text, "file": "kernel.py", "target": "sm_90", "cubin": true, "deadline_s": 60, "kernels": [
        {"function": "rmsnorm", "options": {"num_warps": 4, "num_stages": 3, "num_ctas": 1}, "arguments": [
            {"name": "x", "type": "*bf16", "constant": "", "divisible_by_16": true},
            {"name": "B", "type": "constexpr", "constant": "1024", "divisible_by_16": false}]}]}

The answer is "+" (or "-": replace me), then JSON, a zero byte and the kernels' cubins one after another:

    {"ok": true, "kernels": [{"ptx", "cubin_bytes", "shared", "global_scratch_size", "profile_scratch_size", "ptxas_log"}]}
    {"ok": false, "log": "kernel.py:12: NameError: …", "died": false}

Compiling a Triton file runs its Python. Each request is therefore a child of its own, forked from this warm process, which
itself runs in the jail that cuda-rlm made (no files, no network, no signals to others). What a child leaves running ends
with this process: the answer then begins with "-".
"""

import ast
import contextlib
import ctypes
import io
import json
import linecache
import os
import resource
import shutil
import signal
import sys
import traceback

from recuda_messages import read_message, write_message

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

WARM_UP = """
import triton
import triton.language as tl

@triton.jit
def warm(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) + tl.sum(i.to(tl.float32), axis=0), mask=i < n)
"""


class Refused(Exception):
    """The request cannot be met; the message says why in the user's terms."""


# --- Compiling -------------------------------------------------------------------------------------------------------


def load_module(source, file):
    """Runs the user's text as a module. It has no file: linecache holds the text, so that Triton finds the source of its
    functions, and line tables and messages name it by its base name."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {"__name__": "kernel", "__file__": file}
    exec(compile(source, file, "exec"), names)
    return names


def specialised(function, arguments, file):
    """Signature, constants and attributes of a kernel as Triton's ASTSource takes them."""
    given = {}
    for index, argument in enumerate(arguments):  # one without a name is positional
        if not argument["name"] and index >= len(function.arg_names):
            raise Refused(f"{file}: {function.__name__} takes {len(function.arg_names)} arguments, the launch gives {len(arguments)}")
        given[argument["name"] or function.arg_names[index]] = argument
    for name in given:
        if name not in function.arg_names:
            raise Refused(f"{file}: {function.__name__} has no argument '{name}': it takes {', '.join(function.arg_names)}")
    signature, constants, attributes = {}, {}, {}
    for index, parameter in enumerate(function.params):
        argument = given.get(parameter.name)
        if argument is None:
            if not parameter.has_default:
                raise Refused(f"{file}: the launch gives {function.__name__} no argument '{parameter.name}'")
            signature[parameter.name], constants[(index,)] = "constexpr", parameter.default
        elif argument["type"] == "constexpr":
            signature[parameter.name] = "constexpr"
            try:
                constants[(index,)] = ast.literal_eval(argument["constant"])
            except (ValueError, SyntaxError):
                raise Refused(f"{file}: '{argument['constant']}' for '{parameter.name}' is not a Python literal") from None
        elif parameter.is_constexpr:
            raise Refused(f"{file}: '{parameter.name}' of {function.__name__} is a tl.constexpr: the launch must give a constant")
        else:
            signature[parameter.name] = argument["type"]
            if argument["divisible_by_16"]:
                attributes[(index,)] = [["tt.divisibility", 16]]
    return signature, constants, attributes


def stages_of(want_cubin, log):
    """A hook that Triton calls with its stages: keeps ptxas's words, or leaves ptxas out."""

    def hook(backend, stages, options, language, capability):
        assemble = stages["cubin"]

        def cubin(ptx, metadata):
            with contextlib.redirect_stdout(log):
                return assemble(ptx, metadata)

        stages["cubin"] = cubin if want_cubin else lambda ptx, metadata: b""

    return hook


@contextlib.contextmanager
def stage_hook(want_cubin, log):
    """Triton 3.6 has a hook for its stages; before that, the backend's method is wrapped."""
    from triton import knobs
    from triton.backends.nvidia.compiler import CUDABackend

    knobs.nvidia.dump_ptxas_log = True
    hook, original = stages_of(want_cubin, log), CUDABackend.add_stages

    def add_stages(backend, stages, options, *rest):
        original(backend, stages, options, *rest)
        hook(backend, stages, options, None, None)

    CUDABackend.add_stages = add_stages
    try:
        yield
    finally:
        CUDABackend.add_stages = original


def compile_kernel(names, request, kernel):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.runtime.jit import JITFunction

    function = names.get(kernel["function"])
    while function is not None and not isinstance(function, JITFunction) and hasattr(function, "fn"):
        function = function.fn  # below @triton.autotune and @triton.heuristics, whose place the launch has
    if not isinstance(function, JITFunction):
        raise Refused(f"{request['file']}: there is no @triton.jit function '{kernel['function']}'")
    signature, constants, attributes = specialised(function, kernel["arguments"], request["file"])
    capability = int("".join(c for c in request["target"] if c.isdigit()))
    log = io.StringIO()
    with stage_hook(request["cubin"], log):
        made = triton.compile(
            ASTSource(function, signature, constants, attributes),
            target=GPUTarget("cuda", capability, 32),
            options=kernel["options"],
        )
    cubin = made.asm["cubin"] or b""
    answer = {
        "ptx": made.asm["ptx"],
        "cubin_bytes": len(cubin),
        "shared": made.metadata.shared,
        "global_scratch_size": getattr(made.metadata, "global_scratch_size", 0) or 0,
        "profile_scratch_size": getattr(made.metadata, "profile_scratch_size", 0) or 0,
        "ptxas_log": log.getvalue(),
    }
    return answer, cubin


def place_of(error, request):
    """"kernel.py:12" where the user's text went wrong: the line of Triton's own error, else the innermost frame in it."""
    file, source = request["file"], request["source"]
    line = None
    if isinstance(error, SyntaxError) and error.filename == file:
        line = error.lineno
    elif getattr(error, "node", None) is not None and getattr(error, "src", None):
        at = source.find(error.src.rstrip())
        if at >= 0 and hasattr(error.node, "lineno"):
            line = source.count("\n", 0, at) + error.node.lineno
    if line is None:
        frames = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        line = frames[-1] if frames else None
    return file if line is None else f"{file}:{line}"


def innermost(error):
    """Triton wraps the error of a called function in one error a call; the first cause is what its writer needs."""
    while type(error).__name__ == "CompilationError" and type(error.__cause__).__name__ == "CompilationError":
        error = error.__cause__
    return error


def describe(error, request):
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, SystemExit):
        return f"{request['file']}: the file ends its process: SystemExit({error.code})"
    error = innermost(error)
    text = str(error).strip() or type(error).__name__
    cause = error.__cause__
    if cause is not None and str(cause).strip() and str(cause).strip() not in text:
        text += f"\n{type(cause).__name__}: {cause}"
    return f"{place_of(error, request)}: {type(error).__name__}: {text}"


def answer_of(request):
    try:
        names = load_module(request["source"], request["file"])
        made = [compile_kernel(names, request, kernel) for kernel in request["kernels"]]
    except BaseException as error:  # whatever the user's Python raises is its outcome
        return json.dumps({"ok": False, "log": describe(error, request)}).encode()
    head = json.dumps({"ok": True, "kernels": [answer for answer, _ in made]}).encode()
    return head + b"\0" + b"".join(cubin for _, cubin in made)


# --- Processes -------------------------------------------------------------------------------------------------------


def prctl(option, value):
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def serve_in_child(request, descriptor, parent, errors):
    """The child's life: streams to nowhere, its own limits, one answer."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.dup2(errors, 2)
    limit = int(request["deadline_s"]) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    write_message(descriptor, answer_of(request))


def tail(path, size=2000):
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - size))
        return file.read().decode(errors="replace").strip()


def answer_in_child(request, folder):
    """Forks a child for one request. Returns its answer, or how it died."""
    errors_path = os.path.join(folder, "errors")
    errors = os.open(errors_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    reader, writer = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            serve_in_child(request, writer, parent, errors)
        finally:
            os._exit(0)
    os.close(writer)
    os.close(errors)
    answer = read_message(reader)
    os.close(reader)
    _, status = os.waitpid(child, 0)
    if answer is not None:
        return answer
    how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {os.WEXITSTATUS(status)}"
    log = f"the compiler died: {how}\n{tail(errors_path)}".strip()
    return json.dumps({"ok": False, "died": True, "log": log}).encode()


def has_leftovers():
    """Whether processes that the child started still run: they are ours now, for we are the subreaper."""
    try:
        while True:
            process, _ = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                return True
    except ChildProcessError:
        return False


def empty(folder):
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)


def main():
    # Nothing but messages may reach the real stdout, whoever prints.
    stdin, stdout = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    folder = os.environ["TMPDIR"]
    try:
        warm = {"source": WARM_UP, "file": "warm.py", "target": "sm_80", "cubin": False}
        arguments = [
            {"name": "x", "type": "*fp32", "divisible_by_16": True},
            {"name": "n", "type": "i32", "divisible_by_16": False},
            {"name": "B", "type": "constexpr", "constant": "128"},
        ]
        names = load_module(WARM_UP, "warm.py")
        compile_kernel(names, warm, {"function": "warm", "arguments": arguments, "options": {"num_warps": 4}})
    except Exception as error:
        write_message(stdout, f"-{type(error).__name__}: {error}".encode())
        return 1
    write_message(stdout, b"+")
    while (message := read_message(stdin)) is not None:
        empty(folder)
        answer = answer_in_child(json.loads(message), folder)
        write_message(stdout, (b"-" if has_leftovers() else b"+") + answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())

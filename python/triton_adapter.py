"""Compiles Triton kernels ahead of time, for cuda-rlm: no GPU, no PyTorch.

A server on stdin and stdout, in messages of recuda_messages.py.
It says "+" when Triton is imported and warm. A request is a JSON object:

    {"source": text, "file": "kernel.py", "target": "sm_90", "cubin": true, "deadline_s": 60, "kernels": [
        {"function": "rmsnorm", "options": {"num_warps": 4, "num_stages": 3, "num_ctas": 1}, "arguments": [
            {"name": "x", "type": "*bf16", "constant": "", "divisible_by_16": true},
            {"name": "B", "type": "constexpr", "constant": "1024", "divisible_by_16": false}]}]}

Before a request stand 32 bytes that its answer repeats. The answer is "+" (or "-": replace me), those bytes, then JSON, a zero
byte and the kernels' cubins one after another:

    {"ok": true, "kernels": [{"ptx", "cubin_bytes", "shared", "global_scratch_size", "profile_scratch_size", "ptxas_log"}]}
    {"ok": false, "log": "kernel.py:12: NameError: …", "died": false}

Compiling a Triton file runs its Python. Each request is therefore a child of its own, forked from this warm process, which
itself runs in the jail that cuda-rlm made (no files, no network, no signals to others). The child starts no process, writes no
more than recuda_confinement.py lets it, holds no descriptor but the one for its answer, and gives PTX alone: what is screened
must be what runs, so another child, which runs nothing of the file, assembles that PTX. What a child leaves running ends with
this process: the answer then begins with "-", and is a failure.
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

from recuda_confinement import Excess, confine, read_answer
from recuda_messages import read_message, write_message

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
TICKET_BYTES = 32
FAILED = b'{"ok": false'  # how json.dumps begins a failure

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


@contextlib.contextmanager
def stages_up_to_ptx():
    from triton.backends.nvidia.compiler import CUDABackend

    original = CUDABackend.add_stages

    def add_stages(backend, stages, *rest):
        original(backend, stages, *rest)
        stages["cubin"] = lambda ptx, metadata: b""

    CUDABackend.add_stages = add_stages
    try:
        yield
    finally:
        CUDABackend.add_stages = original


def target_of(request):
    from triton.backends.compiler import GPUTarget

    return GPUTarget("cuda", int("".join(c for c in request["target"] if c.isdigit())), 32)


def compile_kernel(names, request, kernel):
    import triton
    from triton.compiler import ASTSource
    from triton.runtime.jit import JITFunction

    function = names.get(kernel["function"])
    while function is not None and not isinstance(function, JITFunction) and hasattr(function, "fn"):
        function = function.fn  # below @triton.autotune and @triton.heuristics, whose place the launch has
    if not isinstance(function, JITFunction):
        raise Refused(f"{request['file']}: there is no @triton.jit function '{kernel['function']}'")
    signature, constants, attributes = specialised(function, kernel["arguments"], request["file"])
    with stages_up_to_ptx():
        made = triton.compile(
            ASTSource(function, signature, constants, attributes),
            target=target_of(request),
            options=kernel["options"],
        )
    return {
        "ptx": made.asm["ptx"],
        "shared": made.metadata.shared,
        "global_scratch_size": getattr(made.metadata, "global_scratch_size", 0) or 0,
        "profile_scratch_size": getattr(made.metadata, "profile_scratch_size", 0) or 0,
    }


def assemble_kernel(ptx, request, kernel):
    """The cubin of a kernel's PTX, with Triton's own options, and ptxas's words."""
    from triton import knobs
    from triton.compiler.compiler import make_backend

    knobs.nvidia.dump_ptxas_log = True
    log = io.StringIO()
    target = target_of(request)
    backend = make_backend(target)
    with contextlib.redirect_stdout(log):
        cubin = backend.make_cubin(ptx, {}, backend.parse_options(dict(kernel["options"])), target.arch)
    return cubin, log.getvalue()


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


def failure(error, request):
    return json.dumps({"ok": False, "log": describe(error, request)}).encode()


def compiled(request):
    """What the file's kernels become, without cubins. Runs the file."""
    try:
        names = load_module(request["source"], request["file"])
        kernels = [compile_kernel(names, request, kernel) for kernel in request["kernels"]]
        return json.dumps({"ok": True, "kernels": kernels}).encode()
    except BaseException as error:  # whatever the user's Python raises is its outcome
        return failure(error, request)


def assembled(answer, request):
    """The answer with cubins where they are wanted. Runs nothing of the file, but reads what its process wrote."""
    try:
        made = json.loads(answer)
        if made["ok"] is not True:
            return answer
        pairs = list(zip(request["kernels"], made["kernels"], strict=True))
    except (ValueError, KeyError, TypeError, RecursionError):
        log = f"{request['file']}: the file's process gave an answer that makes no sense"
        return json.dumps({"ok": False, "log": log}).encode()
    try:
        cubins = []
        for kernel, one in pairs:
            cubin, one["ptxas_log"] = assemble_kernel(one["ptx"], request, kernel) if request["cubin"] else (b"", "")
            one["cubin_bytes"] = len(cubin)
            cubins.append(cubin)
        return json.dumps(made).encode() + b"\0" + b"".join(cubins)
    except Exception as error:
        return failure(error, request)


# --- Processes -------------------------------------------------------------------------------------------------------


def prctl(option, value):
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def serve_in_child(work, request, descriptor, parent, errors):
    """The child's life: streams to nowhere, no descriptor of the parent's, its own limits, one answer."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.dup2(errors, 2)
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    limit = int(request["deadline_s"]) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    write_message(descriptor, work())


def tail(path, size=2000):
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - size))
        return file.read().decode(errors="replace").strip()


def answer_in_child(work, request, folder):
    """Forks a child for one piece of work. Returns its answer, or how it died."""
    errors_path = os.path.join(folder, "errors")
    errors = os.open(errors_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    reader, writer = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            serve_in_child(work, request, writer, parent, errors)
        finally:
            os._exit(0)
    os.close(writer)
    os.close(errors)
    answer = read_answer(reader, folder)
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


def dead(request, log):
    return json.dumps({"ok": False, "died": True, "log": f"{request['file']}: {log}"}).encode()


def answer_to(request, folder):
    """Whether to serve on, and the answer."""
    empty(folder)
    know_assembler(request)
    try:
        answer = answer_in_child(lambda: (confine(), compiled(request))[1], request, folder)
        if has_leftovers():  # they could reach into what is assembled
            return False, answer if answer.startswith(FAILED) else dead(request, "the file started a process that it left running")
        empty(folder)
        return True, answer_in_child(lambda: assembled(answer, request), request, folder)
    except Excess as excess:  # nobody here may end the child: it ends with this process
        return False, dead(request, excess)


def know_assembler(request):
    """Has ptxas asked for its version, which Triton keeps: the file's process cannot start it."""
    from triton.backends.nvidia.compiler import get_ptxas, get_ptxas_version

    arch = target_of(request).arch
    with contextlib.suppress(Exception):  # without one the answer says so
        get_ptxas(arch)
        get_ptxas_version(arch)


def warm_up():
    request = {"source": WARM_UP, "file": "warm.py", "target": "sm_80", "cubin": False}
    arguments = [
        {"name": "x", "type": "*fp32", "divisible_by_16": True},
        {"name": "n", "type": "i32", "divisible_by_16": False},
        {"name": "B", "type": "constexpr", "constant": "128"},
    ]
    names = load_module(WARM_UP, "warm.py")
    compile_kernel(names, request, {"function": "warm", "arguments": arguments, "options": {"num_warps": 4}})


def main():
    # Nothing but messages may reach the real stdout, whoever prints.
    stdin, stdout = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    folder = os.environ["TMPDIR"]
    try:
        warm_up()
    except Exception as error:
        write_message(stdout, f"-{type(error).__name__}: {error}".encode())
        return 1
    write_message(stdout, b"+")
    while (message := read_message(stdin)) is not None:
        serves_on, answer = answer_to(json.loads(message[TICKET_BYTES:]), folder)
        write_message(stdout, (b"+" if serves_on else b"-") + message[:TICKET_BYTES] + answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What a process that runs somebody's Python may do beside what the jail around it forbids, and how its parent reads what it
says."""

import contextlib
import ctypes
import os
import platform
import resource
import select
import struct
import time

PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
CLONE_THREAD = 0x10000
KEPT_BYTES, KEPT_FILES = 1 << 30, 10000  # below the folder that it may write to
OPEN_FILES, FILE_BYTES = 64, 1 << 26  # at once; of one file
ANSWER_BYTES = 1 << 28
LOOK_SECONDS = 0.2


class Excess(Exception):
    """The child does more than it may; the message says what."""


class Instruction(ctypes.Structure):
    """sock_filter of linux/filter.h."""

    _fields_ = [("code", ctypes.c_uint16), ("if_true", ctypes.c_uint8), ("if_false", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class Filter(ctypes.Structure):
    """sock_fprog of linux/filter.h."""

    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(Instruction))]


def confine_calls():
    """Threads alone may be started from here on (RLIMIT_NPROC would not hold root), and no room on the disk is taken
    without writing to it, which would be faster than anybody looks. The numbers of calls are those of the machine: what
    comes by another architecture's is killed by the jail around us."""
    load, equal, any_bit, answer = 0x20, 0x15, 0x45, 0x06
    allow, refuse, is_missing = 0x7FFF0000, 0x50001, 0x50026  # errno EPERM, ENOSYS
    clone, others = (56, (57, 58, 285)) if platform.machine() == "x86_64" else (220, (47,))  # fork, vfork, fallocate
    clone3 = 435  # has its flags in memory; where it is missing, the C library takes clone
    code = [(load, 0, 0, 0), (equal, 0, 1, clone3), (answer, 0, 0, is_missing)]
    for call in others:
        code += [(equal, 0, 1, call), (answer, 0, 0, refuse)]
    code += [(equal, 0, 3, clone), (load, 0, 0, 16), (any_bit, 1, 0, CLONE_THREAD), (answer, 0, 0, refuse), (answer, 0, 0, allow)]
    instructions = (Instruction * len(code))(*(Instruction(*one) for one in code))
    program = Filter(len(code), instructions)
    ctypes.CDLL(None).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)


def confine():
    """What holds for the child that runs the file's Python."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    confine_calls()


def keeps_too_much(folder):
    """Whether what lies below the folder is beyond its bounds."""
    count = kept = 0
    for place, folders, files in os.walk(folder):
        count += len(folders) + len(files)
        if count > KEPT_FILES:
            return True
        for name in files:
            with contextlib.suppress(OSError):
                kept += os.lstat(os.path.join(place, name)).st_blocks * 512
        if kept > KEPT_BYTES:
            return True
    return False


def read_answer(reader, folder):
    """The child's message; None when it ended without a whole one. Looks at what the child writes all the while."""
    answer, looks = bytearray(), 0
    while True:
        if time.monotonic() >= looks:
            if keeps_too_much(folder):
                raise Excess(f"the file writes more than {KEPT_BYTES >> 20} MiB or {KEPT_FILES} files")
            looks = time.monotonic() + LOOK_SECONDS
        if not select.select([reader], [], [], LOOK_SECONDS)[0]:
            continue
        part = os.read(reader, 1 << 20)
        answer += part
        size = struct.unpack_from("<I", answer)[0] if len(answer) >= 4 else 0
        if size > ANSWER_BYTES:
            raise Excess(f"the file's process gave an answer of more than {ANSWER_BYTES >> 20} MiB")
        if len(answer) >= 4 + size and len(answer) >= 4:
            return bytes(answer[4 : 4 + size])
        if not part:
            return None

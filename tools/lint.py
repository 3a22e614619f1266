#!/usr/bin/env python3
"""Runs clang-tidy (.clang-tidy says with which checks) over the sources of src/, several at a time.

usage: lint.py BUILD [SOURCE ...]     BUILD holds compile_commands.json; exit 1 on any finding.

CI builds with -Werror, which is about the compiler's own warnings: here only the checks of .clang-tidy count.
Without SOURCE: every .cpp of src/ but the tests, whose headers alone would take most of the time. A file that passed is
not looked at again while it, the headers of src/ and the checks are unchanged (BUILD/lint holds the stamps).
"""

import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def digest(paths):
    total = hashlib.sha256()
    for path in paths:
        total.update(path.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def lint(build, source, common):
    """(source, what clang-tidy said or an empty string)."""
    name = source.relative_to(ROOT).as_posix()
    stamp = build / "lint" / name.replace("/", "-")
    key = common + digest([source])
    if stamp.exists() and stamp.read_text() == key:
        return name, ""
    result = subprocess.run(["clang-tidy", "--quiet", "--warnings-as-errors=*", "--extra-arg=-Wno-error",
                             "-p", str(build), str(source)],
                            capture_output=True, text=True)
    if result.returncode == 0:
        stamp.write_text(key)
        return name, ""
    return name, result.stdout + result.stderr


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__, file=sys.stderr)
        return 2
    build = pathlib.Path(arguments[0]).resolve()
    sources = [pathlib.Path(name).resolve() for name in arguments[1:]] or [
        path for path in sorted((ROOT / "src").rglob("*.cpp")) if not path.name.endswith("_test.cpp")]
    (build / "lint").mkdir(exist_ok=True)
    common = digest([ROOT / ".clang-tidy", build / "CMakeCache.txt", *sorted((ROOT / "src").rglob("*.h"))])
    problems = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, text in pool.map(lambda source: lint(build, source, common), sources):
            if text:
                problems += 1
                print(f"{name}:\n{text}")
    print(f"lint: {len(sources)} files, {problems} with findings")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

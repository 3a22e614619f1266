#!/usr/bin/env python3
"""Runs the tests of a build folder and ends with one line: `N passed, N failed, N skipped`.

usage: run_tests.py BUILD [option of ctest ...]     exit 1 when a test failed or none ran; the line is kept in
                                                     BUILD/test_counts.txt.
"""

import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree


def run(build, options):
    """ctest's exit code and its JUnit report, or None where it could not write one."""
    report = build / "tests.xml"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", str(build), "--output-on-failure", "--no-tests=error",
               "--parallel", str(os.cpu_count() or 1), "--output-junit", str(report.resolve()), *options]
    code = subprocess.run(command).returncode
    return code, xml.etree.ElementTree.parse(report).getroot() if report.exists() else None


def count(report):
    """(passed, failed, skipped) and the names of failed tests; a disabled test counts as skipped."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failed = []
    for case in report.iter("testcase"):
        status = case.get("status")
        if status == "run" and case.find("failure") is None:
            counts["passed"] += 1
        elif status in ("notrun", "disabled"):
            counts["skipped"] += 1
        else:
            counts["failed"] += 1
            failed.append(case.get("name"))
    return counts, failed


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__, file=sys.stderr)
        return 2
    build = pathlib.Path(arguments[0])
    code, report = run(build, arguments[1:])
    counts, failed = count(report) if report is not None else ({"passed": 0, "failed": 0, "skipped": 0}, [])
    for name in failed:
        print(f"failed: {name}")
    line = "{passed} passed, {failed} failed, {skipped} skipped".format(**counts)
    (build / "test_counts.txt").write_text(line + "\n")
    print(line)
    return 1 if code or failed or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

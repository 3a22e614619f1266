"""What the command-line tests are written with: a folder of its own for each test, and the program in it."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("CUDA_RLM", ROOT / "build" / "release" / "cuda-rlm")).resolve()
KERNELS = ROOT / "tests" / "fixtures" / "kernels"


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cuda-rlm-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def environment(self, **extra):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RECUDA_") or name == "RECUDA_CACHE"}
        return {**kept, "NO_COLOR": "1", **extra}

    def run_program(self, *words, code=0, env=None, timeout=120):
        """Runs the program in the test's folder; the exit status must be `code`."""
        done = subprocess.run([str(PROGRAM), *map(str, words)], cwd=self.folder, env=self.environment(**(env or {})),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        self.assertEqual(done.returncode, code, f"{words}: {done.stderr[-600:]} {done.stdout[-300:]}")
        return done

    def json(self, *words, **options):
        return json.loads(self.run_program(*words, "--json", **options).stdout)

    def refused(self, *words, code, saying=(), env=None):
        """One line with `cuda-rlm: error:` that contains each of the words, and nothing on stdout."""
        done = self.run_program(*words, code=code, env=env)
        lines = [line for line in done.stderr.splitlines() if line.startswith("cuda-rlm: error: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        for word in saying:
            self.assertIn(word, lines[0])
        return lines[0]

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def start(self, *words, env=None):
        process = subprocess.Popen([str(PROGRAM), *map(str, words)], cwd=self.folder, env=self.environment(**(env or {})),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def line_of(text, marker):
    """1-based line that contains the marker."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if marker in line)

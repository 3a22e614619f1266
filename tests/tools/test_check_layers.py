"""tools/check_layers.py: each include of a small tree is allowed or refused as docs/architecture.md has it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")

# file of src/, what it includes, allowed
CASES = [
    ("tensor/a.h", "base/error.h", True),
    ("base/a.cpp", "base/error.h", True),
    ("base/a.cpp", "tensor/dtype.h", False),
    ("build/a.cpp", "device/device.h", False),
    ("lm/a.cpp", "store/store.h", False),
    ("search/a.cpp", "judge/evaluator.h", True),
    ("search/a.cpp", "judge/statistics.h", False),
    ("search/a.cpp", "device/device.h", False),
    ("search/a.cpp", "runtime/model.h", False),
    ("runtime/a.cpp", "device/device.h", True),
    ("runtime/a.cpp", "search/search.h", False),
    ("runtime/a.cpp", "lm/program.h", False),
    ("runtime/a.cpp", "retrieval/index.h", False),
    ("device/vgpu/a.cpp", "device/device.h", True),
    ("device/vgpu/a.cpp", "device/vgpu/warp.h", True),
    ("device/cuda/a.cpp", "device/vgpu/warp.h", False),
    ("judge/a.cpp", "device/vgpu/warp.h", False),
    ("cli/a.cpp", "device/vgpu/vgpu.h", True),
    ("cli/a.cpp", "release/release.h", True),
    ("search/a_test.cpp", "device/vgpu/vgpu.h", True),
    ("search/a_test.cpp", "device/vgpu/warp.h", False),
    ("search/a_test.cpp", "cli/cli.h", False),
    ("runtime/a_test.cpp", "search/search.h", False),
    ("base/a.cpp", "nlohmann/json.hpp", False),
    ("gadgets/a.cpp", "base/error.h", False),
    ("base/a.cpp", "recuda_version.h", True),
]


class CheckLayers(unittest.TestCase):
    def check(self, files, table=TABLE):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "docs/architecture.md").write_text(table, encoding="utf-8")
            for name, text in files.items():
                (root / "src" / name).parent.mkdir(parents=True, exist_ok=True)
                (root / "src" / name).write_text(text)
            result = subprocess.run([sys.executable, str(ROOT / "tools/check_layers.py"), folder],
                                    capture_output=True, text=True)
            return result.returncode, result.stdout

    def test_includes(self):
        for name, header, allowed in CASES:
            with self.subTest(file=name, header=header):
                code, output = self.check({name: f'#pragma once\n#include "{header}"\n'})
                self.assertEqual(code, 0 if allowed else 1, output)
                if not allowed:
                    self.assertIn(f"src/{name}", output)

    def test_names_the_line(self):
        code, output = self.check({"base/a.h": '#pragma once\n\n#include "cli/cli.h"\n'})
        self.assertEqual(code, 1)
        self.assertEqual(output, 'src/base/a.h:3: "cli/cli.h": base may include: no other layer\n')

    def test_the_table_cannot_lift_a_prohibition(self):
        row = next(line for line in TABLE.splitlines() if line.startswith("| `search` |"))
        code, output = self.check({}, TABLE.replace(row, row.replace("`lm`", "`lm` `device`")))
        self.assertEqual((code, output), (1, "the table lets search include device, which is forbidden\n"))

    def test_the_table_is_ground_first(self):
        row = next(line for line in TABLE.splitlines() if line.startswith("| `tensor` |"))
        code, output = self.check({}, TABLE.replace(row, row.replace("`base` |", "`base` `task` |")))
        self.assertEqual((code, output), (1, "the table lets tensor include task, which is not above it\n"))

    def test_a_document_without_the_table(self):
        self.assertEqual(self.check({}, "# Architecture\n")[0], 1)


if __name__ == "__main__":
    unittest.main()

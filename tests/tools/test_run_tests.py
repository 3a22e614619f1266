"""tools/run_tests.py counts passed, failed and skipped tests and fails when one failed or none ran."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class RunTests(unittest.TestCase):
    def run_with(self, exit_codes):
        """The exit code and last line for a folder of tests that end with these codes; 77 is a skip."""
        with tempfile.TemporaryDirectory() as folder:
            lines = []
            for number, code in enumerate(exit_codes):
                lines.append(f'add_test(t{number} "{sys.executable}" "-c" "raise SystemExit({code})")')
                lines.append(f"set_tests_properties(t{number} PROPERTIES SKIP_RETURN_CODE 77)")
            (pathlib.Path(folder) / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
            result = subprocess.run([sys.executable, str(ROOT / "tools/run_tests.py"), folder],
                                    capture_output=True, text=True, env={**os.environ, "CTEST_OUTPUT_ON_FAILURE": "0"})
            return result.returncode, result.stdout.splitlines()[-1]

    def test_counts(self):
        for codes, expected in [
            ([0, 0], (0, "2 passed, 0 failed, 0 skipped")),
            ([0, 77], (0, "1 passed, 0 failed, 1 skipped")),
            ([0, 1, 77], (1, "1 passed, 1 failed, 1 skipped")),
            ([77], (1, "0 passed, 0 failed, 1 skipped")),
            ([], (1, "0 passed, 0 failed, 0 skipped")),
        ]:
            with self.subTest(codes=codes):
                self.assertEqual(self.run_with(codes), expected)


if __name__ == "__main__":
    unittest.main()

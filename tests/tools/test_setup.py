"""./setup: the pin table is whole for both machines, and a run that finds everything in place is quick."""

import pathlib
import re
import subprocess
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def rows():
    for line in (ROOT / "deps/pins.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split()


class Setup(unittest.TestCase):
    def test_every_download_is_pinned_by_hash(self):
        for component, client, package, version, machine, last in rows():
            with self.subTest(package=package, machine=machine):
                self.assertIn(machine, ("x86_64", "aarch64", "any"))
                if client == "apt":
                    self.assertEqual(component, "debian")
                    self.assertRegex(last, r"^(-|unless=[\w-]+)$")
                else:
                    self.assertIn(client, ("pip", "npm"))
                    self.assertRegex(last, r"^[0-9a-f]{64}$")

    def test_both_machines_get_the_same(self):
        def of(machine):
            return sorted({(component, re.sub(r"(x64|arm64)$", "", package), version.split("-")[0])
                           for component, _, package, version, own, _ in rows() if own in (machine, "any")})
        self.assertEqual(of("x86_64"), of("aarch64"))

    def test_check_is_quick_and_installs_nothing(self):
        start = time.monotonic()
        result = subprocess.run([str(ROOT / "setup"), "--check"], capture_output=True, text=True)
        self.assertLess(time.monotonic() - start, 2)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)

    def test_wrong_usage(self):
        result = subprocess.run([str(ROOT / "setup"), "--chekc"], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main()

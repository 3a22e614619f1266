"""The worker of the explore step: one session over its pipes, as src/lm/explore/session.h says."""

import json
import struct
import subprocess
import unittest

from program import PROGRAM, Case

SETUP = {"variables": {"log": "one\ntwo\n"}, "functions": ["double"], "memory_bytes": 1 << 26, "instructions": 1000000,
         "output_bytes": 1000, "seconds": 20, "seed": 1}


class Explore(Case):
    def begin(self, setup):
        worker = subprocess.Popen([str(PROGRAM), "explore-worker"], cwd=self.folder, env=self.environment(),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=False)
        self.addCleanup(self.end, worker)
        return worker, self.exchange(worker, setup)

    @staticmethod
    def exchange(worker, message):
        text = json.dumps(message).encode()
        worker.stdin.write(struct.pack("=I", len(text)) + text)
        worker.stdin.flush()
        (size,) = struct.unpack("=I", worker.stdout.read(4))
        return json.loads(worker.stdout.read(size))

    def test_a_session(self):
        worker, word = self.begin(SETUP)
        self.assertEqual(word, {"ready": True})
        told = self.exchange(worker, {"run": "n = #log print(double(n))"})
        self.assertEqual(told, {"call": "double", "arguments": [8]})
        self.assertEqual(self.exchange(worker, {"value": 16}), {"output": "16\n", "error": ""})
        told = self.exchange(worker, {"run": "while true do end"})
        self.assertEqual(told, {"output": "", "error": "stopped: the program ran more than 1000000 instructions"})
        self.assertEqual(self.exchange(worker, {"run": "n"}), {"output": "8\n", "error": ""})
        worker.stdin.close()
        self.assertEqual(worker.wait(20), 0)

    def test_a_setup_that_is_none(self):
        worker, word = self.begin({"variables": {}})
        self.assertIn("memory_bytes", word["failed"])
        self.assertEqual(worker.wait(20), 1)


if __name__ == "__main__":
    unittest.main()

"""Kernels that were answers at a mailbox on an H200 (docs/evidence) are read from their transcripts and are right here."""

import gzip
import json
import re
import unittest

from program import ROOT, Case

FOLDERS = sorted((ROOT / "docs/evidence/2026-11-30-h200-mailbox").iterdir())
SMALL = {"nano30b_o_proj": "T=3,N=48"}  # the whole product takes longer than a test may


def of_the_model(folder):
    """What came of the model's candidates of a kept run when they were screened, by digest."""
    packed = folder / "evaluations.jsonl.gz"
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else (folder / "evaluations.jsonl").read_text()
    return {line["digest"]: line["outcome"] for line in map(json.loads, text.splitlines()) if line["origin"] == "model"}


class Transcripts(Case):
    def test_answers(self):
        self.assertEqual(len(FOLDERS), 3)
        for folder in FOLDERS:
            task = json.loads((folder / "run.json").read_text())["result"]["task"]
            checked = {}
            for answer in sorted(folder.glob("prompts/*.answer.md")):
                with self.subTest(task, answer=answer.name):
                    file = self.write("answer.cu", re.search(r"```cuda\n(.*?)```", answer.read_text(), re.S)[1])
                    result = self.json("check", file, "--axes", SMALL.get(task, "T=3"), "--device", "vgpu")
                    self.assertEqual(result["outcome"], "correct")
                    checked[result["digest"]] = "correct"
            with self.subTest(task):
                self.assertEqual(len(checked), 2)
                self.assertEqual(of_the_model(folder), checked)


if __name__ == "__main__":
    unittest.main()

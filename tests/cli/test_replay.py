"""`replay`: a recorded evaluation is judged again, by id, by digest, by folder and by the main store."""

import json
import math

from program import Case

TASKS = """family = "small"
model = "none"
[relu2]
op = "relu2"
axes = { K = 1, N = 512 }
verify = { T = [1, 3] }
bench = { T = [1] }
"""


class Replay(Case):
    def setUp(self):
        super().setUp()
        self.write("small.toml", TASKS)
        self.best = self.json("run", "--task", "small.toml#relu2", "--device", "vgpu", "--preset", "offline", "--seed", 5,
                              "--num-candidates", 3, "--out-dir", "out")["best"]

    def rows(self):
        return [json.loads(line) for line in (self.folder / "out/evaluations.jsonl").read_text().splitlines()]

    def rewrite(self, change):
        rows = self.rows()
        for row in rows:
            if row["digest"] == self.best["digest"]:
                change(row)
        (self.folder / "out/evaluations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def replay(self, name, *words, **options):
        return self.json("replay", name, "--device", "vgpu", *words, **options)

    def test_agrees_by_id_and_digest_in_the_folder_and_through_the_store(self):
        digest = self.best["digest"]
        for name in (self.best["id"], digest, digest[:8]):
            for words in (["--out-dir", "out"], []):
                answer = self.replay(name, *words)
                self.assertEqual(answer["id"], name)
                self.assertIs(answer["agrees"], True, answer["why"])
                self.assertEqual(answer["digest"], digest)
                self.assertEqual(answer["stored"]["outcome"], "correct")
                self.assertEqual(answer["again"]["outcome"], "correct")
                self.assertEqual(answer["stored"]["stage"], answer["again"]["stage"])
        for row in self.rows():
            self.assertEqual(self.replay(row["id"], "--out-dir", "out")["stored"]["stage"], row["stage"])

    def test_another_outcome_disagrees(self):
        self.rewrite(lambda row: row.update(outcome="wrong"))
        answer = self.replay(self.best["id"], "--out-dir", "out", code=3)
        self.assertIs(answer["agrees"], False)
        self.assertIn("wrong", answer["why"][0])
        self.assertIn("does not agree", self.run_program("replay", self.best["id"], "--out-dir", "out", "--device", "vgpu", code=3).stdout)

    def test_a_changed_candidate_is_refused(self):
        file = next((self.folder / "out/candidates").glob(self.best["digest"] + ".*"))
        text = file.read_text()
        file.write_text(text.replace("{", "{ int changed = 1;", 1))
        self.refused("replay", self.best["id"], "--out-dir", "out", "--device", "vgpu", code=1, saying=["changed", self.best["digest"]])
        # A line more, which a comment before it swallows in one of the two.
        first = text.index("\n", text.index("{"))
        swallowed = text[:first] + " // one \\\n    return;" + text[first:]
        file.write_text(swallowed.replace("\\", ""))
        self.refused("replay", self.best["id"], "--out-dir", "out", "--device", "vgpu", code=1, saying=["changed"])
        file.write_text(text[: len(text) // 2])
        self.refused("replay", self.best["id"], "--out-dir", "out", "--device", "vgpu", code=1)
        file.unlink()
        self.refused("replay", self.best["id"], "--out-dir", "out", "--device", "vgpu", code=1, saying=[self.best["digest"]])

    def test_what_is_not_there_is_named(self):
        self.refused("replay", "nothing-1", "--out-dir", "out", "--device", "vgpu", code=1, saying=["nothing-1"])
        self.refused("replay", "0" * 64, "--device", "vgpu", code=1, saying=["0" * 64])
        self.refused("replay", self.best["id"], "--out-dir", "nowhere", "--device", "vgpu", code=1, saying=["nowhere"])
        self.refused("replay", "--device", "vgpu", code=2)

    def prove(self, row, level=0.005):
        """A proof as a card would have given it: twelve sessions in which the baseline takes 1.1 times as long."""
        sessions = []
        for i in range(12):
            ratio = 1.1 + 0.001 * (i % 3)
            sessions.append({"seed": f"{i:016x}", "began": "candidate", "log_ratio": math.log(ratio), "candidate_ns": [1000.0] * 5,
                             "baseline_ns": [1000 * ratio] * 5, "candidate_clock_mhz": [1980] * 5, "baseline_clock_mhz": [1980] * 5})
        row["device"] = "cuda NVIDIA H200 sm_90"
        row["proofs"] = [{"baseline": "plain", "promotion": 1, "level": level, "margin": 0.01, "block_samples": 5, "unfit": "",
                          "workloads": [{"axes": {"T": 1}, "method": "", "baseline_method": "", "sessions": sessions}]}]

    def test_verdicts_are_computed_from_the_raw_samples_on_any_machine(self):
        self.rewrite(self.prove)
        answer = self.replay(self.best["id"], "--out-dir", "out", code=3)
        self.assertEqual(len(answer["why"]), 2, "the samples say something that is not recorded")
        whole = answer["recomputed"][0]
        self.assertEqual((whole["baseline"], whole["outcome"], whole["ships"]), ("plain", "FASTER", True))
        self.assertAlmostEqual(whole["ratio"], 1.101, places=4)

        self.rewrite(lambda row: row.update(comparisons=answer["recomputed"]))
        again = self.replay(self.best["id"], "--out-dir", "out")
        self.assertIs(again["agrees"], True, again["why"])
        self.assertEqual(again["stored"]["comparisons"], again["recomputed"])

        def claim_more(row):
            row["comparisons"][0]["ratio"] = 1.3

        self.rewrite(claim_more)
        self.assertIn("1.3", self.replay(self.best["id"], "--out-dir", "out", code=3)["why"][0])


if __name__ == "__main__":
    import unittest

    unittest.main()

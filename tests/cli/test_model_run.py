"""`run` with a language model: what comes of its answers, of its faults, and of a run that goes on."""

import json
import signal
import unittest

from chat_server import ChatServer
from model_run import ModelCase, answer, kernel


class ModelRun(ModelCase):
    def test_an_answer_a_repair_and_what_is_left_of_them(self):
        with ChatServer(answer(kernel("my_first", "gizmo")), answer(kernel("my_second"))) as server:
            result = self.json(*self.asked(server, candidates=6))
        self.assertEqual(self.outcomes("my_first"), {("propose", "build_failed")})
        self.assertIn(("repair", "correct"), self.outcomes("my_second"))
        self.assertIn('identifier "gizmo" is undefined', server.asked[1])
        self.assertIn(">   10 | ", server.asked[1])
        use = result["model"]
        self.assertEqual((use["model"], use["input_tokens"]), ("scripted", 100 * use["calls"]))
        self.assertGreater(use["against_seed"]["ratio"], 0)
        self.assertIsNone(use["against_seed"]["low"])
        report = (self.folder / "out/report.md").read_text()
        for word in ("## The language model", "repair", "its best against the best seed", "prompts/0001.prompt.md"):
            self.assertIn(word, report)
        state = json.loads((self.folder / "artifacts/dspy/kernel-search-module/program.json").read_text())
        self.assertEqual(sorted(state), ["combine.predict", "explore.extract", "explore.generate_action", "improve.predict", "metadata", "propose.predict", "repair.predict"])
        self.assertTrue((self.folder / "out/program.json").exists())

    def test_the_tuner_goes_on_with_what_the_model_gave(self):
        with ChatServer(answer(kernel("my_mine"))) as server:
            self.json(*self.asked(server, candidates=8))
        points = {(row["origin"], row["tunables"]["BLOCK"]) for row in self.rows() if row["tunables"].get("BLOCK") in (64, 128)
                  and "my_mine" in (self.folder / "out" / row["file"]).read_text()}
        self.assertEqual(points, {("model", 128), ("tuner", 64)})

    def test_faults_cost_the_model_and_not_the_run(self):
        for status in (401, 404):
            with ChatServer(status) as server:
                done = self.run_program(*self.asked(server, "--json", out=f"out{status}"))
            result = json.loads(done.stdout)
            self.assertTrue(result["best"])
            self.assertIn(str(status), done.stderr)
            self.assertEqual((len(server.asked), len(result["model"]["problems"])), (1, 1))

    def test_the_same_run_asks_nothing_again(self):
        with ChatServer(answer(kernel("my_first", "gizmo")), answer(kernel("my_second"))) as server:
            self.json(*self.asked(server))
            before = len(server.asked)
            self.json(*self.asked(server, out="again"))
            self.assertEqual(len(server.asked), before)
        self.assertEqual([row["digest"] for row in self.rows("again")], [row["digest"] for row in self.rows()])

    def test_a_killed_run_goes_on_in_the_conversation(self):
        with ChatServer(answer(kernel("my_first", "gizmo")), None) as server:
            process = self.start(*self.asked(server))
            server.wait_for(2, process)
            process.kill()
            process.wait()
            server.plays = [answer(kernel("my_second"))]
            before = list(server.asked)
            self.json(*self.asked(server, "--resume"))
            self.assertNotIn(before[0], server.asked[len(before):])
            self.assertEqual(server.asked[len(before)], before[1])
        self.assertIn(("repair", "correct"), self.outcomes("my_second"))

    def test_a_budget_of_calls_is_kept(self):
        turn = iter(range(100))
        with ChatServer(lambda prompt: answer(kernel(f"k{next(turn)}", "gizmo"))) as server:
            result = self.json(*self.asked(server, "--max-calls", 2, candidates=6))
        self.assertEqual(len(server.asked), 2)
        self.assertEqual((result["candidates"], result["stopped_by"]), (6, "candidates"))

    def test_a_replay_gives_the_same_and_does_not_invent(self):
        with ChatServer(answer(kernel("my_first", "gizmo")), answer(kernel("my_second"))) as server:
            self.json(*self.asked(server))
        self.json(*self.words("replay", "--replay", "out", out="again"))
        self.assertEqual([row["digest"] for row in self.rows("again")], [row["digest"] for row in self.rows()])
        (self.folder / "empty").mkdir()
        self.assertIn("record", self.refused(*self.words("replay", "--replay", "empty", out="none"), code=1))

    def test_a_mailbox_is_left_and_taken_up_again(self):
        words = self.words("mailbox", "--mailbox", "box", "--mailbox-wait", 0)
        result = self.json(*words)
        self.assertEqual(result["stopped_by"], "waiting")
        self.assertTrue(result["best"])
        prompt = self.folder / "box/0001.prompt.md"
        self.assertIn("small.toml#relu2", prompt.read_text())
        (self.folder / "box/0001.answer.md").write_text(answer(kernel("my_by_hand")))
        again = self.json(*words, "--resume")
        self.assertIn(("propose", "correct"), self.outcomes("my_by_hand"))
        self.assertEqual(again["stopped_by"], "waiting")
        self.assertTrue((self.folder / "box/0002.prompt.md").exists())

    def test_a_call_in_flight_ends_with_the_run(self):
        with ChatServer(None) as server:
            result = self.json(*self.asked(server, "--time-limit", 4))
            self.assertTrue(result["best"])
            process = self.start(*self.asked(server, "--json", out="cut"))
            server.wait_for(2, process)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=30)
        self.assertEqual((process.returncode, json.loads(out)["stopped_by"]), (130, "interrupt"))

    def test_a_state_steers_the_prompts_or_is_refused(self):
        with ChatServer(answer(kernel("my_mine"))) as server:
            self.json(*self.asked(server, candidates=2))
            file = self.folder / "artifacts/dspy/kernel-search-module/program.json"
            state = json.loads(file.read_text())
            state["propose.predict"]["signature"]["instructions"] = "Prefer wombats."
            file.write_text(json.dumps(state, indent=2) + "\n")
            before = len(server.asked)
            self.json(*self.asked(server, out="two", candidates=2))
            self.assertIn("Prefer wombats.", server.asked[before])
            file.write_text(broken := file.read_text()[:100])
            self.refused(*self.asked(server, out="three"), code=1, saying=["program.json"])
            self.assertEqual(file.read_text(), broken)
            self.assertFalse((self.folder / "three").exists())

    def test_a_policy_is_read_and_bounded(self):
        self.write("policy.json", '{"model": 0.5, "temperature": 0.3, "shares": {"combine": 0}}')
        with ChatServer(answer(kernel("my_mine"))) as server:
            self.json(*self.asked(server, "--policy", "policy.json", candidates=2))
            for text, word in (("{", "policy.json"), ('{"model": 2}', "`model`"), ('{"modell": 1}', "did you mean model"),
                               ('{"shares": {"propose": 0}}', "`propose`"), ('{"repair_attempts": 1.5}', "whole number")):
                self.write("policy.json", text)
                self.refused(*self.asked(server, "--policy", "policy.json", out="no"), code=1, saying=[word, "policy.json"])

    def test_the_program_rlm_explores_before_a_proposal(self):
        """The evaluations lie in a variable of the session; what a program found there decides what it submits."""
        def model(prompt):
            if "`code` (str)" not in prompt:
                return answer(kernel("my_other"))
            looked = "seeds: 1" in prompt
            code = (f"submit{{kernel = [==[\n{kernel('my_explored')}]==]}}" if looked else
                    "n = 0\nfor _, e in ipairs(evaluations) do if e.origin == 'seed' then n = n + 1 end end\n"
                    f"told = check([==[\n{kernel('my_draft', 'gizmo')}]==])\nprint('seeds: ' .. n, told.outcome, told.diagnostics)")
            return f"[[ ## reasoning ## ]]\nI look.\n\n[[ ## code ## ]]\n{code}\n\n[[ ## completed ## ]]"

        with ChatServer(model) as server:
            self.json(*self.asked(server, "--program", "rlm", candidates=3))
        self.assertIn(("propose", "correct"), self.outcomes("my_explored"))
        self.assertIn('identifier "gizmo" is undefined', server.asked[1])
        self.assertEqual(self.outcomes("my_draft"), set())
        self.assertIn("did you mean rlm", self.refused(*self.words("offline", "--program", "rml", out="no"), code=2))

    def test_text_of_others_is_no_instruction_to_this_program(self):
        """Paths, directives and fences in an answer name no file and end no fence."""
        hostile = ("//! uses ../../../etc\n", "//! launch /bin/sh<<<1, 1>>>(x)\n", "//! task /etc/passwd\n//! launch k<<<1, 1>>>(x, y)\n",
                   kernel("k").replace("//! idea    k", "//! idea    ```` @/etc/passwd $(touch ran) {{file:/etc/passwd}}"))
        with ChatServer(*(answer(one) for one in hostile), answer(kernel("my_good"))) as server:
            self.json(*self.asked(server, candidates=8))
        self.assertFalse((self.folder / "ran").exists())
        self.assertFalse(any("root:x:" in prompt for prompt in server.asked))
        self.assertTrue(self.outcomes("my_good"))


if __name__ == "__main__":
    unittest.main()

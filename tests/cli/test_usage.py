"""Help, version, and what happens to misspelt words."""

import unittest

from program import Case

COMMANDS = ["run", "tasks", "check", "exec", "results", "show", "merge-results", "inspect-env", "presets", "completion"]


class Usage(Case):
    def test_version(self):
        self.assertRegex(self.run_program("--version").stdout, r"^cuda-rlm \d+\.\d+\.\d+\n$")

    def test_every_command_has_help_with_an_example(self):
        overview = self.run_program("--help").stdout
        for command in COMMANDS:
            self.assertIn(f"\n  {command} ", overview)
            text = self.run_program(command, "--help").stdout
            self.assertIn("--json", text)
            self.assertIn("Example:", text)

    def test_workers_are_not_shown(self):
        self.assertNotIn("worker", self.run_program("--help").stdout)

    def test_misspelt_words_get_a_suggestion(self):
        self.refused("taks", code=2, saying=["did you mean tasks?"])
        self.refused("tasks", "--famly", "qwen35", code=2, saying=["did you mean --family?"])
        self.refused("tasks", "nano30b_rmsnrm", code=2, saying=["did you mean nano30b_rmsnorm?"])
        self.refused("tasks", "--family", "qwen36", code=2, saying=["did you mean qwen35?"])
        self.refused(code=2, saying=["--help"])
        self.refused("tasks", "a", "b", code=2)
        self.refused("exec", code=2)

    def test_completion_names_commands(self):
        script = self.run_program("completion", "bash").stdout
        self.assertIn("complete -o filenames -F _cuda_rlm cuda-rlm", script)
        self.assertIn("merge-results", script)
        self.refused("completion", "fish", code=2, saying=["bash"])


if __name__ == "__main__":
    unittest.main()

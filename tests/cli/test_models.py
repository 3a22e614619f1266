"""`presets` and `presets --check`: which language models there are, and one real call to each kind of back end."""

import http.server
import json
import unittest

from chat_server import Loopback
from program import Case


class Server(Loopback):
    """A server with OpenAI's interface on loopback: every chat request gets the same reply."""

    def __init__(self, status, body, headers=()):
        self.asked = asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers.get("Content-Length") or 0)
                asked.append((self.path, dict(self.headers), json.loads(self.rfile.read(length))))
                self.reply(status, body, headers)

            def do_GET(self):
                self.reply(200, {"data": [{"id": "only-one"}]}, ())

            def reply(self, code, value, more):
                data = json.dumps(value).encode()
                self.send_response(code)
                for name, text in (("Content-Type", "application/json"), ("Content-Length", str(len(data))), *more):
                    self.send_header(name, text)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        super().__init__(Handler)


def completion(text):
    return {"model": "tiny", "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3}}


KEYS = ("ZAI_API_KEY", "OPENAI_API_KEY", "CODEX_API_KEY", "ANTHROPIC_API_KEY")


class Models(Case):
    def environment(self, **extra):
        bare = {"HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder / "config"), "no_proxy": "127.0.0.1",
                "CODEX_HOME": str(self.folder / "codex"), **dict.fromkeys(KEYS, "")}
        return super().environment(**{**bare, **extra})

    def preset(self, name, text):
        folder = self.folder / "config/recuda/presets"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.toml").write_text(text)

    def program(self, name, act):
        """A program on the PATH that notes each call for an answer in calls-NAME, then does what `act` says."""
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        file = folder / name
        file.write_text('#!/bin/sh\ncase "$*" in\n--version) echo "fake 1.2.3"; exit 0;;\n"exec --help"|"features list") exit 0;;\nesac\n'
                        f'echo "$@" >> "{self.folder}/calls-{name}"\ncat > "{self.folder}/stdin-{name}"\n{act}\n')
        file.chmod(0o755)
        return {"PATH": f"{folder}:/usr/bin:/bin"}

    def calls(self, name):
        file = self.folder / f"calls-{name}"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def test_each_preset_says_what_it_lacks(self):
        presets = {p["name"]: p for p in self.json("presets", env={"PATH": "/nothing"})}
        for name, word in (("codex-dspy", "PATH"), ("zai-glm5-dspy", "ZAI_API_KEY"), ("openai", "OPENAI_API_KEY")):
            self.assertFalse(presets[name]["usable"])
            self.assertIn(word, presets[name]["why"])
        self.assertTrue(presets["offline"]["usable"] and presets["mailbox"]["usable"] and presets["replay"]["usable"])
        self.assertTrue({p["name"]: p for p in self.json("presets", env={"OPENAI_API_KEY": "sk-of-nobody"})}["openai"]["usable"])
        self.refused("presets", "--preset", "openai", "--check", code=1, saying=["openai", "OPENAI_API_KEY"])

    def test_a_check_is_one_request(self):
        with Server(200, completion("ready")) as server:
            told = self.json("presets", "--preset", "local", "--check", "--base-url", server.url)
            self.assertEqual((told["answer"], told["tokens"]), ("ready", 15))
            path, headers, body = server.asked[0]
            self.assertEqual((path, body["model"], len(server.asked)), ("/v1/chat/completions", "only-one", 1))
            self.assertNotIn("Authorization", headers)
            self.json("presets", "--preset", "local", "--check", "--base-url", server.url, "--model", "other")
            self.assertEqual(server.asked[1][2]["model"], "other")

    def test_a_check_that_fails_says_why_after_one_request(self):
        for status in (401, 404, 429, 500):
            with Server(status, {"error": {"message": "no such model"}}, [("Retry-After", "60")]) as server:
                self.refused("presets", "--preset", "local", "--check", "--base-url", server.url, code=1, saying=[str(status)])
                self.assertEqual(len(server.asked), 1)
        self.refused("presets", "--preset", "local", "--check", "--base-url", "http://127.0.0.1:1/v1", code=1, saying=["connect"])

    def test_a_key_goes_into_the_header_alone(self):
        key = "sk-fedcba9876543210"
        with Server(401, {"error": {"message": f"Incorrect API key provided: {key}"}}) as server:
            self.preset("mine", f'kind = "http"\nbase_url = "{server.url}"\nmodel = "m"\napi_key_env = "MY_KEY"\n')
            self.refused("presets", "--preset", "mine", "--check", code=1, saying=["MY_KEY"])
            self.assertEqual(server.asked, [])
            done = self.run_program("presets", "--preset", "mine", "--check", code=1, env={"MY_KEY": key + "\n"})
            self.assertEqual(server.asked[0][1]["Authorization"], f"Bearer {key}")
        self.assertIn("401", done.stderr)
        self.assertNotIn(key, done.stderr + done.stdout)

    def test_a_program_is_started_once(self):
        lines = [{"type": "item.completed", "item": {"type": "agent_message", "text": "ready"}},
                 {"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}}]
        act = "cat <<'EOF'\n" + "\n".join(map(json.dumps, lines)) + "\nEOF"
        env = {**self.program("codex", act), "CODEX_API_KEY": "sk-of-nobody"}
        presets = {p["name"]: p for p in self.json("presets", env=env)}
        self.assertTrue(presets["codex-dspy"]["default"])
        self.assertEqual(self.json("presets", "--preset", "codex-dspy", "--check", env=env)["answer"], "ready")
        self.assertEqual(self.calls("codex"), 1)
        self.assertTrue((self.folder / "stdin-codex").read_text().startswith("Answer with"))
        tools = {tool["name"]: tool for tool in self.json("inspect-env", env=env)}
        self.assertEqual(tools["language model codex-dspy"]["version"], "fake 1.2.3")

    def test_a_program_that_fails_or_hangs_is_told(self):
        env = {**self.program("codex", "echo 'unexpected status 401 Unauthorized' >&2"), "CODEX_API_KEY": "sk-of-nobody"}
        self.refused("presets", "--preset", "codex-dspy", "--check", code=1, saying=["401"], env=env)
        env = {**self.program("qwen", "sleep 300"), "OPENAI_API_KEY": "sk-of-nobody"}
        self.refused("presets", "--preset", "qwen-cli-dspy", "--check", "--max-seconds", "0.5", code=1, saying=["0.5 s"], env=env)
        self.assertEqual((self.calls("codex"), self.calls("qwen")), (1, 1))

    def test_mailbox_and_replay_need_their_folders(self):
        self.refused("presets", "--preset", "mailbox", "--check", code=2, saying=["--mailbox"])
        self.refused("presets", "--preset", "replay", "--check", code=2, saying=["--replay"])
        self.refused("presets", "--preset", "replay", "--check", "--replay", "nothing", code=1, saying=["nothing"])
        box = ["presets", "--preset", "mailbox", "--check", "--mailbox", "box", "--mailbox-wait", "0"]
        self.refused(*box, code=1, saying=["0001.prompt.md", "0001.answer.md"])
        (self.folder / "box/0001.answer.md").write_text("by hand\n")
        self.assertEqual(self.json(*box)["answer"], "by hand\n")

    def test_a_malformed_preset_of_the_user_is_named(self):
        self.preset("mine", 'kind = "http"\nbase_url = "http://a"\nmodle = "m"\n')
        self.refused("presets", code=1, saying=["mine.toml:3:1", "did you mean model?"])


if __name__ == "__main__":
    unittest.main()

"""A language model that is not there: a server with OpenAI's interface on loopback, whose answers are scripted."""

import http.server
import json
import threading
import time


class Loopback:
    """A server on loopback, up inside a `with`."""

    def __init__(self, handler):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_address[1]}/v1"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


class ChatServer(Loopback):
    """Plays one reply after another, the last one for ever. A play is a text, a status, a whole reply,
    or a function of the prompt that returns one of them; None hangs until the server closes."""

    def __init__(self, *plays):
        self.plays, self.asked, self.closing = list(plays), [], threading.Event()
        lock = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                prompt = "\n\n".join(message["content"] for message in body["messages"])
                with lock:
                    play = outer.plays[min(len(outer.asked), len(outer.plays) - 1)]
                    outer.asked.append(prompt)
                    play = play(prompt) if callable(play) else play
                if play is None:
                    outer.closing.wait(120)
                elif isinstance(play, int):
                    self.reply(play, {"error": {"message": f"status {play}"}})
                else:
                    self.reply(200, play if isinstance(play, dict) else completion(play))

            def do_GET(self):
                self.reply(200, {"data": [{"id": "scripted"}]})

            def reply(self, code, value):
                data = json.dumps(value).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        super().__init__(Handler)

    def __exit__(self, *exception):
        self.closing.set()
        super().__exit__(*exception)

    def wait_for(self, requests, process, seconds=60):
        """Until so many requests came, while the process runs."""
        end = time.monotonic() + seconds
        while len(self.asked) < requests:
            if process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"{len(self.asked)} requests, wanted {requests}")
            time.sleep(0.02)


def completion(text):
    return {"model": "scripted", "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20}}

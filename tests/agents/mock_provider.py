#!/usr/bin/env python3
"""A mock of the model providers, for agents and for what runs them: python3 mock_provider.py --ledger FILE [--scenario NAME]

Listens on a free port of 127.0.0.1, prints one line `http://127.0.0.1:PORT`, and answers in the dialect of the path that is asked:
Anthropic messages, OpenAI responses and chat completions, Gemini generateContent. A request belongs to the scenario that its last
prompt names with a word `mock:NAME`, else to --scenario; the step is the number of tool results since that prompt, so any number of
agents can share one mock, and a resumed session starts at the first step again.

The ledger is what a provider would bill, a JSON line for each request: request, dialect, model, scenario, step, status, tokens as
in Drover's usage, cost_usd by scenarios.PRICES, and by what to tell runs apart: session, key (the API key) and the head of the prompt. Each
line is written before the answer begins. The mock ends with SIGTERM, SIGINT, or after --seconds.
"""

import argparse
import gzip
import http.server
import json
import pathlib
import re
import signal
import socket
import sys
import threading
import time

import scenarios
from dialects import dialect_of

class Mock:
    """Scenarios, the ledger, and how often a step with `times` has failed. Handlers of many threads share it."""

    def __init__(self, scenario="ok", ledger=None, requests=None, script=None):
        self.scenarios = scenarios.SCENARIOS | (scenarios.load(script) if script else {})
        self.scenario = scenario
        self.ledger = ledger
        self.requests = requests
        self.numbers = 0
        self.failed = {}
        self.lock = threading.Lock()
        if scenario not in self.scenarios:
            raise ValueError(f"no scenario {scenario}; there are {', '.join(self.scenarios)}")

    def choose(self, asked):
        """The scenario's name, the step's number, and the step."""
        named = re.search(r"\bmock:(\w+)", asked.prompt)
        name = named.group(1) if named else self.scenario
        if name not in self.scenarios:
            raise ValueError(f"the prompt names the scenario {name}, which is unknown")
        steps = self.scenarios[name]
        with self.lock:
            for index, step in enumerate(steps):
                if "times" not in step:
                    continue
                if self.failed.get((name, index), 0) < step["times"]:
                    self.failed[name, index] = self.failed.get((name, index), 0) + 1
                    return name, index, step
        lasting = [(index, step) for index, step in enumerate(steps) if "times" not in step]
        return name, *lasting[min(asked.replies, len(lasting) - 1)]

    def number(self):
        with self.lock:
            self.numbers += 1
            return self.numbers

    def book(self, line):
        """A line in the ledger, whole."""
        if self.ledger:
            with self.lock, open(self.ledger, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    def keep_request(self, number, path, headers, body):
        """For those who want to know what a client sends."""
        if self.requests:
            kept = {"path": path, "headers": dict(headers), "body": body}
            (pathlib.Path(self.requests) / f"{number:04}.json").write_text(json.dumps(kept, indent=1), encoding="utf-8")


def bill(model, tokens):
    """What a ledger's line says of the tokens, in the words of Drover's usage."""
    return {"input_tokens": tokens.input, "cached_input_tokens": tokens.cached, "cache_write_tokens": tokens.cache_write,
            "output_tokens": tokens.output, "reasoning_tokens": tokens.reasoning, "cost_usd": scenarios.cost_usd(model, tokens)}


def key_of(headers):
    bearer = (headers.get("authorization") or "").removeprefix("Bearer ")
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or bearer


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mock = None

    def log_message(self, *_):
        """The ledger tells it all."""

    def read_body(self):
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        return json.loads(raw) if raw else {}

    def answer(self, status, headers, body):
        raw = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(raw)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def start_stream(self):
        self.send_response(200)
        for name, value in (("content-type", "text/event-stream"), ("cache-control", "no-cache"), ("transfer-encoding", "chunked")):
            self.send_header(name, value)
        self.end_headers()

    def chunk(self, text):
        raw = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        self.wfile.flush()

    def wait_for_client(self):
        """Until the client gives up: its end of the connection is then readable, and empty."""
        self.connection.settimeout(None)
        try:
            while self.connection.recv(4096):
                pass
        except OSError:
            pass
        self.close_connection = True

    def stream(self, events):
        self.start_stream()
        for one in events:
            self.chunk(one)
        self.wfile.write(b"0\r\n\r\n")

    def stream_half(self, events, step):
        """The first half of the events; then the connection stalls or breaks."""
        events = list(events)
        self.start_stream()
        for one in events[:max(1, len(events) // 2)]:
            self.chunk(one)
        if "hang" in step:
            self.wait_for_client()
        else:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

    def model_request(self, dialect, body, path):
        number = self.mock.number()
        self.mock.keep_request(number, self.path, self.headers, body)
        asked = dialect.read(path, self.headers, body)
        name, index, step = self.mock.choose(asked)
        tokens = dialect.counted(scenarios.Tokens(**step.get("tokens", {})))
        failure = None
        if "error" in step:
            reset = int(time.time()) + step.get("reset_in", 3600)
            failure = dialect.error(step, {"retry_after": step.get("retry_after", 1), "reset": reset})
        status = failure[0] if failure else next((kind for kind in ("hang", "disconnect") if kind in step), 200)
        self.mock.book({"request": number, "dialect": type(dialect).__name__.lower(), "model": asked.model, "scenario": name,
                        "step": index, "status": status, **bill(asked.model, dialect.billed(step, tokens)),
                        "session": asked.session, "key": key_of(self.headers), "prompt": asked.prompt[:80]})
        if failure:
            status, headers, error = failure
            self.stream(error) if isinstance(error, list) else self.answer(status, headers, error)
        elif step.get("hang") == "silent":
            self.wait_for_client()
        elif status != 200:
            self.stream_half(dialect.stream(asked, step, tokens, number), step)
        elif asked.stream:
            self.stream(dialect.stream(asked, step, tokens, number))
        else:
            self.answer(200, {}, dialect.body(asked, step, tokens, number))

    def do_POST(self):
        path = self.path.split("?")[0]
        try:
            body = self.read_body()
            if dialect := dialect_of(path):
                self.model_request(dialect, body, path)
            elif path.endswith("/count_tokens"):
                self.answer(200, {}, {"input_tokens": 1000})
            elif path.endswith(":countTokens"):
                self.answer(200, {}, {"totalTokens": 1000})
            else:
                self.answer(404, {}, {"error": {"message": f"the mock has no {path}"}})
        except ValueError as problem:  # the client, or the test that drives it, asks for what cannot be
            self.answer(400, {}, {"error": {"type": "invalid_request_error", "message": f"mock: {problem}"}})
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_GET(self):
        if self.path.split("?")[0].endswith("/models"):
            models = [{"id": name, "object": "model", "type": "model", "display_name": name} for name in scenarios.PRICES]
            self.answer(200, {}, {"object": "list", "data": models, "models": []})
        else:
            self.answer(404, {}, {"error": {"message": f"the mock has no {self.path}"}})

    do_HEAD = do_GET


class Server(http.server.ThreadingHTTPServer):
    """A mock in this process: with Server(Mock(...)) as server: server.url"""
    daemon_threads = True
    block_on_close = False

    def __init__(self, mock, port=0):
        super().__init__(("127.0.0.1", port), type("MockHandler", (Handler,), {"mock": mock}))
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--scenario", default="ok", help=f"for prompts that name none: {', '.join(scenarios.SCENARIOS)}")
    parser.add_argument("--script", help="a JSON file with more scenarios; see scenarios.py")
    parser.add_argument("--ledger", help="the file to which a line is added for each model request")
    parser.add_argument("--requests", help="a folder that keeps the requests themselves")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3600, help="how long to live at most (default 3600)")
    given = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with Server(Mock(given.scenario, given.ledger, given.requests, given.script), given.port) as server:
        print(server.url, flush=True)
        ended.wait(given.seconds)


if __name__ == "__main__":
    main()

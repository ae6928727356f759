#!/usr/bin/env python3
"""The mock and the fake agent keep what they promise: python3 tests/agents/selftest.py. Needs nothing but Python."""

import hashlib
import http.client
import json
import importlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

from clis import CLIS, Place, events
from mock_provider import Mock, Server
from scenarios import Tokens, cost_usd

trial = importlib.import_module("try")  # its name is a word of the language
HERE = pathlib.Path(__file__).resolve().parent
BOUND_S = 30

# One request in each dialect: path, and the body with a prompt.
REQUESTS = {
    "anthropic": ("/v1/messages", lambda prompt: {
        "model": "claude-opus-5-5", "messages": [{"role": "user", "content": prompt}], "tools": [{"name": "Bash"}]}),
    "responses": ("/v1/responses", lambda prompt: {
        "model": "gpt-5", "input": [{"role": "user", "content": [{"type": "input_text", "text": prompt}]}],
        "tools": [{"type": "function", "name": "shell"}]}),
    "chat": ("/v1/chat/completions", lambda prompt: {
        "model": "mock-model", "messages": [{"role": "user", "content": prompt}],
        "tools": [{"type": "function", "function": {"name": "bash"}}]}),
    "gemini": ("/v1beta/models/gemini-2.5-pro:generateContent", lambda prompt: {
        "contents": [{"role": "user", "parts": [{"text": prompt}]}],
        "tools": [{"functionDeclarations": [{"name": "run_shell_command"}]}]}),
}


class Temporary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drover-selftest-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class MockTest(Temporary):
    def serve(self, **settings):
        self.ledger = self.folder / "ledger"
        server = Server(Mock(ledger=self.ledger, **settings))
        server.__enter__()
        self.addCleanup(server.__exit__)
        return server

    def ask(self, server, dialect, prompt, **more):
        path, body = REQUESTS[dialect]
        request = urllib.request.Request(server.url + path, json.dumps(body(prompt) | more).encode(), {"x-api-key": "k"})
        try:
            with urllib.request.urlopen(request, timeout=BOUND_S) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read().decode()

    def lines(self):
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]

    def test_every_dialect_says_the_step_and_books_it(self):
        server = self.serve()
        for dialect in REQUESTS:
            with self.subTest(dialect):
                status, _, text = self.ask(server, dialect, "go mock:three_requests")
                line = self.lines()[-1]
                self.assertEqual((status, line["dialect"], line["scenario"], line["step"]), (200, dialect, "three_requests", 0))
                self.assertIn("Step one.", text)
                self.assertIn("echo one", text)
                self.assertEqual(line["input_tokens"] + line["cache_write_tokens"], 3100)
                self.assertEqual((line["output_tokens"], line["reasoning_tokens"], line["key"]), (210, 30, "k"))

    def test_tool_results_since_the_prompt_choose_the_step(self):
        server = self.serve()
        said = [{"role": "user", "content": "go mock:three_requests"}, {"role": "assistant", "content": "Step one."},
                {"role": "tool", "content": "one"}, {"role": "assistant", "content": ""}, {"role": "tool", "content": "two"}]
        self.ask(server, "chat", "", messages=said)
        self.ask(server, "chat", "", messages=[*said, {"role": "user", "content": "and now mock:ok"}])
        self.assertEqual([(line["scenario"], line["step"]) for line in self.lines()], [("three_requests", 2), ("ok", 0)])

    def test_errors_have_status_and_retry_after_and_cost_nothing(self):
        server = self.serve(scenario="429")
        for dialect in REQUESTS:
            with self.subTest(dialect):
                status, headers, _ = self.ask(server, dialect, "go")
                self.assertEqual((status, headers["retry-after"]), (429, "2"))
                self.assertEqual((self.lines()[-1]["cost_usd"], self.lines()[-1]["input_tokens"]), (0, 0))

    def test_a_step_with_times_fails_so_often(self):
        server = self.serve(scenario="429_once")
        self.assertEqual([self.ask(server, "anthropic", "go")[0] for _ in range(3)], [429, 200, 200])

    def test_a_stream_that_breaks_off_is_seen_as_broken(self):
        server = self.serve(scenario="disconnect")
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            self.ask(server, "anthropic", "go", stream=True)

    def test_scripts_add_scenarios_and_slips_are_refused(self):
        script = self.folder / "script.json"
        script.write_text(json.dumps({"mine": [{"text": "Mine."}]}))
        self.assertIn("Mine.", self.ask(self.serve(script=script), "chat", "mock:mine")[2])
        script.write_text(json.dumps({"mine": [{"txet": "Mine."}]}))
        with self.assertRaisesRegex(ValueError, "txet"):
            Mock(script=script)

    def test_an_unknown_scenario_is_an_error_that_says_so(self):
        status, _, text = self.ask(self.serve(), "chat", "mock:nonsense")
        self.assertEqual(status, 400)
        self.assertIn("nonsense", text)

    def test_the_program_prints_its_address_and_ends_when_told(self):
        process = subprocess.Popen([sys.executable, HERE / "mock_provider.py"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(ended, process)
        self.assertRegex(process.stdout.readline(), r"^http://127\.0\.0\.1:\d+\n$")
        process.terminate()
        self.assertEqual(process.wait(BOUND_S), 0)


class LeakTest(unittest.TestCase):
    """A prompt that shows is found, wherever the process went; one that does not is not."""

    SCRIPT = """
import running, subprocess, sys
running.adopt_orphans()
parent = subprocess.Popen(["/bin/sh", "-c", 'exec 3<&0; setsid sh -c "echo; read end <&3; : in-its-arguments" &'],
                          env={"PATH": "/usr/bin:/bin", "LEAK": "in-its-environment"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
parent.stdout.readline()
parent.wait()
print([sorted(running.processes_showing(marker)) for marker in (b"in-its-arguments", b"in-its-environment", b"nowhere")])
"""

    def test_the_marker_is_found_in_a_process_that_has_left(self):
        done = subprocess.run([sys.executable, "-c", self.SCRIPT], cwd=HERE, capture_output=True, text=True, timeout=BOUND_S, check=True)
        self.assertEqual(done.stdout, "[['sh'], ['sh'], []]\n")


class TableTest(unittest.TestCase):
    """What is written down of the real CLIs agrees with what they printed."""

    def setUp(self):
        self.expected = trial.expectations()

    def test_every_case_has_one_expectation(self):
        self.assertEqual(set(self.expected), {(cli.name, name) for cli in CLIS.values() for name in trial.cases_of(cli)})

    def test_the_captured_outputs_are_as_expected(self):
        captured = sorted((HERE.parent / "fixtures" / "agents").glob("*.billed"))
        self.assertGreater(len(captured), 100)
        for file in captured:
            name, _, case = file.stem.partition("-")
            (_, event, results, requests, stdout, _), _ = self.expected[name, case.replace("-", "_")]
            with self.subTest(file.stem):
                self.check(CLIS[name], file, (event, results, requests), stdout)

    def check(self, cli, file, ends, stdout):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        found = cli.read(file.with_suffix(".stdout.jsonl").read_text())
        for want, have in zip(ends, (found.ended, str(found.results), str(len(lines)))):
            self.assertRegex(have, f"^({want})$")
        if not (cli.cumulative and "resumed" in file.stem):  # else one would have to know the session's total before
            self.assertRegex(trial.usage_verdict(found.usage, trial.billed(cli, lines)), f"^({stdout})$")


def ended(process):
    with process:  # closes its pipes
        process.kill()


class FakeTest(Temporary):
    def setUp(self):
        super().setUp()
        self.place = Place(self.folder)
        self.place.home.mkdir()
        self.place.work.mkdir()

    def start(self, name, prompt, session="", resumed=False, work=None):
        """Through a link with the CLI's name, as a worker would find it."""
        link = self.folder / name
        if not link.exists():
            link.symlink_to(HERE / "fake_agent.py")
        work = work or self.place.work
        argv = CLIS[name].argv(self.place, work, session, resumed)
        process = subprocess.Popen([link, *argv[1:]], cwd=work, env=os.environ | {"HOME": str(self.place.home)}, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(ended, process)
        return process, prompt

    def run_fake(self, name, prompt, **how):
        process, prompt = self.start(name, prompt, **how)
        stdout, stderr = process.communicate(prompt, BOUND_S)
        return process.returncode, CLIS[name].read(stdout), stderr

    def used(self, tokens, replies):
        given, cached, output, reasoning = (number * replies for number in tokens)
        return {"input_tokens": given, "cached_input_tokens": cached, "cache_write_tokens": 0, "output_tokens": output,
                "reasoning_tokens": reasoning}

    def check_usage(self, name, said, expected):
        for key in set(said) & set(CLIS[name].known_usage) & set(expected):
            self.assertEqual(said[key], expected[key], (name, key))

    def test_its_runs_read_like_the_cli_fresh_and_resumed(self):
        tokens = (100, 200, 30, 5)
        prompt = "Go.\ndo: tokens 100 200 30 5\ndo: run echo hello\ndo: say All done."
        for name, cli in CLIS.items():
            with self.subTest(name):
                own = "11111111-1111-4111-8111-111111111111" if cli.session_of_our_own else ""
                code, first, _ = self.run_fake(name, prompt, session=own)
                self.assertEqual((code, first.ended, first.message, first.results), (0, "success", "All done.", 1))
                self.check_usage(name, first.usage, self.used(tokens, 2))
                code, second, _ = self.run_fake(name, prompt, session=first.session, resumed=True)
                self.assertEqual((code, second.ended, second.session), (0, "success", first.session))
                self.check_usage(name, second.usage, self.used(tokens, 4 if cli.cumulative else 2))
                if file := cli.own_file(self.place, first.session):
                    self.check_usage(name, cli.read_own_file(list(events(file.read_text()))), self.used(tokens, 4))

    def test_its_cost_is_the_mocks(self):
        expected = cost_usd("claude-opus-5-5", Tokens(100, 200, 0, 30, 5))
        _, found, _ = self.run_fake("claude", "do: tokens 100 200 30 5\ndo: say hi", session="s")
        self.assertEqual(found.usage["cost_usd"], expected)

    def test_unknown_sessions_end_as_in_the_cli(self):
        for name, expected in {"claude": 1, "codex": 1, "gemini": 42, "opencode": 1, "letta": 1}.items():
            with self.subTest(name):
                code, found, stderr = self.run_fake(name, "go", session="gone", resumed=True)
                self.assertEqual(code, expected)
                self.assertNotEqual(found.ended, "success")
                self.assertIn("gone" if name != "opencode" else "Session not found", stderr)

    def test_signals_end_it_as_they_end_the_cli(self):
        table = {("claude", "INT"): (0, "error"), ("claude", "TERM"): (143, "none"), ("codex", "INT"): (1, "none"),
                 ("codex", "TERM"): (-15, "none"), ("gemini", "INT"): (0, "none"), ("gemini", "TERM"): (0, "none"),
                 ("opencode", "INT"): (-2, "none"), ("opencode", "TERM"): (-15, "none"), ("letta", "INT"): (-2, "none"), ("letta", "TERM"): (-15, "none")}
        for (name, kind), expected in table.items():
            with self.subTest(f"{name} {kind}"):
                process, prompt = self.start(name, "do: say Started.\ndo: hang")
                process.stdin.write(prompt)
                process.stdin.close()
                stdout = ""
                while "Started." not in stdout:
                    stdout += process.stdout.readline()
                process.send_signal(signal.Signals[f"SIG{kind}"])
                stdout += process.stdout.read()
                self.assertEqual((process.wait(BOUND_S), CLIS[name].read(stdout).ended), expected)

    def test_ends_that_no_exit_code_tells(self):
        cases = {"do: success One.\ndo: exit 1": (1, "success", 1), "do: exit 0": (0, "none", 0),
                 "do: success One.\ndo: success Two.": (0, "success", 2), "do: replay 529": (1, "error", 1),
                 "do: fresh die KILL": (-9, "none", 0), "do: background true": (0, "success", 2)}
        for prompt, expected in cases.items():
            with self.subTest(prompt):
                code, found, _ = self.run_fake("claude", prompt)
                self.assertEqual((code, found.ended, found.results), expected)

    def test_it_says_what_it_was_given(self):
        _, found, _ = self.run_fake("claude", "do: env HOME")
        self.assertEqual(found.message, str(self.place.home))
        _, found, _ = self.run_fake("claude", "a marker\ndo: prompt")
        self.assertIn("a marker", found.message)
        prompt = "a marker\ndo: asked nothing say no\ndo: asked marker digest"
        _, found, _ = self.run_fake("claude", prompt)
        self.assertEqual(found.message, hashlib.sha256(prompt.encode()).hexdigest())

    def test_an_unknown_argument_is_refused(self):
        done = subprocess.run([HERE / "fake_agent.py", "claude", "--nonsense"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=BOUND_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--nonsense", done.stderr)


if __name__ == "__main__":
    unittest.main()

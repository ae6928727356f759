#!/usr/bin/env python3
"""Runs the real agent CLIs through scripted cases, and compares what each does with expected.txt: try.py BIN [--cli NAME] [--case NAME]

BIN is the folder that install.sh prints. One CLI runs at a time, in folders of its own, against a mock provider on loopback. A line
for each run says whether it did as expected, how it ended, how many requests it made, what it was billed, and how long it took.
Exits with 1 if one did not. --capture FOLDER keeps stdout, stderr and exit code of each run as fixtures; --learn prints lines for
expected.txt instead of comparing.
"""

import argparse
import dataclasses
import json
import pathlib
import re
import secrets
import shutil
import signal
import sys
import tempfile
import time

from clis import CLIS, Outcome, Place, events
from mock_provider import Mock, Server
from running import Running, adopt_orphans, processes_showing

HERE = pathlib.Path(__file__).resolve().parent
START_SECONDS_MAX = 900
RUN_SECONDS_MAX = 240
SILENT_SECONDS = 60     # after so long a CLI that is expected to try again in silence counts as one that does
MARKER = secrets.token_hex(5)   # in every prompt, and nowhere else
MISSING = "22222222-2222-4222-8222-222222222222"


@dataclasses.dataclass(frozen=True)
class Case:
    scenario: str
    after: str = ""         # the case whose session it resumes
    session: str = ""       # a session id of its own to use; "fresh" stands for a new one
    resumed: bool = False
    elsewhere: bool = False   # in another folder than the session's
    signal: int = 0         # sent to the process group at `when`
    when: str = ""          # "request": the first request has arrived; "tool": its command runs
    only: tuple = ()        # the CLIs that have it; all if empty
    env: tuple = ()         # (name, value) beside the CLI's own; None takes it away
    prompt_bytes: int = 0   # a prompt of this size, the marker over and over; else a short one


INT, TERM, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL
SUBSCRIPTION = (("ANTHROPIC_API_KEY", None), ("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-mock"))
CASES = {
    "ok": Case("ok"),
    "prompt_10_b": Case("ok", prompt_bytes=10),
    "prompt_200_kb": Case("ok", prompt_bytes=200_000),
    "prompt_1_mib": Case("ok", prompt_bytes=1 << 20),
    "tools": Case("tools"),
    "three_requests": Case("three_requests"),
    "three_requests_resumed": Case("three_requests", after="three_requests", resumed=True),
    "resumed_elsewhere": Case("ok", after="three_requests", resumed=True, elsewhere=True),
    "resume_missing": Case("ok", session=MISSING, resumed=True),
    "session_reused": Case("ok", after="ok", only=("claude", "gemini")),
    "background": Case("background", only=("claude",)),
    "429": Case("429"),
    "429_once": Case("429_once"),
    "429_later": Case("429_later"),
    "limit": Case("limit"),
    "limit_of_subscription": Case("limit", only=("claude",), env=SUBSCRIPTION),
    "limit_in_days": Case("limit_in_days", only=("claude", "codex"), env=SUBSCRIPTION),
    "quota": Case("quota"),
    "529": Case("529"),
    "401": Case("401"),
    "400": Case("400"),
    "too_long": Case("too_long"),
    "500": Case("500"),
    "disconnect": Case("disconnect"),
    "hang_int": Case("hang", signal=INT, when="request"),
    "hang_term": Case("hang", signal=TERM, when="request"),
    "stall_term": Case("stall", signal=TERM, when="request"),
    "tool_int": Case("slow_tool", signal=INT, when="tool"),
    "tool_term": Case("slow_tool", signal=TERM, when="tool"),
    "tool_kill": Case("slow_tool", signal=KILL, when="tool"),
    "killed_resumed": Case("ok", after="tool_kill", resumed=True),
    "interrupted_resumed": Case("ok", after="tool_int", resumed=True),
    "terminated_resumed": Case("ok", after="tool_term", resumed=True),
}


@dataclasses.dataclass
class Ran:
    exit: int
    stdout: str
    stderr: str
    seconds: float
    outcome: Outcome
    billed: list        # the mock's ledger of this run
    used: dict          # what the output says that this run used
    filed: dict         # what the CLI's own file says that this run used
    timed_out: bool
    requested: str      # the session id that was asked for
    leaked: set         # names of processes that had the prompt in their arguments or environment


class Bench:
    """One CLI, its folders, and the mock that it talks to."""

    def __init__(self, cli, binaries, root):
        self.cli, self.binaries, self.place = cli, binaries, Place(root)
        self.ledger = root / "ledger.jsonl"
        self.ledger.touch()
        self.place.home.mkdir()
        self.place.work.mkdir()
        self.ran = {}
        self.said, self.filed = {}, {}      # session -> its total usage so far, by its output and by its file

    def __enter__(self):
        self.server = Server(Mock(ledger=self.ledger))
        self.server.__enter__()
        self.cli.prepare(self.place, self.server.url)
        return self

    def __exit__(self, *_):
        self.server.__exit__()

    def requests(self, start):
        return [json.loads(line) for line in self.ledger.read_text(encoding="utf-8").splitlines()[start:]]

    def work_folder(self, case):
        folder = self.place.work
        if case.elsewhere:
            folder = self.place.root / "elsewhere"
        folder.mkdir(exist_ok=True)
        (folder / "started").unlink(missing_ok=True)
        return folder

    def session(self, name, case):
        if case.after:
            before = self.ran[case.after]
            return before.outcome.session or before.requested
        if case.session:
            return case.session
        number = list(CASES).index(name) + 1
        return f"{number:08}-1111-4111-8111-111111111111" if self.cli.session_of_our_own else ""

    def run(self, name, case, seconds_max):
        work, session, start = self.work_folder(case), self.session(name, case), len(self.requests(0))
        environment = {"PATH": f"{self.binaries}:/usr/bin:/bin", "HOME": str(self.place.home), "TERM": "xterm-256color",
                       "LANG": "C.UTF-8", **self.cli.env(self.place, self.server.url), **dict(case.env)}
        environment = {variable: value for variable, value in environment.items() if value is not None}
        running, leaked = Running(self.cli.argv(self.place, work, session, case.resumed), work, environment, prompt_of(case)), set()
        try:
            timed_out = not self.attend(running, case, work, start, seconds_max, leaked)
            seconds = time.monotonic() - running.begun
        finally:
            running.stop()
        stdout, stderr = running.text("stdout"), running.text("stderr")
        outcome = self.cli.read(stdout)
        used = since(self.said, outcome.session, outcome.usage) if self.cli.cumulative else outcome.usage
        filed = since(self.filed, outcome.session, self.read_own_file(outcome.session))
        self.ran[name] = Ran(running.process.returncode, stdout, stderr, seconds, outcome, self.requests(start), used, filed, timed_out,
                             session, leaked)
        return self.ran[name]

    def read_own_file(self, session):
        file = session and self.cli.own_file(self.place, session)
        return self.cli.read_own_file(list(events(file.read_text(encoding="utf-8")))) if file else {}

    def attend(self, running, case, work, start, seconds_max, leaked):
        """Sends the case's signal at its time, and looks for the prompt. False if the process was still there in the end.

        The time runs from the first request: how long a CLI takes to start says more about the machine."""
        pending, until, has_begun = case.signal, running.begun + START_SECONDS_MAX, False
        while time.monotonic() < until:
            leaked |= processes_showing(MARKER.encode())
            requested = self.requests(start)
            if requested and not has_begun:
                until, has_begun = time.monotonic() + seconds_max, True
            due = requested if case.when == "request" else (work / "started").exists()
            if pending and due and running.quiet_s() > 0.3:
                running.signal(pending)
                pending = 0
            if running.ended_within(0.2):
                return True
        return False


def prompt_of(case):
    """One without a `mock:` word is answered with the scenario "ok"."""
    if case.prompt_bytes:
        return (f"{MARKER}\n" * (case.prompt_bytes // len(MARKER) + 1))[:case.prompt_bytes]
    return f"{MARKER} Please do it. mock:{case.scenario}\n"


def since(totals, session, total):
    """What came to a session's total since it was last looked at."""
    if not total:
        return {}
    before, totals[session] = totals.get(session, {}), total
    return {key: value - before.get(key, 0) for key, value in total.items()}


def billed(cli, lines):
    total = {key: 0 for key in cli.known_usage}
    for line in lines:
        total = {key: round(total[key] + line[key], 9) for key in total}
    return total


def usage_verdict(said, truth):
    """exact, none (nothing was said), or wrong: compared with the ledger. Only what is said of the cost is compared."""
    if not said:
        return "none"
    exact = all(round(said.get(key, 0), 9) == value for key, value in truth.items() if key != "cost_usd" or key in said)
    return "exact" if exact else "wrong"


def ended(ran):
    if ran.timed_out:
        return "timeout"
    return str(ran.exit) if ran.exit >= 0 else f"signal:{-ran.exit}"


def observed(bench, name):
    """The columns of expected.txt between the case and the pattern."""
    ran, truth = bench.ran[name], billed(bench.cli, bench.ran[name].billed)
    return [ended(ran), ran.outcome.ended, str(ran.outcome.results), str(len(ran.billed)), usage_verdict(ran.used, truth),
            usage_verdict(ran.filed, truth)]


def expectations():
    """(cli, case) -> (columns, pattern)"""
    table = {}
    for line in (HERE / "expected.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            cli, case, *columns, pattern = line.split(None, 8)
            table[cli, case] = columns, pattern
    return table


def differences(expected, found, ran):
    names = ("exit", "final event", "final events", "requests", "usage", "usage by its file")
    columns, pattern = expected
    wrong = [f"{name} {have}, expected {want}" for name, want, have in zip(names, columns, found) if not re.fullmatch(want, have)]
    if ran.leaked:
        wrong.append(f"the prompt was in the arguments or the environment of {sorted(ran.leaked)}")
    if not re.search(pattern, ran.outcome.message + "\n" + ran.stderr):
        wrong.append(f"no /{pattern}/ in its message or stderr: {(ran.outcome.message or ran.stderr)[-300:]!r}")
    return wrong


def scrubbed(text, bench):
    text = text.replace(str(bench.place.root), "/home/user").replace(str(pathlib.Path(bench.binaries).parent.parent), "/opt/agents")
    text = text.replace(str(bench.place.root).replace("/", "-"), "-home-user")
    text = re.sub(r"/tmp/cc-socks/\d+", "/tmp/cc-socks/1", text)
    text = re.sub(r"/tmp/gemini-client-error[\w.:-]*", "/tmp/gemini-client-error.json", text)
    return text.replace(bench.server.url, "http://127.0.0.1:8080")


def capture(folder, bench, name, ran):
    stem = folder / f"{bench.cli.name}-{name.replace('_', '-')}"
    code = ran.exit if ran.exit >= 0 else 128 - ran.exit
    stem.with_name(stem.name + ".stdout.jsonl").write_text(scrubbed(ran.stdout, bench), encoding="utf-8")
    stem.with_name(stem.name + ".stderr").write_text(scrubbed(ran.stderr, bench), encoding="utf-8")
    stem.with_name(stem.name + ".exit").write_text(f"EXIT={code}\n", encoding="utf-8")
    stem.with_name(stem.name + ".billed").write_text("".join(json.dumps(line) + "\n" for line in ran.billed), encoding="utf-8")


def cases_of(cli):
    return [name for name, case in CASES.items() if not case.only or cli.name in case.only]


def wanted(cli, only_cases):
    """The cases of a CLI, with those that they build on."""
    names = cases_of(cli)
    if only_cases:
        needed = set(only_cases) | {CASES[name].after for name in only_cases if name in names}
        names = [name for name in names if name in needed]
    return names


def try_cli(cli, given, expected):
    root = pathlib.Path(tempfile.mkdtemp(prefix=f"drover-{cli.name}-"))
    failed = 0
    try:
        with Bench(cli, given.binaries, root) as bench:
            for name in wanted(cli, given.case):
                case = CASES[name]
                silent = not given.learn and expected[cli.name, name][0][0] == "timeout"
                ran = bench.run(name, case, SILENT_SECONDS if silent else RUN_SECONDS_MAX)
                found = observed(bench, name)
                if given.capture and not case.prompt_bytes:
                    capture(given.capture, bench, name, ran)
                if given.learn:
                    print(f"{cli.name:9} {name:22} {found[0]:9} {found[1]:8} {found[2]:2} {found[3]:3} {found[4]:6} {found[5]:6} "
                          f"{(ran.outcome.message or ran.stderr.strip()[-150:])[:150]!r}   # {ran.seconds:.1f} s {ran.leaked or ''}", flush=True)
                    continue
                wrong = differences(expected[cli.name, name], found, ran)
                failed += bool(wrong)
                print(f"{'FAIL' if wrong else 'ok  '}  {cli.name:9} {name:22} {' '.join(found):32} {ran.seconds:5.1f} s", flush=True)
                for one in wrong:
                    print(f"        {one}", flush=True)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("binaries", help="the folder of the CLIs' programs")
    parser.add_argument("--cli", action="append", choices=CLIS, help="default: all")
    parser.add_argument("--case", action="append", choices=CASES, help="default: all")
    parser.add_argument("--capture", type=pathlib.Path, help="a folder for what the CLIs print")
    parser.add_argument("--learn", action="store_true")
    given = parser.parse_args()
    expected = {} if given.learn else expectations()
    signal.signal(TERM, lambda *_: sys.exit(1))  # so that the run under way is ended, too
    adopt_orphans()
    failed = sum(try_cli(CLIS[name], given, expected) for name in given.cli or CLIS)
    print(f"{failed} runs were not as expected" if failed else "every run was as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

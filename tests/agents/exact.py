#!/usr/bin/env python3
"""Whether Drover bills what the provider billed: exact.py DROVER BIN [--cli NAME]

DROVER is the program to try, BIN the folder that install.sh prints. Each CLI gets one task of two runs: a fresh one, whose check fails,
and one that resumes its session. Each makes three requests. What Drover says of each run, of the task and in its ledger has to be what
the mock provider has in its own ledger, to the token and to the micro-dollar. Exits with 1 if it is not.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from clis import CLIS, Place
from mock_provider import Mock, Server
from scenarios import PRICES

REQUESTS = 3
RUN_SECONDS_MAX = 1800
TOKENS = ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
MODELS = {"opencode": "mock/mock-model"}    # as the CLI is told; else that of clis.py
# Drover adds up for those that say no cost.
PRICED = {"codex": "gpt-5", "gemini": "gemini-2.5-pro"}


def profile(cli, place, url, ledger):
    """drover.yaml: the check fails once, and notes what had been billed by then."""
    first = place.root / "billed_first"
    check = f"test -e {first} || {{ cp {ledger} {first}; exit 1; }}"
    document = {"local": {"runners": {"fix": {"preset": cli.name, "env": list(cli.env(place, url)),
                                              "verify": {"argv": ["/bin/sh", "-c", check]}}}}}
    if cli.name in PRICED:
        given, cached, written, output = PRICES[PRICED[cli.name]]
        document["prices"] = {PRICED[cli.name]: {"input": given, "cached": cached, "cache_write": written, "output": output}}
    return document


def total(lines):
    """Of a provider's ledger. Costs are rounded as Drover keeps them: once for each run."""
    found = {name: sum(line[name] for line in lines) for name in TOKENS}
    return found | {"turns": len(lines), "cost_usd": round(sum(line["cost_usd"] for line in lines), 6), "unpriced_tokens": 0}


def added(first, second):
    return {name: round(first[name] + second[name], 6) for name in first}


class Trial:
    def __init__(self, cli, given, root):
        self.cli, self.drover, self.place, self.ledger = cli, str(given.drover.resolve()), Place(root), root / "ledger.jsonl"
        self.place.home.mkdir()
        self.place.work.mkdir()
        self.ledger.touch()
        self.environment = {"PATH": f"{given.binaries}:{os.environ['PATH']}", "HOME": str(self.place.home), "TERM": "xterm-256color",
                            "LANG": "C.UTF-8", "DROVER_STORE": f"sqlite:{root / 'drover.db'}", "XDG_STATE_HOME": str(root / "state")}
        self.wrong = []

    def call(self, *arguments):
        done = subprocess.run([self.drover, *arguments], cwd=self.place.work, env=self.environment, capture_output=True, text=True,
                              timeout=RUN_SECONDS_MAX, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"drover {' '.join(arguments)} exited with {done.returncode}: {done.stderr}")
        return done.stdout

    def expect(self, what, said, truth):
        for name, value in truth.items():
            if said.get(name) != value:
                self.wrong.append(f"{what}: {name} is {said.get(name)}, the provider billed {value}")

    def billed(self, file):
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    def run(self):
        with Server(Mock(ledger=self.ledger)) as server:
            self.cli.prepare(self.place, server.url)
            self.environment |= self.cli.env(self.place, server.url)
            document = profile(self.cli, self.place, server.url, self.ledger)
            (self.place.work / "drover.yaml").write_text(json.dumps(document), encoding="utf-8")
            self.call("trust")
            self.call("config", "apply", "drover.yaml")
            task = self.call("enqueue", "fix", "--prompt", "Please do it. mock:three_requests", "--retry", "fixed:1ms", "--model",
                             MODELS.get(self.cli.name, self.cli.model), "--timeout", f"{RUN_SECONDS_MAX}s",
                             "--idle-timeout", f"{RUN_SECONDS_MAX}s").strip()
            self.call("work", "--type", "fix", "--until-empty", "--log-level", "warn")
        self.compare(task)
        return self.wrong

    def compare(self, task):
        shown = json.loads(self.call("show", task, "--json"))
        runs = json.loads(self.call("show", task, "--runs", "--json"))
        runs = sorted(runs["runs"] if isinstance(runs, dict) else runs, key=lambda run: run["run"])
        if shown["state"] != "completed" or len(runs) != 2 or not shown["agent"]["resumed"]:
            self.wrong.append(f"{shown['state']} after {len(runs)} runs, resumed {shown['agent']['resumed']}: {shown['error']}")
            return
        lines = self.billed(self.ledger)
        first = len(self.billed(self.place.root / "billed_first"))
        fresh, resumed = total(lines[:first]), total(lines[first:])
        for name, truth in (("fresh", fresh), ("resumed", resumed)):
            if truth["turns"] != REQUESTS:
                self.wrong.append(f"the {name} run made {truth['turns']} requests, not {REQUESTS}")
        self.expect("the fresh run", runs[0]["usage"], fresh)
        self.expect("the resumed run", runs[1]["usage"], resumed)
        self.expect("the task", shown["usage"], added(fresh, resumed))
        rows = json.loads(self.call("usage", "--by", "runner", "--json"))["rows"]
        self.expect("the ledger", rows[0], {"runner": self.cli.name, "runs": 2} | added(fresh, resumed))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("drover", type=pathlib.Path)
    parser.add_argument("binaries", help="the folder of the CLIs' programs")
    names = [name for name in CLIS if name != "letta"]  # its reasoning is not told
    parser.add_argument("--cli", action="append", choices=names, help="default: all")
    given = parser.parse_args()
    failed = 0
    for name in given.cli or names:
        root, begun = pathlib.Path(tempfile.mkdtemp(prefix=f"drover-exact-{name}-")), time.monotonic()
        try:
            wrong = Trial(CLIS[name], given, root).run()
        finally:
            shutil.rmtree(root, ignore_errors=True)
        failed += bool(wrong)
        print(f"{'FAIL' if wrong else 'ok  '}  {name:9} billed as by its provider, fresh and resumed {time.monotonic() - begun:5.1f} s", flush=True)
        for one in wrong:
            print(f"        {one}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

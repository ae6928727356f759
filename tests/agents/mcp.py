#!/usr/bin/env python3
"""Whether agents use the queue over MCP: mcp.py DROVER BIN [--cli NAME] [--keep FOLDER]

DROVER is the program to try, BIN the folder that install.sh prints. Each CLI is set up with the lines of docs/guide/mcp.md, against a server, and
its mocked model asks once for the tool enqueue_task and waits for the task. The task has to be there, to be the token's owner's, and to have
completed; the agent has to have gone on with its result. Exits with 1 if not.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from clis import CLIS, Place
from mock_provider import Mock, Server
from running import Running, adopt_orphans

RUN_SECONDS_MAX = 240
NAMES = ("claude", "codex", "gemini", "opencode")


class Trial:
    def __init__(self, cli, given, root):
        self.cli, self.drover, self.place = cli, str(given.drover.resolve()), Place(root)
        self.place.home.mkdir()
        self.place.work.mkdir()
        (root / "bin").mkdir()
        (root / "bin/drover").symlink_to(self.drover)
        self.store = f"sqlite:{root / 'drover.db'}"
        self.environment = {"PATH": f"{root / 'bin'}:{given.binaries}:{os.environ['PATH']}", "HOME": str(self.place.home),
                            "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self.processes = []

    def call(self, *arguments):
        done = subprocess.run([self.drover, "--store", self.store, *arguments], cwd=self.place.root, env=self.environment,
                              capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"drover {' '.join(arguments)} exited with {done.returncode}: {done.stderr}")
        return done.stdout

    def start(self, *arguments, **more):
        process = subprocess.Popen([self.drover, "--store", self.store, *arguments], cwd=self.place.root, env=self.environment, **more)
        self.processes.append(process)
        return process

    def serve(self):
        server = self.start("serve", "--listen", "127.0.0.1:0", stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for line in server.stderr:
            if found := re.search(r"serving on (http://127\.0\.0\.1:\d+)", line):
                return found.group(1)
        raise RuntimeError("the server ended before it said where it is")

    def set_up(self, url):
        """As docs/guide/mcp.md says."""
        command = ["mcp", "--store", url]
        home = self.place.home
        if self.cli.name == "claude":
            token = self.environment["DROVER_TOKEN"]
            subprocess.run(["claude", "mcp", "add", "drover", "--env", f"DROVER_TOKEN={token}", "--", "drover", *command],
                           cwd=self.place.work, env=self.environment, check=True, capture_output=True, timeout=60)
        elif self.cli.name == "codex":
            with open(home / ".codex/config.toml", "a", encoding="utf-8") as file:
                file.write(f'[mcp_servers.drover]\ncommand = "drover"\nargs = {json.dumps(command)}\nenv_vars = ["DROVER_TOKEN"]\n'
                           "tool_timeout_sec = 60\n")
        elif self.cli.name == "gemini":
            self.merge(home / ".gemini/settings.json", {"mcpServers": {"drover": {
                "command": "drover", "args": command, "env": {"DROVER_TOKEN": "$DROVER_TOKEN"}, "timeout": 60000}}})
        else:
            self.merge(home / "opencode.json", {"mcp": {"drover": {
                "type": "local", "command": ["drover", *command], "environment": {"DROVER_TOKEN": "{env:DROVER_TOKEN}"}}}})

    def merge(self, file, members):
        file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | members), encoding="utf-8")

    def run(self):
        try:
            url = self.serve()
            self.environment["DROVER_TOKEN"] = self.call("token", "create", "--role", "producer", "--owner", "agents").strip()
            self.start("work", "--type", "greet", "--log-level", "off", "--", "/bin/sh", "-c", "cat >/dev/null; echo '\"Hello, Ada\"'")
            with Server(Mock(ledger=self.place.root / "ledger.jsonl", requests=self.requests())) as model:
                self.cli.prepare(self.place, model.url)
                self.environment |= self.cli.env(self.place, model.url)
                self.set_up(url)
                return self.judge(self.ask())
        finally:
            for process in self.processes:
                process.kill()
                process.wait()

    def requests(self):
        folder = self.place.root / "requests"
        folder.mkdir()
        return folder

    def ask(self):
        argv = self.cli.argv(self.place, self.place.work, "", False)
        running = Running(argv, self.place.work, self.environment, "Please do it. mock:mcp")
        ended = running.ended_within(RUN_SECONDS_MAX)
        running.stop()
        (self.place.root / "stdout").write_text(running.text("stdout"), encoding="utf-8")
        (self.place.root / "stderr").write_text(running.text("stderr"), encoding="utf-8")
        return self.cli.read(running.text("stdout")) if ended else None

    def judge(self, outcome):
        wrong = []
        if outcome is None:
            wrong.append(f"it did not end within {RUN_SECONDS_MAX} s")
        elif outcome.ended != "success":
            wrong.append(f"it ended with {outcome.ended}: {outcome.message}")
        tasks = json.loads(self.call("list", "--tag", "from-agent", "--json"))
        found = [(task["type"], task["owner"], task["state"]) for task in tasks]
        if found != [("greet", "agents", "completed")]:
            wrong.append(f"the queue has {found}")
        told = any("Hello, Ada" in file.read_text(encoding="utf-8") for file in (self.place.root / "requests").iterdir())
        if not told:
            wrong.append("its model never saw the result")
        return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("drover", type=pathlib.Path)
    parser.add_argument("binaries", help="the folder of the CLIs' programs")
    parser.add_argument("--cli", action="append", choices=NAMES, help="default: all")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for what the trials left behind")
    given = parser.parse_args()
    adopt_orphans()
    failed = 0
    for name in given.cli or NAMES:
        root, begun = pathlib.Path(tempfile.mkdtemp(prefix=f"drover-mcp-{name}-")), time.monotonic()
        try:
            wrong = Trial(CLIS[name], given, root).run()
        finally:
            if given.keep:
                shutil.copytree(root, given.keep / name, symlinks=True, ignore=shutil.ignore_patterns("*.sock", "home"))
            shutil.rmtree(root, ignore_errors=True)
        failed += bool(wrong)
        print(f"{'FAIL' if wrong else 'ok  '}  {name:9} enqueues over MCP and waits {time.monotonic() - begun:5.1f} s", flush=True)
        for one in wrong:
            print(f"        {one}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

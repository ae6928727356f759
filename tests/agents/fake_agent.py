#!/usr/bin/env python3
"""An agent that does as it is told, for tests that need no download: fake_agent.py PRESET ARGS..., or a link to it named claude,
codex, gemini, opencode or letta.

It takes the arguments of that CLI (an unknown one is an error), reads its prompt from stdin until it is closed, keeps sessions
in $HOME, and prints what the CLI prints. Lines `do: VERB ARGS` of the prompt, or of the file FAKE_AGENT_SCRIPT, say what happens:

    say TEXT                a reply of the model            print TEXT, stderr TEXT   a raw line
    run COMMAND             a reply that calls the shell    write PATH TEXT           a file, silently
    env [NAME], argv, prompt, digest   say what it was given; digest: the prompt's SHA-256
    tokens IN CACHED OUT [REASONING]   of the replies from here on
    sleep SECONDS, hang     nothing, for so long            ignore SIGNAL...          INT and TERM, say
    spawn COMMAND           a child in a session of its own that keeps stdout open and is not waited for
    background COMMAND      claude: a command whose end is announced, and followed by a second result
    throttled               claude: a remark that a request is tried again after a 429
    success [TEXT]          the final event; without one it comes by itself at the end
    write-down TEXT         claude, codex: the final event, in the agent's own file alone
    replay NAME             tests/fixtures/agents/PRESET-NAME, with this session's id, and its exit code
    exit CODE, die SIGNAL   now

A verb may have conditions before it: `fresh`, `resumed`, `in-run N` (DROVER_RUN), `in-attempt N`, `asked WORD` (the prompt has
it): `do: fresh die KILL`, `do: resumed say Back.` A prompt without such lines is answered with "Done." Signals act as on the real CLI; see NOTES.md.
"""

import hashlib
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time
import uuid

from fake_voices import VOICES

HERE = pathlib.Path(os.path.realpath(__file__)).parent
FIXTURES = HERE.parent / "fixtures" / "agents"


class Session:
    """What outlives a run: the folder it began in, and its totals."""

    def __init__(self, preset, identity):
        self.file = pathlib.Path(os.environ["HOME"]) / ".fake_agent" / preset / f"{identity}.json"
        self.identity = identity
        self.known = self.file.exists()
        self.kept = json.loads(self.file.read_text()) if self.known else {"cwd": os.getcwd(), "replies": 0, "tokens": [0, 0, 0, 0]}

    def save(self):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.file.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(self.kept))
        fresh.replace(self.file)


def end(code):
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def die(name):
    number = signal.Signals[f"SIG{name}"]
    sys.stdout.flush()
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    signal.pause()


class Agent:
    """One run: carries out the script with the voice of a CLI."""

    def __init__(self, voice, session, prompt, argv):
        self.voice, self.session, self.prompt, self.argv = voice, session, prompt, argv
        self.finished = False

    def verb_say(self, text):
        self.voice.reply(text)

    def verb_run(self, command):
        call = self.voice.call(command)
        done = subprocess.run(["/bin/sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.voice.called(call, command, done.stdout, done.returncode)

    def verb_write(self, rest):
        path, _, text = rest.partition(" ")
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(path).write_text(text + "\n")

    def verb_env(self, name):
        self.voice.reply(os.environ.get(name, "unset") if name else json.dumps(dict(os.environ), sort_keys=True))

    def verb_argv(self, _):
        self.voice.reply(shlex.join(self.argv))

    def verb_prompt(self, _):
        self.voice.reply(self.prompt)

    def verb_digest(self, _):
        self.voice.reply(hashlib.sha256(self.prompt.encode()).hexdigest())

    def verb_print(self, text):
        print(text, flush=True)

    def verb_stderr(self, text):
        print(text, file=sys.stderr, flush=True)

    def verb_tokens(self, rest):
        self.voice.tokens = ([int(number) for number in rest.split()] + [0])[:4]

    def verb_sleep(self, seconds):
        time.sleep(float(seconds))

    def verb_hang(self, _):
        while True:
            signal.pause()

    def verb_ignore(self, names):
        for name in names.split():
            signal.signal(signal.Signals[f"SIG{name}"], signal.SIG_IGN)

    def verb_spawn(self, command):
        subprocess.Popen(["/bin/sh", "-c", command], start_new_session=True)

    def verb_background(self, command):
        self.voice.background(lambda: subprocess.run(["/bin/sh", "-c", command], check=False))

    def verb_throttled(self, _):
        self.voice.throttled()

    def verb_write_down(self, text):
        self.voice.write_down(text)

    def verb_success(self, text):
        self.finished = True
        self.voice.success(text or self.voice.last)

    def verb_replay(self, name):
        stem = next((one for one in (f"{self.voice.preset}-{name}", name) if (FIXTURES / f"{one}.exit").exists()), None)
        if stem is None:
            raise SystemExit(f"fake agent: no fixture {self.voice.preset}-{name} in {FIXTURES}")
        out, err = (FIXTURES / f"{stem}{kind}" for kind in (".stdout.jsonl", ".stderr"))
        text = out.read_text()
        if found := re.search(self.voice.session_pattern, text):
            text = text.replace(found.group(1), self.session.identity)
        sys.stdout.write(text)
        sys.stderr.write(err.read_text())
        end(int((FIXTURES / f"{stem}.exit").read_text().strip().removeprefix("EXIT=")))

    def verb_exit(self, code):
        end(int(code))

    def verb_die(self, name):
        die(name)

    def holds(self, words, resumed):
        """Takes the conditions from the front of words; False if one does not hold."""
        holds = True
        while words and words[0] in ("fresh", "resumed", "in-run", "in-attempt", "asked"):
            word = words.pop(0)
            if word in ("fresh", "resumed"):
                holds = holds and (word == "resumed") == resumed
            elif word == "asked":
                holds = words.pop(0) in self.prompt and holds
            else:
                holds = holds and os.environ.get(f"DROVER_{word[3:].upper()}") == words.pop(0)
        return holds

    def carry_out(self, lines, resumed):
        for line in lines:
            words = line.split(" ")
            if not self.holds(words, resumed):
                continue
            verb = getattr(self, f"verb_{words[0].replace('-', '_')}", None)
            if verb is None:
                raise SystemExit(f"fake agent: no verb {words[0]!r}")
            verb(" ".join(words[1:]))


def script_of(prompt):
    given = os.environ.get("FAKE_AGENT_SCRIPT")
    text = pathlib.Path(given).read_text() if given else prompt
    lines = [line.removeprefix("do: ") for line in text.splitlines() if line.startswith("do: ")]
    return lines or ["say Done."]


def on_signals(voice):
    """What the real CLI does with INT and TERM, as the voice knows it."""
    def act(number, _):
        action = voice.signals[signal.Signals(number).name[3:]]
        if action == "die":
            die(signal.Signals(number).name[3:])
        if action == "bill":
            voice.interrupted()
        end(0 if action == "bill" else action)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, act)


def main():
    called = pathlib.Path(sys.argv[0]).name
    preset, argv = (called, sys.argv[1:]) if called in VOICES else (sys.argv[1], sys.argv[2:])
    voice = VOICES[preset]()
    if argv == ["--version"]:
        print(voice.version)
        return 0
    asked = voice.parse(argv)
    os.chdir(asked.folder or os.getcwd())
    prompt = sys.stdin.read()
    session = Session(preset, asked.session or voice.new_session(str(uuid.uuid4())))
    refusal = voice.refuses(asked, session)
    if refusal is not None:
        return refusal
    voice.begin(session, asked)
    session.save()
    on_signals(voice)
    agent = Agent(voice, session, prompt, argv)
    voice.start(prompt)
    agent.carry_out(script_of(prompt), asked.resumed)
    if not agent.finished:
        agent.verb_success("")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the fake agent prints: one voice for each CLI, in the shapes of the CLI's own output (tests/fixtures/agents has real ones)."""

import dataclasses
import json
import os
import pathlib
import signal
import sys
import time

from scenarios import Tokens, cost_usd


@dataclasses.dataclass
class Asked:
    """What the arguments say."""
    session: str = ""
    resumed: bool = False
    folder: str = ""
    model: str = ""
    partial: bool = False


def emit(**event):
    print(json.dumps(event, separators=(",", ":"), ensure_ascii=False), flush=True)


def complain(text, code):
    print(text, file=sys.stderr, flush=True)
    return code


def stamp():
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())


class Voice:
    preset = version = model = session_pattern = ""
    signals = {}                # INT, TERM: an exit code, "die", or "bill": a last event with the usage, then exit 0
    words = ()                  # arguments that stand alone
    flags = frozenset()         # options without a value
    options = {}                # option with a value -> the field of Asked that it fills, or ""

    def __init__(self):
        self.tokens = [1000, 5000, 50, 10]      # input, cached, output, of it reasoning: of each reply
        self.used = [0, 0, 0, 0]                # in this run
        self.last = ""
        self.session = self.asked = None

    # --- arguments and sessions

    def parse(self, argv):
        asked, rest = Asked(), list(argv)
        while rest:
            word = rest.pop(0)
            if word in self.options and rest:
                self.set_option(asked, word, rest.pop(0))
            elif word in self.flags:
                asked.partial |= word == "--include-partial-messages"
            elif word not in self.words:
                raise SystemExit(complain(f"error: unknown option '{word}'", 1))
        return asked

    def set_option(self, asked, option, value):
        field = self.options[option]
        asked.resumed |= field == "resume"
        if field:
            setattr(asked, "session" if field == "resume" else field, value)

    def new_session(self, random):
        return random

    def refuses(self, asked, session):
        """The exit code of a run that the CLI does not even begin, or None."""
        if asked.resumed and not session.known:
            return self.unknown_session(session)
        return None

    def unknown_session(self, session):
        raise NotImplementedError

    # --- a run

    def begin(self, session, asked):
        self.session, self.asked = session, asked
        self.model = asked.model or self.model

    def count_reply(self):
        """Books one reply of the model, in this run and in the session, and returns its number."""
        kept = self.session.kept
        self.used = [one + more for one, more in zip(self.used, self.tokens)]
        kept["tokens"] = [one + more for one, more in zip(kept["tokens"], self.tokens)]
        kept["replies"] += 1
        self.session.save()
        return kept["replies"]

    def own_line(self, path, line):
        """A line of the file in which the CLI itself keeps the session."""
        file = pathlib.Path(os.environ["HOME"]) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as out:
            out.write(json.dumps(line) + "\n")

    def start(self, prompt):
        """The events before the model's first reply."""

    def reply(self, text):
        raise NotImplementedError

    def call(self, command):
        """A reply that calls the shell; returns the call's id."""
        raise NotImplementedError

    def called(self, call, command, output, code):
        """The result of a call."""

    def success(self, text):
        raise NotImplementedError

    def write_down(self, text):
        """The last word of a run, in the CLI's own file alone."""
        raise SystemExit(f"fake agent: {self.preset} has no such file")

    def interrupted(self):
        """The last words of a run whose signals say "bill"."""

    def throttled(self):
        raise SystemExit(f"fake agent: {self.preset} has no such remark")

    def background(self, command):
        raise SystemExit(f"fake agent: {self.preset} has no background commands")


class Claude(Voice):
    preset, version, model = "claude", "2.1.326 (Claude Code)", "claude-opus-5-5"
    session_pattern = r'"session_id":"([^"]+)"'
    signals = {"INT": "bill", "TERM": 143}
    flags = frozenset(("-p", "--verbose", "--include-partial-messages", "--strict-mcp-config"))
    options = {"--session-id": "session", "--resume": "resume", "--model": "model"} | dict.fromkeys(
        ("--output-format", "--permission-mode", "--append-system-prompt-file", "--max-turns", "--mcp-config", "--settings",
         "--system-prompt-snapshot"), "")

    def refuses(self, asked, session):
        if session.known and not asked.resumed:
            return complain(f"Error: Session ID {session.identity} is already in use.", 1)
        return super().refuses(asked, session)

    def unknown_session(self, session):
        problem = f"No conversation found with session ID: {session.identity}"
        emit(type="result", subtype="error_during_execution", is_error=True, num_turns=0, session_id=session.identity,
             total_cost_usd=0, usage={}, modelUsage={}, permission_denials=[], errors=[problem], model_usage_since_last_result={})
        return complain(problem, 1)

    def say(self, **event):
        emit(**event, session_id=self.session.identity)

    def start(self, prompt):
        self.turns, self.billed = 0, [0, 0, 0, 0]
        self.say(type="system", subtype="init", cwd=os.getcwd(), tools=["Bash", "Edit", "Read", "Write"], mcp_servers=[],
                 model=self.model, permissionMode="bypassPermissions", apiKeySource="ANTHROPIC_API_KEY", claude_code_version="2.1.326")

    def write_down(self, text):
        self.say = lambda **event: None
        self.message({"type": "text", "text": text}, "end_turn")

    def message(self, block, stop):
        given, cached, output, reasoning = self.tokens
        number = self.count_reply()
        usage = {"input_tokens": given, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": cached}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": self.model, "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": usage}
        final = {"output_tokens": output, "output_tokens_details": {"thinking_tokens": reasoning}}
        self.turns += 1
        if self.asked.partial:
            self.say(type="stream_event", event={"type": "message_start", "message": message}, parent_tool_use_id=None,
                     api_message_id=message["id"])
        self.say(type="assistant", message=message | {"content": [block]}, parent_tool_use_id=None)
        if self.asked.partial:
            self.say(type="stream_event", event={"type": "message_delta", "delta": {"stop_reason": stop}, "usage": final},
                     parent_tool_use_id=None, api_message_id=message["id"])
        folder = os.getcwd().replace("/", "-")
        self.own_line(f".claude/projects/{folder}/{self.session.identity}.jsonl", {
            "type": "assistant", "sessionId": self.session.identity, "message": message | {"content": [block], "stop_reason": stop, "usage": usage | final}})
        return number

    def reply(self, text):
        self.last = text
        self.message({"type": "text", "text": text}, "end_turn")

    def call(self, command):
        call = f"toolu_{self.session.kept['replies'] + 1}"
        self.message({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}, "tool_use")
        return call

    def called(self, call, command, output, code):
        self.say(type="user", message={"role": "user", "content": [
            {"tool_use_id": call, "type": "tool_result", "content": output.rstrip("\n"), "is_error": code != 0}]})

    def model_usage(self, tokens):
        given, cached, output, reasoning = tokens
        return {self.model: {"inputTokens": given, "outputTokens": output, "cacheReadInputTokens": cached,
                             "cacheCreationInputTokens": 0, "thinkingTokens": reasoning, "costUSD": self.cost(tokens)}}

    def cost(self, tokens):
        given, cached, output, reasoning = tokens
        return cost_usd(self.model, Tokens(given, cached, 0, output, reasoning)) or 0

    def result(self, text, **more):
        """usage is of this result, total_cost_usd and modelUsage of the whole session."""
        since = [now - before for now, before in zip(self.used, self.billed)]
        self.billed = list(self.used)
        total = self.session.kept["tokens"]
        self.say(type="result", **{"subtype": "success", "is_error": False, "result": text, **more}, num_turns=self.turns,
                 total_cost_usd=self.cost(total), usage={
                     "input_tokens": since[0], "cache_creation_input_tokens": 0, "cache_read_input_tokens": since[1],
                     "output_tokens": since[2], "output_tokens_details": {"thinking_tokens": since[3]}},
                 modelUsage=self.model_usage(total), permission_denials=[], api_error_status=None, terminal_reason="completed",
                 model_usage_since_last_result=self.model_usage(since))

    def success(self, text):
        self.result(text)

    def interrupted(self):
        self.result("", subtype="error_during_execution", is_error=True, errors=["[Request interrupted by user]"])

    def throttled(self):
        self.say(type="system", subtype="api_retry", attempt=1, max_retries=2, retry_delay_ms=1000, error_status=429,
                 error="rate_limit")

    def background(self, command):
        self.say(type="system", subtype="background_tasks_changed", tasks=[{"task_id": "b1", "task_type": "local_bash"}])
        self.reply("It runs in the background.")
        self.success(self.last)
        command()
        self.say(type="system", subtype="task_notification", task_id="b1", status="completed", summary="completed (exit code 0)")
        self.say(type="system", subtype="background_tasks_changed", tasks=[])
        self.reply("It is done.")


class Codex(Voice):
    preset, version, model = "codex", "codex-cli 0.169.0", "gpt-5"
    session_pattern = r'"thread_id":"([^"]+)"'
    signals = {"INT": 1, "TERM": "die"}
    words = ("exec", "-")
    flags = frozenset(("--json", "--skip-git-repo-check"))
    options = {"-C": "folder", "-m": "model", "-s": "", "-c": "", "resume": "resume"}
    item = 0

    def unknown_session(self, session):
        return complain("Error: thread/resume: thread/resume failed: no rollout found for thread id "
                        f"{session.identity} (code -32600)", 1)

    def start(self, prompt):
        emit(type="thread.started", thread_id=self.session.identity)
        emit(type="turn.started")

    def usage(self, tokens):
        given, cached, output, reasoning = tokens
        return {"input_tokens": given + cached, "cached_input_tokens": cached, "cache_write_input_tokens": 0,
                "output_tokens": output, "reasoning_output_tokens": reasoning}

    def write_down(self, text):
        self.book()
        self.own_line(self.rollout(), {"timestamp": stamp(), "type": "event_msg", "payload": {
            "type": "task_complete", "last_agent_message": text}})

    def rollout(self):
        return f".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{self.session.identity}.jsonl"

    def book(self):
        number = self.count_reply()
        path = self.rollout()
        total = self.usage(self.session.kept["tokens"])
        self.own_line(path, {"timestamp": stamp(), "type": "token_usage_record", "payload": {
            "thread_id": self.session.identity, "response_id": f"resp_{number}", "usage": self.usage(self.tokens),
            "thread_token_usage": total}})
        self.own_line(path, {"timestamp": stamp(), "type": "event_msg", "payload": {"type": "token_count", "info": {
            "total_token_usage": total, "last_token_usage": self.usage(self.tokens)}}})

    def done(self, **item):
        emit(type="item.completed", item={"id": f"item_{self.item}", **item})
        self.item += 1

    def reply(self, text):
        self.last = text
        self.book()
        self.done(type="agent_message", text=text)

    def call(self, command):
        self.book()
        emit(type="item.started", item={"id": f"item_{self.item}", "type": "command_execution", "command": command,
                                        "aggregated_output": "", "exit_code": None, "status": "in_progress"})
        return ""

    def called(self, call, command, output, code):
        self.done(type="command_execution", command=command, aggregated_output=output, exit_code=code,
                  status="completed" if code == 0 else "failed")

    def success(self, text):
        """Its result is its last message; its usage that of the whole session."""
        if text != self.last:
            self.done(type="agent_message", text=text)
        emit(type="turn.completed", usage=self.usage(self.session.kept["tokens"]))


class Gemini(Voice):
    preset, version, model = "gemini", "0.61.0", "gemini-2.5-pro"
    session_pattern = r'"session_id":"([^"]+)"'
    signals = {"INT": 0, "TERM": 0}
    flags = frozenset(("--skip-trust",))
    options = {"--session-id": "session", "--resume": "resume", "-m": "model", "-o": "", "--approval-mode": ""}

    def refuses(self, asked, session):
        if session.known and not asked.resumed:
            return complain(f'Error starting session: Session ID "{session.identity}" already exists. Use --resume to resume it, or '
                            "provide a different ID.", 42)
        if session.known and session.kept["cwd"] != os.getcwd():
            return complain("Error resuming session: No previous sessions found for this project.", 42)
        return super().refuses(asked, session)

    def unknown_session(self, session):
        return complain(f'Error resuming session: Invalid session identifier "{session.identity}".', 42)

    def say(self, kind, **event):
        emit(type=kind, timestamp=stamp(), **event)

    def start(self, prompt):
        self.calls = 0
        self.say("init", session_id=self.session.identity, model=self.model)
        self.say("message", role="user", content=prompt)

    def book(self, text):
        number = self.count_reply()
        given, cached, output, reasoning = self.tokens
        self.own_line(f".gemini/tmp/work/chats/session-{self.session.identity[:8]}.jsonl", {
            "id": f"{self.session.identity}-{number}", "timestamp": stamp(), "type": "gemini", "content": text, "model": self.model,
            "tokens": {"input": given + cached, "output": output - reasoning, "cached": cached, "thoughts": reasoning, "tool": 0,
                       "total": given + cached + output}})

    def reply(self, text):
        self.last = text
        self.book(text)
        self.say("message", role="assistant", content=text, delta=True)

    def call(self, command):
        self.book("")
        self.calls += 1
        call = f"run_shell_command_{self.calls}"
        self.say("tool_use", tool_name="run_shell_command", tool_id=call, parameters={"command": command})
        return call

    def called(self, call, command, output, code):
        self.say("tool_result", tool_id=call, status="success" if code == 0 else "error", output=output.rstrip("\n"))

    def success(self, text):
        if text != self.last:
            self.say("message", role="assistant", content=text, delta=True)
        given, cached, output, reasoning = self.used
        stats = {"total_tokens": given + cached + output, "input_tokens": given + cached, "output_tokens": output - reasoning,
                 "cached": cached, "input": given}
        self.say("result", status="success", stats={**stats, "duration_ms": 1, "tool_calls": self.calls,
                                                    "models": {self.model: stats}})


class Opencode(Voice):
    preset, version, model = "opencode", "1.18.33", "mock-model"
    session_pattern = r'"sessionID":"([^"]+)"'
    signals = {"INT": "die", "TERM": "die"}
    words = ("run",)
    flags = frozenset(("--auto",))
    options = {"--dir": "folder", "-m": "model", "-s": "resume", "--format": "", "--title": ""}
    step_open = False

    def new_session(self, random):
        return "ses_" + random.replace("-", "")[:26]

    def refuses(self, asked, session):
        if session.known and session.kept["cwd"] != os.getcwd():
            signal.pause()  # the real one hangs, silently
        return super().refuses(asked, session)

    def unknown_session(self, session):
        return complain("Error: Session not found", 1)

    def begin(self, session, asked):
        super().begin(session, asked)
        self.model = self.model.split("/")[-1]

    def say(self, kind, **part):
        emit(type=kind, timestamp=int(time.time() * 1000), sessionID=self.session.identity,
             part={"sessionID": self.session.identity, **part})

    def open_step(self):
        self.close_step("tool-calls")
        self.say("step_start", type="step-start")
        self.step_open = True

    def close_step(self, reason):
        if not self.step_open:
            return
        self.step_open = False
        given, cached, output, reasoning = self.tokens
        self.count_reply()
        self.say("step_finish", type="step-finish", reason=reason,
                 cost=cost_usd(self.model, Tokens(given, cached, 0, output, reasoning)) or 0,
                 tokens={"total": given + cached + output, "input": given, "output": output - reasoning, "reasoning": reasoning,
                         "cache": {"write": 0, "read": cached}})

    def reply(self, text):
        self.last = text
        self.open_step()
        self.say("text", type="text", text=text)

    def call(self, command):
        self.open_step()
        return f"call_{self.session.kept['replies'] + 1}"

    def called(self, call, command, output, code):
        """It tells of a call when it is over."""
        state = {"status": "completed", "input": {"command": command}, "output": output, "metadata": {"exit": code}}
        self.say("tool_use", type="tool", tool="bash", callID=call, state=state)
        self.close_step("tool-calls")

    def success(self, text):
        """There is no final event: the last step's reason is "stop"."""
        if not self.step_open or text != self.last:
            self.reply(text)
        self.close_step("stop")


class Letta(Voice):
    preset, version, model = "letta", "0.25.9 (Letta Code)", "lmstudio/mock-model"
    session_pattern = r'"conversation_id":"([^"]+)"'
    signals = {"INT": "die", "TERM": "die"}
    flags = frozenset(("-p", "--new-agent", "--new"))
    options = {"--conv": "resume", "-m": "model", "--agent": "", "--backend": "", "--output-format": "", "--permission-mode": "",
               "--max-turns": ""}

    def new_session(self, random):
        return f"local-conv-{random}"

    def unknown_session(self, session):
        return complain(f"Conversation {session.identity} not found", 1)

    def say(self, **event):
        agent = "agent-local-00000000-0000-4000-8000-000000000000"
        emit(**event, session_id=agent, agent_id=agent, conversation_id=self.session.identity, timestamp=stamp())

    def start(self, prompt):
        self.say(type="system", subtype="init", model=self.model, tools=["Bash", "Edit", "Read", "Write"], cwd=os.getcwd(), mcp_servers=[])

    def statistics(self, tokens):
        given, cached, output, _ = tokens
        return {"prompt_tokens": given, "completion_tokens": output, "total_tokens": given + cached + output,
                "cached_input_tokens": cached, "cache_write_tokens": 0}

    def book(self):
        self.count_reply()
        self.say(type="message", message_type="usage_statistics", **self.statistics(self.tokens))

    def reply(self, text):
        self.last = text
        self.say(type="message", message_type="assistant_message", content=[{"type": "text", "text": text}])
        self.book()

    def call(self, command):
        """It shows calls, and never their results."""
        self.say(type="auto_approval", tool_call={"name": "Bash", "arguments": json.dumps({"command": command})},
                 reason="Permission mode: unrestricted")
        self.book()
        return ""

    def success(self, text):
        self.say(type="message", message_type="stop_reason", stop_reason="end_turn")
        self.say(type="result", subtype="success", num_turns=0, result=text,
                 usage={**self.statistics(self.used), "reasoning_tokens": 0, "step_count": 0})


VOICES = {voice.preset: voice for voice in (Claude, Codex, Gemini, Opencode, Letta)}

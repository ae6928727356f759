"""The five agent CLIs: how each is called against a mock, and what its output says. One class for each.

The environment is all that a CLI gets: a HOME of its own, so no login is needed, no telemetry, no update check, and as few inner
retries as it allows. An Outcome is read from the output alone, independently of Drover's own parsers.
"""

import dataclasses
import json
import pathlib


@dataclasses.dataclass
class Outcome:
    ended: str = "none"     # success, error, or none: no final event
    message: str = ""       # the result, or why it failed
    session: str = ""       # by which the run can be resumed
    results: int = 0        # how many final events there were
    usage: dict = dataclasses.field(default_factory=dict)   # fields as in the mock's ledger; of the session if cumulative


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a CLI runs: a folder that is removed afterwards."""
    root: pathlib.Path

    @property
    def home(self):
        return self.root / "home"

    @property
    def work(self):
        return self.root / "work"


def usage(given, cached, written, output, reasoning, cost=None):
    found = {"input_tokens": given, "cached_input_tokens": cached, "cache_write_tokens": written, "output_tokens": output,
             "reasoning_tokens": reasoning}
    return found if cost is None else found | {"cost_usd": round(cost, 9)}


def added(first, second):
    return {key: round(first.get(key, 0) + second.get(key, 0), 9) for key in first | second}


def events(stdout):
    for line in stdout.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


class Cli:
    name = ""
    model = ""
    cumulative = False      # whether usage is that of the whole session
    session_of_our_own = False
    known_usage = ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")

    def prepare(self, place, url):
        """Files that the CLI wants to find in its home."""

    def env(self, place, url):
        raise NotImplementedError

    def argv(self, place, work, session, resumed):
        """session: "" for a session that the CLI names."""
        raise NotImplementedError

    def read(self, stdout):
        raise NotImplementedError

    def own_file(self, place, session):
        """The file in which the CLI itself keeps this session, if there is one."""
        return None

    def read_own_file(self, lines):
        """What the whole session has used, request by request, also of runs that were killed."""
        return {}


def first_file(folder, pattern):
    return next(iter(sorted(folder.glob(pattern))), None)


class Claude(Cli):
    name, model = "claude", "claude-opus-5-5"
    session_of_our_own = True
    known_usage = Cli.known_usage + ("cost_usd",)

    def env(self, place, url):
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-mock", "CLAUDE_CODE_MAX_RETRIES": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
                "IS_SANDBOX": "1"}  # else it refuses to bypass permissions as root

    def argv(self, place, work, session, resumed):
        which = ["--resume" if resumed else "--session-id", session] if session else []
        return ["claude", "-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--permission-mode",
                "bypassPermissions", *which, "--model", self.model]

    def read(self, stdout):
        found, cost = Outcome(), None
        for event in events(stdout):
            found.session = event.get("session_id") or found.session
            kind = event.get("type")
            if kind == "stream_event":
                found.usage = added(found.usage, self.streamed(event["event"]))
            elif kind == "result":
                found.results += 1
                found.ended = "error" if event["is_error"] else "success"
                found.message = event.get("result") or "; ".join(event.get("errors", ())) or event["subtype"]
                since = event.get("model_usage_since_last_result", {}).values()
                cost = (cost or 0) + sum(one["costUSD"] for one in since)
        return found if cost is None else dataclasses.replace(found, usage=found.usage | {"cost_usd": round(cost, 9)})

    def streamed(self, event):
        """Only the stream tells the true output, and it does so before the message's tool runs."""
        if event["type"] == "message_start":
            one = event["message"]["usage"]
            return usage(one["input_tokens"], one["cache_read_input_tokens"], one["cache_creation_input_tokens"], 0, 0)
        if event["type"] == "message_delta":
            one = event["usage"]
            return usage(0, 0, 0, one["output_tokens"], one.get("output_tokens_details", {}).get("thinking_tokens", 0))
        return {}

    def own_file(self, place, session):
        return first_file(place.home / ".claude/projects", f"*/{session}.jsonl")

    def read_own_file(self, lines):
        messages = {line["message"]["id"]: line["message"]["usage"] for line in lines if line.get("message", {}).get("usage")}
        total = {}
        for one in messages.values():
            thought = (one.get("output_tokens_details") or {}).get("thinking_tokens", 0)
            total = added(total, usage(one["input_tokens"], one["cache_read_input_tokens"], one["cache_creation_input_tokens"],
                                       one["output_tokens"], thought))
        return total


class Codex(Cli):
    name, model = "codex", "gpt-5"
    cumulative = True

    def env(self, place, url):
        return {"MOCK_API_KEY": "sk-mock"}

    def prepare(self, place, url):
        folder = place.home / ".codex"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(
            'model_provider = "mock"\ncheck_for_update_on_startup = false\n'
            '[analytics]\nenabled = false\n[feedback]\nenabled = false\n'
            f'[model_providers.mock]\nname = "mock"\nbase_url = "{url}/v1"\nenv_key = "MOCK_API_KEY"\nwire_api = "responses"\n'
            'request_max_retries = 0\nstream_max_retries = 0\n', encoding="utf-8")

    def argv(self, place, work, session, resumed):
        which = ["resume", session] if resumed else []
        return ["codex", "exec", "--json", "--skip-git-repo-check", "-C", str(work), "-s", "danger-full-access", "-m", self.model,
                *which, "-"]

    def read(self, stdout):
        found = Outcome()
        for event in events(stdout):
            kind = event.get("type")
            if kind == "thread.started":
                found.session = event["thread_id"]
            elif kind == "item.completed" and event["item"]["type"] == "agent_message":
                found.message = event["item"]["text"]
            elif kind == "turn.failed":
                found.ended, found.message, found.results = "error", event["error"]["message"], found.results + 1
            elif kind == "turn.completed":
                found.ended, found.results, found.usage = "success", found.results + 1, self.usage_of(event["usage"])
        return found

    def usage_of(self, one):
        """Its input includes what was read from and written to a cache."""
        return usage(one["input_tokens"] - one["cached_input_tokens"] - one["cache_write_input_tokens"], one["cached_input_tokens"],
                     one["cache_write_input_tokens"], one["output_tokens"], one["reasoning_output_tokens"])

    def own_file(self, place, session):
        return first_file(place.home / ".codex/sessions", f"*/*/*/rollout-*{session}.jsonl") if session else None

    def read_own_file(self, lines):
        """Its token_usage_record comes with the response; its token_count only when the tools have run."""
        total = {}
        for line in lines:
            if line["type"] == "token_usage_record":
                total = added(total, self.usage_of(line["payload"]["usage"]))
        return total


class Gemini(Cli):
    name, model = "gemini", "gemini-2.5-pro"
    session_of_our_own = True

    def env(self, place, url):
        return {"GEMINI_API_KEY": "mock-key", "GOOGLE_GEMINI_BASE_URL": url}

    def prepare(self, place, url):
        folder = place.home / ".gemini"
        folder.mkdir(parents=True)
        (folder / "settings.json").write_text(json.dumps({
            "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 1}}), encoding="utf-8")

    def argv(self, place, work, session, resumed):
        which = ["--resume" if resumed else "--session-id", session] if session else []
        return ["gemini", "-o", "stream-json", "--approval-mode", "yolo", "--skip-trust", *which, "-m", self.model]

    def read(self, stdout):
        found = Outcome()
        for event in events(stdout):
            kind = event.get("type")
            if kind == "init":
                found.session = event["session_id"]
            elif kind == "message" and event["role"] == "assistant":
                found.message = event["content"]
            elif kind == "result":
                one = event["stats"]
                found.ended, found.results = event["status"], found.results + 1
                found.message = event.get("error", {}).get("message") or found.message
                # output_tokens leaves out what the model thought; the total does not.
                output = one["total_tokens"] - one["input_tokens"]
                found.usage = usage(one["input"], one["cached"], 0, output, output - one["output_tokens"])
        return found

    def own_file(self, place, session):
        for file in sorted((place.home / ".gemini/tmp").glob("*/chats/session-*.jsonl")):
            if f'"sessionId":"{session}"' in file.read_text(encoding="utf-8"):
                return file
        return None

    def read_own_file(self, lines):
        total = {}
        for one in {line["id"]: line["tokens"] for line in lines if "tokens" in line}.values():
            total = added(total, usage(one["input"] - one["cached"], one["cached"], 0, one["output"] + one["thoughts"], one["thoughts"]))
        return total


class Opencode(Cli):
    name, model = "opencode", "mock-model"
    known_usage = Cli.known_usage + ("cost_usd",)

    def env(self, place, url):
        return {"OPENCODE_CONFIG": str(place.home / "opencode.json"), "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}

    def prepare(self, place, url):
        price = {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
        model = {"name": self.model, "tool_call": True, "cost": price, "limit": {"context": 200000, "output": 8192}}
        (place.home / "opencode.json").write_text(json.dumps({
            "autoupdate": False, "share": "disabled", "provider": {"mock": {
                "npm": "@ai-sdk/openai-compatible", "name": "mock", "options": {"baseURL": f"{url}/v1", "apiKey": "sk-mock"},
                "models": {self.model: model}}}}), encoding="utf-8")

    def argv(self, place, work, session, resumed):
        which = ["-s", session] if session else []
        return ["opencode", "run", "--format", "json", "--auto", "--dir", str(work), "--title", "TASK", "-m", f"mock/{self.model}",
                *which]

    def read(self, stdout):
        found = Outcome()
        for event in events(stdout):
            found.session = event.get("sessionID") or found.session
            kind, part = event.get("type"), event.get("part", {})
            if kind == "text":
                found.message = part["text"]
            elif kind == "error":
                found.ended, found.results = "error", found.results + 1
                found.message = event["error"].get("data", {}).get("message") or event["error"]["name"]
            elif kind == "step_finish":
                one = part["tokens"]
                found.usage = added(found.usage, usage(one["input"], one["cache"]["read"], one["cache"]["write"],
                                                       one["output"] + one["reasoning"], one["reasoning"], part["cost"]))
                if part["reason"] == "stop":
                    found.ended, found.results = "success", found.results + 1
        return found


class Letta(Cli):
    """Through its local backend and the provider that it calls lmstudio, which is any OpenAI-compatible server."""
    name, model = "letta", "mock-model"
    known_usage = ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens")

    def env(self, place, url):
        return {"LETTA_LOCAL_BACKEND_DIR": str(place.home / "letta"), "LMSTUDIO_BASE_URL": f"{url}/v1", "LMSTUDIO_API_KEY": "mock",
                "LETTA_CODE_TELEM": "0", "DISABLE_AUTOUPDATER": "1"}

    def argv(self, place, work, session, resumed):
        which = ["--conv", session] if resumed else ["--new-agent", "-m", f"lmstudio/{self.model}"]
        return ["letta", "--backend", "local", "-p", "--output-format", "stream-json", "--permission-mode", "unrestricted", *which]

    def read(self, stdout):
        found = Outcome()
        for event in events(stdout):
            kind = event.get("type")
            found.session = event.get("conversation_id") or found.session
            if kind == "error":
                found.ended, found.message, found.results = "error", event["message"], found.results + 1
            elif kind == "retry":
                found.ended = "none"
            elif event.get("message_type") == "usage_statistics":
                found.usage = added(found.usage, usage(event["prompt_tokens"], event["cached_input_tokens"],
                                                       event["cache_write_tokens"], event["completion_tokens"], 0))
            elif kind == "result":
                found.ended = "success" if event["subtype"] == "success" else "error"
                found.message, found.results = event["result"], found.results + 1
        return found


CLIS = {cli.name: cli for cli in (Claude(), Codex(), Gemini(), Opencode(), Letta())}

"""The verbs of the REST API as requests to be made: what to send, how long to wait, and whether it may be repeated.

Nothing here does any input or output, so Client and AsyncClient share all of it.
"""

from __future__ import annotations

import enum
import re
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union
from urllib.parse import quote, urlencode

from ._json import Loads, Path, RawJson, encode, member_text
from .errors import Invalid, Unavailable

POLL_S = 25.0  # proxies cut longer ones
_NAME = re.compile(r"[A-Za-z0-9_.:@-]{1,128}")
_JSON = "application/json"


class Repeat(enum.Enum):
    """What may be done when it is not known whether a call took effect."""

    FREELY = "freely"  # it reads, is idempotent, or has a key
    NEVER = "never"  # a second time might do something else


@dataclass
class Call:
    method: str
    target: str
    body: Optional[bytes] = None
    headers: Dict[str, str] = field(default_factory=dict)
    repeat: Repeat = Repeat.FREELY
    wait_s: float = 0.0  # how long the server may take to answer, beside what every answer may take
    timeout_s: Optional[float] = None  # instead of the client's

    @property
    def only_reads(self) -> bool:
        return self.method == "GET"


class Answer:
    """What a server answered. The text stays, so that numbers can be read as they were written."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes, loads: Loads) -> None:
        self.status = status
        self.headers = headers
        self._body = body
        self._loads = loads
        self._text: Optional[str] = None

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = self._body.decode("utf-8")
        return self._text

    def json(self) -> Any:
        try:
            return self._loads(self.text) if self._body else None
        except ValueError as error:
            raise Unavailable(f"the answer is not JSON; is this a Drover server? {error}", status=self.status) from None

    def member_text(self, path: Path) -> Optional[str]:
        return member_text(self.text, path)


def new_key() -> str:
    return uuid.uuid4().hex


def check_name(text: str, what: str) -> str:
    if _NAME.fullmatch(text):
        return text
    raise Invalid(f"{what}: expected 1 to 128 letters, digits or _.:@-", "invalid_argument")


def _segment(text: str) -> str:
    return quote(text, safe="")


def task_path(task_id: str, verb: str = "") -> str:
    return f"/v1/tasks/{_segment(task_id)}" + (f"/{verb}" if verb else "")


def worker_path(worker_id: str, verb: str = "") -> str:
    return f"/v1/workers/{_segment(worker_id)}" + (f"/{verb}" if verb else "")


def _query(path: str, parameters: Sequence[Tuple[str, str]]) -> str:
    return f"{path}?{urlencode(parameters)}" if parameters else path


def send(method: str, target: str, body: object = None, *, repeat: Repeat = Repeat.FREELY, **headers: str) -> Call:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is None:
        return Call(method, target, None, given, repeat)
    given["Content-Type"] = _JSON
    return Call(method, target, encode(body), given, repeat)


# --- values ------------------------------------------------------------------------------------------------------------

Duration = Union[str, int, float, timedelta]


def duration_text(value: Duration) -> str:
    """A text as it is; a number is seconds."""
    if isinstance(value, str):
        return value
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not 0 <= seconds < 1e10:
        raise Invalid(f"{value!r} is not a duration", "invalid_argument")
    return f"{round(seconds * 1000)}ms"


def time_text(value: Union[str, datetime]) -> str:
    if isinstance(value, str):
        return value
    if value.tzinfo is None:
        raise Invalid("a time needs a time zone; use datetime.now(timezone.utc)", "invalid_argument")
    return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# --- tasks -------------------------------------------------------------------------------------------------------------

_DURATIONS = frozenset({"delay", "deadline", "timeout", "idle_timeout", "dedupe_window"})
_TIMES = frozenset({"run_at", "deadline_at"})
_OPTIONS = _DURATIONS | _TIMES | {
    "id", "ref", "queue", "owner", "priority", "prompt", "system_prompt", "model", "repo", "base", "agent_id", "source",
    "traceparent", "tags", "parent_id", "depends_on", "request_id", "dedupe_key", "dedupe", "dedupe_window_ms", "locks", "cost",
    "max_attempts", "max_stalls", "max_defers", "max_suspends", "retry", "timeout_ms", "idle_timeout_ms", "on_parent_failure",
    "at_most_once", "templates", "fallback_result", "payload_text", "null_values", "session", "bootstrap", "busy", "budget", "tree_budget",
}  # fmt: skip


def task_spec(task_type: str, payload: object, options: Mapping[str, Any]) -> Dict[str, Any]:
    """A TaskSpec of the wire. Members that are None are left out."""
    spec: Dict[str, Any] = {"type": task_type}
    if payload is not None:
        spec["payload"] = payload
    for name, value in options.items():
        if name not in _OPTIONS:
            raise TypeError(f"a task has no option {name!r}")
        if value is None:
            continue
        if name in _DURATIONS:
            value = duration_text(value)
        elif name in _TIMES:
            value = time_text(value)
        elif name == "depends_on":
            value = [str(getattr(parent, "id", parent)) for parent in value]
        elif name in ("id", "parent_id"):
            value = str(value)
        spec[name] = value
    return _with_payload_text(spec)


def _with_payload_text(spec: Dict[str, Any]) -> Dict[str, Any]:
    text = spec.pop("payload_text", None)
    if text is None:
        return spec
    if "payload" in spec:
        raise Invalid("give a payload or its text, not both", "invalid_argument")
    spec["payload"] = RawJson(text)
    if text.strip() == "null":
        spec["null_values"] = [*spec.get("null_values", []), "payload"]
    return spec


def enqueue(spec: Mapping[str, Any], key: str) -> Call:
    """A request id of its own makes the call as safe to repeat as a key."""
    if spec.get("request_id") is not None:
        return send("POST", "/v1/tasks", spec)
    return send("POST", "/v1/tasks", spec, Idempotency_Key=key)


def _keyed(specs: Sequence[Mapping[str, Any]], key: str) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The body and the header of a batch. Where tasks have request ids of their own, the others get theirs from the key instead."""
    check_name(key, "key")
    if all(spec.get("request_id") is None for spec in specs):
        return {"tasks": specs}, {"Idempotency_Key": key}
    return {"tasks": [{"request_id": f"{key}.{place}", **spec} for place, spec in enumerate(specs)]}, {}


def enqueue_many(specs: Sequence[Mapping[str, Any]], key: str) -> Call:
    body, headers = _keyed(specs, key)
    return send("POST", "/v1/tasks", body, **headers)


def spawn(task_id: str, lease_id: str, specs: Sequence[Mapping[str, Any]], key: str) -> Call:
    body, headers = _keyed(specs, key)
    return send("POST", task_path(task_id, "children"), body, Drover_Lease=lease_id, **headers)


def show_task(task_id: str) -> Call:
    return send("GET", task_path(task_id))


def wait_for_task(task_id: str, wait_s: float) -> Call:
    call = send("GET", _query(task_path(task_id, "wait"), [("timeout", f"{int(wait_s * 1000)}ms")]))
    call.wait_s = wait_s
    return call


_FILTERS = frozenset({
    "type", "queue", "owner", "state", "tag", "spawner", "worker", "since", "until", "search", "id", "class", "fingerprint",
    "finished_before", "escalated",
})  # fmt: skip


def list_tasks(filters: Mapping[str, Any], limit: int, cursor: Optional[str]) -> Call:
    parameters: List[Tuple[str, str]] = []
    for name, value in filters.items():
        name = name.rstrip("_")  # class_ is class
        if name not in _FILTERS:
            raise TypeError(f"tasks cannot be listed by {name!r}")
        if value is None:
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            text = ("true" if one else "false") if isinstance(one, bool) else time_text(one) if isinstance(one, datetime) else str(one)
            parameters.append((name, text))
    parameters.append(("limit", str(limit)))
    if cursor is not None:
        parameters.append(("cursor", cursor))
    return send("GET", _query("/v1/tasks", parameters))


def show_parent(task_id: str, parent_id: str) -> Call:
    return send("GET", task_path(task_id, "parents") + "/" + _segment(parent_id))


def list_runs(task_id: str) -> Call:
    return send("GET", task_path(task_id, "runs"))


def explain_task(task_id: str) -> Call:
    return send("GET", task_path(task_id, "explain"))


def read_log(task_id: str, after: int) -> Call:
    return send("GET", _query(task_path(task_id, "log"), [("after", str(after)), ("limit", "1000")]))


def cancel_task(task_id: str, reason: Optional[str]) -> Call:
    return send("POST", task_path(task_id, "cancel"), {"reason": reason} if reason is not None else {})


def retry_task(task_id: str, order: Mapping[str, Any]) -> Call:
    return send("POST", task_path(task_id, "retry"), order, repeat=Repeat.NEVER)


def edit_task(task_id: str, changes: Mapping[str, Any]) -> Call:
    order = dict(changes)
    if "run_at" in order and order["run_at"] is not None:
        order["run_at"] = time_text(order["run_at"])
    if "delay" in order:
        order["delay"] = duration_text(order["delay"])
    return send("PATCH", task_path(task_id), order, repeat=Repeat.NEVER)


# --- workers and runs ----------------------------------------------------------------------------------------------------


def register_worker(worker: Mapping[str, Any]) -> Call:
    return send("POST", "/v1/workers", worker)


def unregister_worker(worker_id: str, reason: str) -> Call:
    return send("DELETE", _query(worker_path(worker_id), [("reason", reason)]))


def claim(worker_id: str, request: Mapping[str, Any], wait_s: float) -> Call:
    call = send("POST", worker_path(worker_id, "claim"), {**request, "wait_ms": int(wait_s * 1000)})
    call.wait_s = wait_s
    return call


def heartbeat(worker_id: str, leases: Sequence[Mapping[str, str]], lease_s: float) -> Call:
    return send("POST", worker_path(worker_id, "heartbeat"), {"leases": leases, "lease_ms": int(lease_s * 1000)})


def backlog(serves: Sequence[Mapping[str, str]]) -> Call:
    return send("POST", "/v1/backlog", {"serves": serves})


def requeue_stalled(max_age_ms: int) -> Call:
    return send("POST", "/v1/stalled", {"max_age_ms": max_age_ms})


def settle_texts(items: Sequence[str]) -> Call:
    """Settlements that are JSON texts already."""
    body = '{"items":[' + ",".join(items) + "]}"
    return Call("POST", "/v1/settlements", body.encode("utf-8"), {"Content-Type": _JSON})


def progress(task_id: str, lease_id: str, percent: int, message: Optional[str]) -> Call:
    return send("POST", task_path(task_id, "progress"), {"lease_id": lease_id, "percent": percent, "message": message})


def append_log(task_id: str, lease_id: str, text: str, stream: str) -> Call:
    body = {"lease_id": lease_id, "chunks": [{"stream": stream, "text": text}]}
    return send("POST", task_path(task_id, "log"), body, repeat=Repeat.NEVER)


def checkpoint(task_id: str, lease_id: str, value: object) -> Call:
    return send("POST", task_path(task_id, "checkpoint"), {"lease_id": lease_id, "value": value})


# --- questions ---------------------------------------------------------------------------------------------------------


def question_path(question_id: str, verb: str = "") -> str:
    return f"/v1/questions/{_segment(question_id)}" + (f"/{verb}" if verb else "")


def ask(task_id: str, lease_id: str, question: Mapping[str, Any]) -> Call:
    return send("POST", task_path(task_id, "questions"), {"lease_id": lease_id, "question": question})


def question_spec(
    text: str,
    options: Optional[Sequence[str]],
    schema: object,
    default: object,
    expires: Optional[Duration],
    to: Optional[str],
    key: Optional[str],
) -> Dict[str, Any]:
    given = {
        "options": None if options is None else list(options),
        "schema": schema,
        "default": default,
        "expires": None if expires is None else duration_text(expires),
        "to": to,
        "key": key,
    }
    return {"text": text, **{name: value for name, value in given.items() if value is not None}}


def show_question(question_id: str, wait_s: float = 0.0) -> Call:
    parameters = [("wait", f"{int(wait_s * 1000)}ms")] if wait_s > 0 else []
    call = send("GET", _query(question_path(question_id), parameters))
    call.wait_s = wait_s
    return call


_QUESTION_FILTERS = frozenset({"state", "owner", "task", "spawner", "to"})


def list_questions(filters: Mapping[str, Any], limit: int, cursor: Optional[str]) -> Call:
    parameters: List[Tuple[str, str]] = []
    for name, value in filters.items():
        if name not in _QUESTION_FILTERS:
            raise TypeError(f"questions cannot be listed by {name!r}")
        if value is not None:
            parameters.append((name, str(getattr(value, "id", value))))
    parameters.append(("limit", str(limit)))
    if cursor is not None:
        parameters.append(("cursor", cursor))
    return send("GET", _query("/v1/questions", parameters))


def answer_question(question_id: str, value: object) -> Call:
    return send("POST", question_path(question_id, "answer"), {"value": value})


def withdraw_question(question_id: str, why: Optional[str]) -> Call:
    return send("POST", question_path(question_id, "withdraw"), {"why": why} if why is not None else {})


# --- events ------------------------------------------------------------------------------------------------------------


def last_event() -> Call:
    return send("GET", "/v1/events/last")


def events_page(after: int) -> Call:
    return send("GET", _query("/v1/events", [("after", str(after)), ("limit", "1000")]))


def event_stream(after: int, filters: Mapping[str, Optional[str]]) -> Call:
    parameters = [("after", str(after)), ("snapshot", "false")]
    parameters += [(name, value) for name, value in filters.items() if value is not None]
    return Call("GET", _query("/v1/events", parameters), None, {"Accept": "text/event-stream"})


def wait_for_change(seen: Optional[int], wait_s: float) -> Call:
    parameters = [("timeout", f"{int(wait_s * 1000)}ms")]
    if seen is not None:
        parameters.append(("seen", str(seen)))
    call = send("GET", _query("/v1/changes", parameters))
    call.wait_s = wait_s
    return call

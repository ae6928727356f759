"""One run of a task on this worker: its lease, why it should stop, and how its end is told. No input or output."""

from __future__ import annotations

import threading
import time
import traceback
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set

from . import wire
from ._calls import Answer
from ._json import RawJson, encode_text, to_bytes
from .errors import AwaitingAnswer, Invalid, TaskError, Unanswered

CANCELLED = "cancelled"
TIMEOUT = "timeout"
LOST = "lost"
SHUTDOWN = "shutdown"

FENCE_PART = 3  # a run stops when this part of its lease is left
_NOTE_CHARS_MAX = 4000
_MESSAGE_CHARS_MAX = 2000
_listener_lock = threading.Lock()  # held for a few instructions only


class End(NamedTuple):
    """How a run ended: complete, fail, release, cancelled or suspend, and all of it as JSON text."""

    kind: str
    text: str


def _limit(now: float, millis: int) -> float:
    return now + millis / 1000 if millis > 0 else float("inf")


class Run:
    """Threads: the handler's, and the keeper's, which renews the lease and says when to stop."""

    def __init__(self, claimed: wire.ClaimedTask, answer: Answer, place: int, expires_at: float, lease_s: float) -> None:
        self.task = claimed["task"]
        self.lease_id = claimed["lease_id"]
        self.task_id = self.task["id"]
        self.earlier_runs = claimed["earlier_runs"]
        self.expires_at = expires_at
        self.reason: Optional[str] = None
        self.stopped_at = 0.0
        self.is_lost = False  # the store said so: renewing it is of no use
        self.has_ended = False  # the handler has returned
        self.awaited: Optional[Dict[str, Any]] = None
        self.questions: Set[str] = set()  # that it gave up waiting for
        self._waits = 0
        self._waiting_since = 0.0
        self._answer = answer
        self._place = place
        self._lease_s = lease_s
        self._started_at = self._active_at = time.monotonic()
        self._timeout_at = _limit(self._started_at, self.task["timeout_ms"])
        self._listeners: List[Callable[[], None]] = []

    def member_text(self, member: str) -> Optional[str]:
        if self.task.get(member) is None and member not in self.task.get("null_values", ()):
            return None
        return self._answer.member_text(("tasks", self._place, "task", member))

    @property
    def lease(self) -> Dict[str, str]:
        return {"task_id": self.task_id, "lease_id": self.lease_id}

    # --- stopping

    def begin(self) -> None:
        self._started_at = self._active_at = time.monotonic()
        self._timeout_at = _limit(self._started_at, self.task["timeout_ms"])

    def note_activity(self) -> None:
        self._active_at = time.monotonic()

    def wait(self) -> None:
        """It waits for an answer: its time limits stand still until go_on()."""
        with _listener_lock:
            self._waits += 1
            if self._waits == 1:
                self._waiting_since = time.monotonic()

    def go_on(self) -> None:
        with _listener_lock:
            self._waits -= 1
            if self._waits == 0:
                self._active_at = time.monotonic()
                self._timeout_at += self._active_at - self._waiting_since

    def fence_at(self) -> float:
        return self.expires_at - self._lease_s / FENCE_PART

    def next_reason_at(self) -> float:
        return min(self.fence_at(), self._time_over_at())

    def _time_over_at(self) -> float:
        with _listener_lock:
            if self._waits > 0:
                return float("inf")
            return min(self._timeout_at, _limit(self._active_at, self.task["idle_timeout_ms"]))

    def look(self, now: float) -> None:
        """Stops the run if its time is over or its lease could not be renewed."""
        if self.reason is not None:
            return
        if now >= self.fence_at():
            self.stop(LOST)
        elif now >= self._time_over_at():
            self.stop(TIMEOUT)

    def stop(self, reason: str) -> None:
        with _listener_lock:
            if self.reason is not None:
                return
            self.reason = reason
            self.stopped_at = time.monotonic()
            listeners = list(self._listeners)
        for listener in listeners:
            listener()

    def listen(self, listener: Callable[[], None]) -> bool:
        """Calls the listener when the run is to stop. False: it is already."""
        with _listener_lock:
            if self.reason is not None:
                return False
            self._listeners.append(listener)
            return True

    def unlisten(self, listener: Callable[[], None]) -> None:
        with _listener_lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    # --- the end

    def ended_with(self, result: object) -> End:
        """The settlement of a handler that returned."""
        if self.reason == CANCELLED:
            return self._settlement("cancelled")
        if self.awaited is not None:
            return self._settlement("suspend", **self.awaited)
        if self.questions:
            return self._settlement("suspend", children=[])
        if result is None:
            return self._settlement("complete")
        try:
            text = encode_text(result)
            to_bytes(text)
        except Invalid as error:
            return self._failure("invalid", f"the result is not JSON: {error.detail}")
        return self._settlement("complete", result=RawJson.trusted(text))

    def failed_with(self, error: BaseException) -> End:
        """The settlement of a handler that raised something, whatever it was."""
        if self.reason == CANCELLED:
            return self._settlement("cancelled")
        if self.reason in (LOST, SHUTDOWN):
            return self.released()
        if self.reason is None and isinstance(error, AwaitingAnswer) and error.question["id"] in self.questions:
            return self._settlement("suspend", children=[])
        if isinstance(error, Unanswered):
            return self._failure("unanswered", error.detail)
        if isinstance(error, TaskError):
            error_class = TIMEOUT if self.reason == TIMEOUT else error.error_class
            retry_after_ms = int(error.retry_after * 1000) if error.retry_after is not None else None
            return self._failure(error_class, error.message, retry_after_ms, error.note)
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return self._failure(TIMEOUT if self.reason == TIMEOUT else "agent_error", words, None, trace[-_NOTE_CHARS_MAX:])

    def failed_because(self, error_class: str, message: str) -> End:
        return self._failure(error_class, message)

    def released(self) -> End:
        if self.task["at_most_once"]:
            return self._failure(LOST, "it was stopped, and it may run at most once")
        return self._settlement("release")

    def not_begun(self) -> End:
        """The settlement of a run that never began."""
        if self.reason == CANCELLED:
            return self._settlement("cancelled")
        return self._settlement("release", begun=False)

    def failure_instead(self, code: str, detail: str, kind: str) -> Optional[End]:
        """What is told instead of an end that the server will never take; None if there is nothing."""
        if kind == "suspend":
            return self._failure("invalid", detail)
        if kind != "complete":
            return None
        return self._failure("result_too_large" if code == "result_too_large" else "agent_error", detail)

    def _failure(self, error_class: str, message: str, retry_after_ms: Optional[int] = None, note: Optional[str] = None) -> End:
        more: Dict[str, Any] = {"class": error_class, "message": _clean(message[:_MESSAGE_CHARS_MAX])}
        if retry_after_ms is not None:
            more["retry_after_ms"] = max(retry_after_ms, 0)
        if note is not None:
            more["note"] = _clean(note)
        return self._settlement("fail", **more)

    def _settlement(self, kind: str, **members: Any) -> End:
        return End(kind, encode_text({"task_id": self.task_id, "lease_id": self.lease_id, "end": kind, **members}))


def _clean(text: str) -> str:
    """Without halves of surrogate pairs, which no server takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def children_of(children: Optional[Sequence[Any]]) -> Dict[str, Any]:
    if children is None:
        return {"children": "all"}
    return {"children": [str(getattr(child, "id", child)) for child in children]}

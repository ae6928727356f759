"""What can go wrong, as exceptions.

Every error that the server answers is a DroverError with its stable `code`. What happened to a task (failed, cancelled, not ended in
time) has classes of its own.
"""

from __future__ import annotations

from typing import Dict, Optional, Type

from . import wire


class DroverError(Exception):
    """An error that a Drover server answered, or that kept one from answering."""

    def __init__(self, detail: str, code: str = "internal", status: int = 0, retry_after_ms: Optional[int] = None) -> None:
        super().__init__(detail, code, status, retry_after_ms)  # as given, so that it can be pickled
        self.detail = detail
        self.code = code
        self.status = status
        self.retry_after_ms = retry_after_ms

    def __str__(self) -> str:
        return f"{self.detail} ({self.code})"


class NotFound(DroverError):
    """There is no such thing, or it belongs to somebody else."""


class WrongState(DroverError):
    """The task is in a state, or has a version, that does not allow it."""


class StaleLease(DroverError):
    """The lease has ended: the task is not this worker's any more, and nothing it says of it is taken."""


StaleLeaseError = StaleLease  # the name that users of drover.TaskQueue know


class RequestConflict(DroverError):
    """Another request was made with the same idempotency key."""


class QueueFull(DroverError):
    """A limit is reached. Try again later, at least after `retry_after_ms`."""


class Invalid(DroverError):
    """The request is wrong and will not get better by repeating it."""


class Unauthorised(DroverError):
    """The token is missing or not valid, or its role does not allow the call."""


class Unavailable(DroverError):
    """No server answered, or the server cannot reach its store.

    `outcome_unknown` is true if the call may have taken effect all the same.
    """

    def __init__(
        self,
        detail: str,
        code: str = "store_unavailable",
        status: int = 0,
        retry_after_ms: Optional[int] = None,
        outcome_unknown: bool = False,
    ) -> None:
        super().__init__(detail, code, status, retry_after_ms)
        self.args = (detail, code, status, retry_after_ms, outcome_unknown)
        self.outcome_unknown = outcome_unknown


class TaskFailed(DroverError):
    """The task that was waited for has failed. `task` is all of it; `code` is the class of its error and `message` its text."""

    def __init__(self, task: wire.Task) -> None:
        error = task["error"]
        self.message = error["message"] if error else ""
        super().__init__(f"task {task['id']} failed: {self.message or 'no message'}", error["class"] if error else "agent_error")
        self.args = (task,)
        self.task = task


class TaskCancelled(DroverError):
    """The task that was waited for was cancelled. `task` is all of it, `reason` why."""

    def __init__(self, task: wire.Task) -> None:
        self.reason = task["cancel_reason"]
        super().__init__(f"task {task['id']} was cancelled" + (f": {self.reason}" if self.reason else ""), "cancelled")
        self.args = (task,)
        self.task = task


class WaitTimeout(DroverError, TimeoutError):
    """The task had not ended when the time was over. The task goes on."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail, "wait_timeout")
        self.args = (detail,)


class Unanswered(WrongState):
    """A question has expired without a default, or was withdrawn. A handler that lets it through fails its task, class `unanswered`."""

    def __init__(self, question: wire.Question) -> None:
        why = f": {question['why']}" if question["why"] else ""
        super().__init__(f"question {question['id']} was {question['state']} without an answer{why}", "wrong_state")
        self.args = (question,)
        self.question = question


class AwaitingAnswer(BaseException):
    """Raised by `Context.ask` when there is no answer yet. Let it through: the task is suspended, and runs again once there is one.

    Not an Exception, so that `except Exception` does not catch it. A handler that catches it and returns is suspended all the same.
    """

    def __init__(self, question: wire.Question) -> None:
        super().__init__(f"question {question['id']} has no answer yet; the task is suspended until it has one")
        self.question = question


class TaskError(Exception):
    """Raised by a handler to say how its run failed: a class of errors decides whether it is tried again.

    `note` is kept with the run, for the next one to read.
    """

    def __init__(
        self,
        error_class: wire.ErrorClass,
        message: str,
        *,
        retry_after: Optional[float] = None,
        note: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.error_class: wire.ErrorClass = error_class
        self.message = message
        self.retry_after = retry_after
        self.note = note


_BY_CODE: Dict[str, Type[DroverError]] = {
    "not_found": NotFound,
    "unknown_worker": NotFound,
    "wrong_state": WrongState,
    "version_mismatch": WrongState,
    "session_busy": WrongState,
    "stale_lease": StaleLease,
    "request_conflict": RequestConflict,
    "queue_full": QueueFull,
    "limit_exceeded": QueueFull,
    "unauthorised": Unauthorised,
    "forbidden": Unauthorised,
    "store_unavailable": Unavailable,
    "store_regressed": Unavailable,
    "schema_too_new": Unavailable,
    "disk_full": Unavailable,
    "store_damaged": DroverError,
    "internal": DroverError,
}


def error_of(code: str, detail: str, status: int = 0, retry_after_ms: Optional[int] = None) -> DroverError:
    """The exception for a code. A code that is not known here is judged by its status."""
    kind = _BY_CODE.get(code)
    if kind is None:
        kind = Invalid if 400 <= status < 500 or status == 0 else DroverError
    return kind(detail, code, status, retry_after_ms)

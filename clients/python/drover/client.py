"""Client: enqueue tasks, wait for them, watch what happens. For programs with threads; AsyncClient is its twin for asyncio."""

from __future__ import annotations

import time
from typing import Any, Generic, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union, cast, overload

from . import _calls, wire
from ._calls import POLL_S, Answer, Call, Repeat
from ._retry import PATIENCE_S, Attempts, Trouble
from ._settings import Settings
from ._transport import Transport
from .errors import TaskCancelled, TaskFailed, WaitTimeout
from .events import SILENCE_S, DroverEvent, EventCursor, Gap
from .questions import QuestionHandle
from .task_types import NewTask, Task, spec_of, specs_of

R = TypeVar("R")

ENDED = ("completed", "failed", "cancelled")
_LOG_POLL_S = 1.0


def poll_s(deadline: Optional[float], task_id: str) -> float:
    """How long the next poll may wait. Raises WaitTimeout when the time is over."""
    if deadline is None:
        return POLL_S
    left = deadline - time.monotonic()
    if left <= 0:
        raise WaitTimeout(f"task {task_id} has not ended yet")
    return min(left, POLL_S)


def patience_s(deadline: Optional[float], has_answered: bool) -> Optional[float]:
    """A wait outlives a server that is replaced. Before the first answer, a wrong address is told soon."""
    if deadline is not None:
        return min(max(deadline - time.monotonic(), 0.0), PATIENCE_S)
    return PATIENCE_S if has_answered else None


def result_of(task: wire.Task) -> Any:
    if task["state"] == "failed":
        raise TaskFailed(task)
    if task["state"] == "cancelled":
        raise TaskCancelled(task)
    return task["result"]


class Handle(Generic[R]):
    """One task, by its id. A handle costs nothing; the task goes on without it."""

    def __init__(self, client: "Client", task_id: str, deduplicated: bool = False) -> None:
        self._client = client
        self.id = task_id
        self.deduplicated = deduplicated  # the task was there already

    def get(self) -> wire.Task:
        return cast(wire.Task, self._client._perform(_calls.show_task(self.id)).json())

    def member_text(self, member: str) -> Optional[str]:
        """The JSON text of a member of the task, `payload` or `result` for example, with every digit as it was written."""
        return self._client._perform(_calls.show_task(self.id)).member_text((member,))

    def wait(self, timeout: Optional[float] = None) -> wire.Task:
        """Waits until the task has ended. After `timeout` seconds it raises WaitTimeout; the task goes on."""
        deadline = None if timeout is None else time.monotonic() + timeout
        has_answered = False
        while True:
            call = _calls.wait_for_task(self.id, poll_s(deadline, self.id))
            answer = self._client._transport.perform(call, patience_s=patience_s(deadline, has_answered))
            task = cast(wire.Task, answer.json())
            if task["state"] in ENDED:
                return task
            has_answered = True

    def result(self, timeout: Optional[float] = None) -> R:
        """The result of the task, once it is there. Raises TaskFailed, TaskCancelled or WaitTimeout if there is none."""
        return cast(R, result_of(self.wait(timeout)))

    def cancel(self, reason: Optional[str] = None) -> wire.CancelOutcome:
        return cast(wire.CancelOutcome, self._client._perform(_calls.cancel_task(self.id, reason)).json())

    def retry(self, **order: Any) -> wire.Task:
        """Starts a failed or cancelled task over. Needs the token of an operator."""
        return cast(wire.Task, self._client._perform(_calls.retry_task(self.id, order)).json())

    def edit(self, **changes: Any) -> wire.Task:
        """Changes priority, run_at, delay, payload, patch or tags of a task that has not started."""
        return cast(wire.Task, self._client._perform(_calls.edit_task(self.id, changes)).json())

    def explain(self) -> wire.Explanation:
        return cast(wire.Explanation, self._client._perform(_calls.explain_task(self.id)).json())

    def runs(self) -> List[wire.Run]:
        return cast(List[wire.Run], self._client._perform(_calls.list_runs(self.id)).json()["runs"])

    def log(self, *, follow: bool = False) -> Iterator[wire.LogPageRecordsItem]:
        """What the runs of the task have printed; with `follow`, until the task has ended."""
        after, has_ended = 0, not follow
        while True:
            records = self._client._perform(_calls.read_log(self.id, after)).json()["records"]
            yield from records
            if records:
                after = records[-1]["seq"]
            elif has_ended:
                return
            else:
                task = self._client._perform(_calls.wait_for_task(self.id, _LOG_POLL_S)).json()
                has_ended = task["state"] in ENDED

    def __repr__(self) -> str:
        return f"Handle({self.id!r})"


class Client:
    """Speaks to a Drover server. Safe to use from several threads, and in the children of a fork.

    url      http://HOST:PORT, https://HOST:PORT[?ca=FILE], unix:PATH, or several with commas; else DROVER_STORE
    token    else DROVER_TOKEN
    timeout  seconds for an answer, without what a wait takes
    retries  how often a call is repeated that may be repeated
    floats   "decimal": numbers with a fraction are Decimal, digit for digit
    """

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        timeout: float = 10.0,
        retries: int = 8,
        floats: str = "float",
    ) -> None:
        self._settings = Settings.make(url, token, timeout, retries, floats)
        self._transport = Transport(self._settings)

    @classmethod
    def _of(cls, settings: Settings) -> "Client":
        client = cls.__new__(cls)
        client._settings = settings
        client._transport = Transport(settings)
        return client

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    @overload
    def enqueue(self, type: str, payload: object = None, **options: Any) -> Handle[Any]: ...

    @overload
    def enqueue(self, type: Task[Any, R], payload: object = None, **options: Any) -> Handle[R]: ...

    def enqueue(self, type: Union[str, Task[Any, Any]], payload: object = None, **options: Any) -> Handle[Any]:
        """Enqueues a task. Options are the members of a TaskSpec; durations may be seconds, times a datetime.

        The call is repeated until it is answered and makes one task all the same. `payload_text` is a payload as JSON text.
        `Task.enqueue` does the same and also types the payload.
        """
        call = _calls.enqueue(spec_of(type, payload, options), _calls.new_key())
        return self._handle(self._perform(call).json())

    def enqueue_many(self, tasks: Sequence[NewTask], *, key: Optional[str] = None) -> List[Handle[Any]]:
        """Enqueues tasks all or nothing. A task is a pair of type and payload, or a mapping with `type`, `payload` and options.

        `ref` names a task, and `depends_on=["@ref"]` makes another one wait for it. `key` makes it one batch, however often it is sent.
        """
        specs = specs_of(list(tasks))
        if not specs:
            return []
        key = _calls.check_name(key, "key") if key is not None else _calls.new_key()
        answer = self._perform(_calls.enqueue_many(specs, key)).json()
        return [self._handle(one) for one in answer["tasks"]]

    def task(self, task_id: str) -> Handle[Any]:
        return Handle(self, str(task_id))

    def list(self, *, page: int = 200, **filters: Any) -> Iterator[wire.Task]:
        """Tasks, newest first: by type, queue, owner, state (one or a list), tag, spawner, worker, since, until, search, class_, …"""
        cursor: Optional[str] = None
        while True:
            found = self._perform(_calls.list_tasks(filters, page, cursor)).json()
            yield from found["tasks"]
            cursor = found["cursor"]
            if cursor is None:
                return

    def questions(self, *, page: int = 200, **filters: Any) -> Iterator[wire.Question]:
        """Questions, newest first: by state, owner, task (that asked), spawner (whose answer is awaited) and to ("human" or "spawner")."""
        cursor: Optional[str] = None
        while True:
            found = self._perform(_calls.list_questions(filters, page, cursor)).json()
            yield from found["questions"]
            cursor = found["cursor"]
            if cursor is None:
                return

    def question(self, question_id: str) -> QuestionHandle:
        return QuestionHandle(self, str(question_id))

    def events(
        self,
        after: Optional[int] = None,
        *,
        task: Optional[str] = None,
        queue: Optional[str] = None,
        type: Optional[str] = None,
        owner: Optional[str] = None,
    ) -> Iterator[DroverEvent]:
        """Events as they happen, from now on or after a number. A broken connection is resumed; what is lost comes as a Gap."""
        filters = {"task": task, "queue": queue, "type": type, "owner": owner}
        if after is None:
            after = int(self._perform(_calls.last_event()).json()["seq"])
        return self._follow(EventCursor(after, filters, self._settings.loads))

    def _follow(self, cursor: EventCursor) -> Iterator[DroverEvent]:
        while True:
            call = _calls.event_stream(cursor.after, cursor.filters)
            attempts = Attempts(call, 0, len(self._settings.addresses), PATIENCE_S)
            while True:
                cursor.begin()
                try:
                    for data in self._transport.stream(call, SILENCE_S):
                        yield from cursor.feed(data)
                    pause = 0.1  # the server said goodbye
                except Trouble as trouble:
                    if trouble.is_silence and cursor.frames == 0:
                        yield from self._follow_pages(cursor)
                    pause = attempts.pause_after(trouble)
                time.sleep(pause)
                if cursor.frames:
                    break

    def _follow_pages(self, cursor: EventCursor) -> Iterator[DroverEvent]:
        """For clients behind a proxy that holds streams back."""
        seen: Optional[int] = None
        while True:
            found = cursor.take_page(self._perform(_calls.events_page(cursor.after)).json())
            yield from found
            if not found:
                answer = self._transport.perform(_calls.wait_for_change(seen, POLL_S), patience_s=PATIENCE_S)
                seen = int(answer.json()["changes"])

    def call(self, method: str, path: str, body: object = None, *, repeat: Optional[bool] = None) -> Any:
        """Any other operation of the REST API: its answer as Python values, or as text if it is not JSON.

        A call that is not a GET is not repeated when it may have taken effect, unless `repeat` says that this does no harm.
        """
        may_repeat = method == "GET" if repeat is None else repeat
        call = _calls.send(method, path, body, repeat=Repeat.FREELY if may_repeat else Repeat.NEVER)
        return value_of(self._perform(call))

    def _perform(self, call: Call) -> Answer:
        return self._transport.perform(call)

    def _handle(self, enqueued: Mapping[str, Any]) -> Handle[Any]:
        return Handle(self, str(enqueued["id"]), bool(enqueued["deduplicated"]))


def value_of(answer: Answer) -> Any:
    is_json = "json" in answer.headers.get("content-type", "") and "ndjson" not in answer.headers.get("content-type", "")
    return answer.json() if is_json else answer.text or None


__all__ = ["Client", "Gap", "Handle"]

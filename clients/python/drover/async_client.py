"""AsyncClient: the names of Client, awaited."""

from __future__ import annotations

import asyncio
import time
from typing import Any, AsyncIterator, Generic, List, Mapping, Optional, Sequence, TypeVar, Union, cast, overload

from . import _calls, wire
from ._aio_transport import AsyncTransport
from ._calls import POLL_S, Answer, Call, Repeat
from ._retry import PATIENCE_S, Attempts, Trouble
from ._settings import Settings
from .client import ENDED, patience_s, poll_s, result_of, value_of
from .events import SILENCE_S, DroverEvent, EventCursor
from .questions import AsyncQuestionHandle
from .task_types import NewTask, Task, spec_of, specs_of

R = TypeVar("R")

_LOG_POLL_S = 1.0


class AsyncHandle(Generic[R]):
    """One task, by its id. Cancelling a wait leaves the task alone."""

    def __init__(self, client: "AsyncClient", task_id: str, deduplicated: bool = False) -> None:
        self._client = client
        self.id = task_id
        self.deduplicated = deduplicated

    async def get(self) -> wire.Task:
        return cast(wire.Task, (await self._client._perform(_calls.show_task(self.id))).json())

    async def member_text(self, member: str) -> Optional[str]:
        """The JSON text of a member of the task, `payload` or `result` for example, with every digit as it was written."""
        return (await self._client._perform(_calls.show_task(self.id))).member_text((member,))

    async def wait(self, timeout: Optional[float] = None) -> wire.Task:
        """Waits until the task has ended. After `timeout` seconds it raises WaitTimeout; the task goes on."""
        deadline = None if timeout is None else time.monotonic() + timeout
        has_answered = False
        while True:
            call = _calls.wait_for_task(self.id, poll_s(deadline, self.id))
            answer = await self._client._transport.perform(call, patience_s=patience_s(deadline, has_answered))
            task = cast(wire.Task, answer.json())
            if task["state"] in ENDED:
                return task
            has_answered = True

    async def result(self, timeout: Optional[float] = None) -> R:
        """The result of the task, once it is there. Raises TaskFailed, TaskCancelled or WaitTimeout if there is none."""
        return cast(R, result_of(await self.wait(timeout)))

    async def cancel(self, reason: Optional[str] = None) -> wire.CancelOutcome:
        return cast(wire.CancelOutcome, (await self._client._perform(_calls.cancel_task(self.id, reason))).json())

    async def retry(self, **order: Any) -> wire.Task:
        """Starts a failed or cancelled task over. Needs the token of an operator."""
        return cast(wire.Task, (await self._client._perform(_calls.retry_task(self.id, order))).json())

    async def edit(self, **changes: Any) -> wire.Task:
        """Changes priority, run_at, delay, payload, patch or tags of a task that has not started."""
        return cast(wire.Task, (await self._client._perform(_calls.edit_task(self.id, changes))).json())

    async def explain(self) -> wire.Explanation:
        return cast(wire.Explanation, (await self._client._perform(_calls.explain_task(self.id))).json())

    async def runs(self) -> List[wire.Run]:
        return cast(List[wire.Run], (await self._client._perform(_calls.list_runs(self.id))).json()["runs"])

    async def log(self, *, follow: bool = False) -> AsyncIterator[wire.LogPageRecordsItem]:
        """What the runs of the task have printed; with `follow`, until the task has ended."""
        after, has_ended = 0, not follow
        while True:
            records = (await self._client._perform(_calls.read_log(self.id, after))).json()["records"]
            for record in records:
                yield record
            if records:
                after = records[-1]["seq"]
            elif has_ended:
                return
            else:
                task = (await self._client._perform(_calls.wait_for_task(self.id, _LOG_POLL_S))).json()
                has_ended = task["state"] in ENDED

    def __repr__(self) -> str:
        return f"AsyncHandle({self.id!r})"


class AsyncClient:
    """Speaks to a Drover server from asyncio. The options are those of Client.

    max_connections  how many calls may be on their way at once; each wait is one
    """

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        timeout: float = 10.0,
        retries: int = 8,
        floats: str = "float",
        max_connections: int = 1000,
    ) -> None:
        self._settings = Settings.make(url, token, timeout, retries, floats)
        self._transport = AsyncTransport(self._settings, max_connections)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        self._transport.close()

    @overload
    async def enqueue(self, type: str, payload: object = None, **options: Any) -> AsyncHandle[Any]: ...

    @overload
    async def enqueue(self, type: Task[Any, R], payload: object = None, **options: Any) -> AsyncHandle[R]: ...

    async def enqueue(self, type: Union[str, Task[Any, Any]], payload: object = None, **options: Any) -> AsyncHandle[Any]:
        """Enqueues a task: see Client.enqueue."""
        call = _calls.enqueue(spec_of(type, payload, options), _calls.new_key())
        return self._handle((await self._perform(call)).json())

    async def enqueue_many(self, tasks: Sequence[NewTask], *, key: Optional[str] = None) -> List[AsyncHandle[Any]]:
        """Enqueues tasks all or nothing: see Client.enqueue_many."""
        specs = specs_of(list(tasks))
        if not specs:
            return []
        key = _calls.check_name(key, "key") if key is not None else _calls.new_key()
        answer = (await self._perform(_calls.enqueue_many(specs, key))).json()
        return [self._handle(one) for one in answer["tasks"]]

    def task(self, task_id: str) -> AsyncHandle[Any]:
        return AsyncHandle(self, str(task_id))

    async def list(self, *, page: int = 200, **filters: Any) -> AsyncIterator[wire.Task]:
        """Tasks, newest first: see Client.list."""
        cursor: Optional[str] = None
        while True:
            found = (await self._perform(_calls.list_tasks(filters, page, cursor))).json()
            for task in found["tasks"]:
                yield task
            cursor = found["cursor"]
            if cursor is None:
                return

    async def questions(self, *, page: int = 200, **filters: Any) -> AsyncIterator[wire.Question]:
        """Questions, newest first: see Client.questions."""
        cursor: Optional[str] = None
        while True:
            found = (await self._perform(_calls.list_questions(filters, page, cursor))).json()
            for question in found["questions"]:
                yield question
            cursor = found["cursor"]
            if cursor is None:
                return

    def question(self, question_id: str) -> AsyncQuestionHandle:
        return AsyncQuestionHandle(self, str(question_id))

    async def events(
        self,
        after: Optional[int] = None,
        *,
        task: Optional[str] = None,
        queue: Optional[str] = None,
        type: Optional[str] = None,
        owner: Optional[str] = None,
    ) -> AsyncIterator[DroverEvent]:
        """Events as they happen, from now on or after a number. A broken connection is resumed; what is lost comes as a Gap."""
        filters = {"task": task, "queue": queue, "type": type, "owner": owner}
        if after is None:
            after = int((await self._perform(_calls.last_event())).json()["seq"])
        cursor = EventCursor(after, filters, self._settings.loads)
        while True:
            call = _calls.event_stream(cursor.after, filters)
            attempts = Attempts(call, 0, len(self._settings.addresses), PATIENCE_S)
            while True:
                cursor.begin()
                try:
                    async for data in self._transport.stream(call, SILENCE_S):
                        for event in cursor.feed(data):
                            yield event
                    pause = 0.1
                except Trouble as trouble:
                    if trouble.is_silence and cursor.frames == 0:
                        async for event in self._follow_pages(cursor):
                            yield event
                    pause = attempts.pause_after(trouble)
                await asyncio.sleep(pause)
                if cursor.frames:
                    break

    async def _follow_pages(self, cursor: EventCursor) -> AsyncIterator[DroverEvent]:
        seen: Optional[int] = None
        while True:
            found = cursor.take_page((await self._perform(_calls.events_page(cursor.after))).json())
            for event in found:
                yield event
            if not found:
                answer = await self._transport.perform(_calls.wait_for_change(seen, POLL_S), patience_s=PATIENCE_S)
                seen = int(answer.json()["changes"])

    async def call(self, method: str, path: str, body: object = None, *, repeat: Optional[bool] = None) -> Any:
        """Any other operation of the REST API: see Client.call."""
        may_repeat = method == "GET" if repeat is None else repeat
        call = _calls.send(method, path, body, repeat=Repeat.FREELY if may_repeat else Repeat.NEVER)
        return value_of(await self._perform(call))

    async def _perform(self, call: Call) -> Answer:
        return await self._transport.perform(call)

    def _handle(self, enqueued: Mapping[str, Any]) -> AsyncHandle[Any]:
        return AsyncHandle(self, str(enqueued["id"]), bool(enqueued["deduplicated"]))

"""What a handler knows of its task, and what it may say while it runs."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, cast

from . import _calls, wire
from ._ask import ANSWER_WAIT_S, SERVER_AWAY_S, AnswerWait
from ._retry import Trouble
from ._run import Run, children_of
from ._transport import Abort
from .errors import Invalid, NotFound, Unavailable
from .task_types import NewTask, specs_of

if TYPE_CHECKING:
    from ._engine import Engine
    from .async_client import AsyncClient, AsyncHandle
    from .client import Client, Handle


class _Base:
    def __init__(self, run: Run, engine: "Engine") -> None:
        self._run = run
        self._engine = engine

    @property
    def task(self) -> wire.Task:
        """The task as it was claimed."""
        return self._run.task

    @property
    def payload_text(self) -> Optional[str]:
        """The payload as JSON text, with every digit as it was written; None if there is none."""
        return self._run.member_text("payload")

    @property
    def earlier_runs(self) -> List[wire.Run]:
        """Newest first."""
        return self._run.earlier_runs

    @property
    def checkpoint_value(self) -> Any:
        """What an earlier run left with `checkpoint`; None if there is nothing."""
        return self._run.task["checkpoint"]

    @property
    def draining(self) -> bool:
        """The worker takes no more tasks. Handlers may finish; after the drain time they are told to stop."""
        return self._engine.is_draining

    @property
    def reason(self) -> Optional[str]:
        """Why to stop: "cancelled", "timeout", "lost" (the lease) or "shutdown"; None: go on."""
        self._run.look(time.monotonic())
        return self._run.reason

    def cancelled(self) -> bool:
        """Whether to stop. No exception is ever raised into a handler, so one that runs for long must ask."""
        return self.reason is not None

    def wait_children(self, children: Optional[Sequence[Any]] = None) -> None:
        """When the handler returns, the task waits for its children (all, or those) without a slot, and runs again when they are done.

        What the handler returns is dropped. `task["suspends"]` tells the runs apart.
        """
        self._run.note_activity()
        if self._run.task["at_most_once"]:
            raise Invalid("this task may run at most once, so it cannot suspend and run again", "invalid_argument")
        self._run.awaited = children_of(children)

    def _spawn_key(self, key: Optional[str]) -> str:
        if key is None:
            return _calls.new_key()
        return f"{self._run.task_id}:{self._run.task['generation']}:{key}"

    @staticmethod
    def _parent(parent_id: str, task: Optional[wire.Task]) -> Dict[str, Any]:
        names = ("ref", "type", "state", "result", "error")
        parent: Dict[str, Any] = {"id": parent_id, **{name: task.get(name) if task else None for name in names}}
        parent["expired"] = task is None
        return parent


class Context(_Base):
    """For a handler that is a plain function. Safe to use from several threads."""

    def __init__(self, run: Run, engine: "Engine", client: "Client") -> None:
        super().__init__(run, engine)
        self._client = client

    def wait_cancelled(self, timeout: Optional[float] = None) -> bool:
        """Waits until there is a reason to stop, at most `timeout` seconds. Returns cancelled()."""
        if self.cancelled():
            return True
        woken = threading.Event()
        if self._run.listen(woken.set):
            woken.wait(timeout)
            self._run.unlisten(woken.set)
        return self.cancelled()

    def progress(self, percent: int, message: Optional[str] = None) -> None:
        self._run.note_activity()
        self._client._perform(_calls.progress(self._run.task_id, self._run.lease_id, percent, message))

    def log(self, text: str, *, stream: wire.LogStream = "stdout") -> None:
        """Appends to the task's log. When the server goes away a line may be lost; none is written twice."""
        self._run.note_activity()
        try:
            self._client._perform(_calls.append_log(self._run.task_id, self._run.lease_id, text, stream))
        except Unavailable:
            pass

    def checkpoint(self, value: object) -> None:
        """Leaves a value for the next run of the task."""
        self._run.note_activity()
        self._client._perform(_calls.checkpoint(self._run.task_id, self._run.lease_id, value))

    def spawn(self, tasks: Sequence[NewTask], key: Optional[str] = None) -> "List[Handle[Any]]":
        """Enqueues children, all or nothing. With a key, a run that is repeated gets the same children."""
        self._run.note_activity()
        call = _calls.spawn(self._run.task_id, self._run.lease_id, specs_of(list(tasks)), self._spawn_key(key))
        return [self._client._handle(one) for one in self._client._perform(call).json()["tasks"]]

    def ask(
        self,
        text: str,
        *,
        options: Optional[Sequence[str]] = None,
        schema: object = None,
        default: object = None,
        expires: Optional[_calls.Duration] = None,
        to: Optional[wire.AskedOf] = None,
        key: Optional[str] = None,
        wait: float = ANSWER_WAIT_S,
    ) -> Any:
        """Asks a person, or the task that spawned this one (`to="spawner"`), and returns the answer.

        Without one within `wait` seconds, or when the worker drains, it raises AwaitingAnswer: let that through, and the task waits
        without a slot and runs again; the same question is then answered at once. A task that may run at most once waits here for as
        long as it takes. Time limits stand still meanwhile.
        """
        self._run.note_activity()
        spec = _calls.question_spec(text, options, schema, default, expires, to, key)
        question = self._client._perform(_calls.ask(self._run.task_id, self._run.lease_id, spec)).json()
        with AnswerWait(self._run, self._engine, question, wait) as waiting:
            while True:
                look_s = waiting.next_look_s()
                if look_s is None:
                    return waiting.answer()
                waiting.question = self._look(question["id"], look_s) or waiting.question

    def _look(self, question_id: str, look_s: float) -> Optional[wire.Question]:
        """None: no server answered, or the run is to stop."""
        abort = Abort()
        if not self._run.listen(abort.raise_):
            return None
        try:
            call = _calls.show_question(question_id, look_s)
            return cast(wire.Question, self._client._transport.attempt(call, abort).json())
        except (Trouble, Unavailable):
            self.wait_cancelled(SERVER_AWAY_S)
            return None
        finally:
            self._run.unlisten(abort.raise_)

    def parents(self) -> List[Dict[str, Any]]:
        """The tasks that this one depends on, children that it waited for among them: id, ref, type, state, result, error, expired."""
        self._run.note_activity()
        found = []
        for parent_id in self._run.task["depends_on"]:
            try:
                answer = self._client._perform(_calls.show_parent(self._run.task_id, parent_id))
                found.append(self._parent(parent_id, answer.json()))
            except NotFound:
                # Either the parent has been deleted, or this run is no longer ours: then this raises.
                self._client.task(self._run.task_id).get()
                found.append(self._parent(parent_id, None))
        return found


class AsyncContext(_Base):
    """For a handler that is an `async def`."""

    def __init__(self, run: Run, engine: "Engine", client: "AsyncClient") -> None:
        super().__init__(run, engine)
        self._client = client

    async def wait_cancelled(self, timeout: Optional[float] = None) -> bool:
        """Waits until there is a reason to stop, at most `timeout` seconds. Returns cancelled()."""
        if self.cancelled():
            return True
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(woken.set)
            except RuntimeError:
                pass  # the loop is closed: nobody waits any more

        if self._run.listen(wake):
            timer = loop.call_later(timeout, woken.set) if timeout is not None else None
            try:
                await woken.wait()
            finally:
                self._run.unlisten(wake)
                if timer is not None:
                    timer.cancel()
        return self.cancelled()

    async def progress(self, percent: int, message: Optional[str] = None) -> None:
        self._run.note_activity()
        await self._client._perform(_calls.progress(self._run.task_id, self._run.lease_id, percent, message))

    async def log(self, text: str, *, stream: wire.LogStream = "stdout") -> None:
        """Appends to the task's log. When the server goes away a line may be lost; none is written twice."""
        self._run.note_activity()
        try:
            await self._client._perform(_calls.append_log(self._run.task_id, self._run.lease_id, text, stream))
        except Unavailable:
            pass

    async def checkpoint(self, value: object) -> None:
        """Leaves a value for the next run of the task."""
        self._run.note_activity()
        await self._client._perform(_calls.checkpoint(self._run.task_id, self._run.lease_id, value))

    async def spawn(self, tasks: Sequence[NewTask], key: Optional[str] = None) -> "List[AsyncHandle[Any]]":
        """Enqueues children, all or nothing. With a key, a run that is repeated gets the same children."""
        self._run.note_activity()
        call = _calls.spawn(self._run.task_id, self._run.lease_id, specs_of(list(tasks)), self._spawn_key(key))
        return [self._client._handle(one) for one in (await self._client._perform(call)).json()["tasks"]]

    async def ask(
        self,
        text: str,
        *,
        options: Optional[Sequence[str]] = None,
        schema: object = None,
        default: object = None,
        expires: Optional[_calls.Duration] = None,
        to: Optional[wire.AskedOf] = None,
        key: Optional[str] = None,
        wait: float = ANSWER_WAIT_S,
    ) -> Any:
        """Asks a person, or the task that spawned this one: see Context.ask."""
        self._run.note_activity()
        spec = _calls.question_spec(text, options, schema, default, expires, to, key)
        question = (await self._client._perform(_calls.ask(self._run.task_id, self._run.lease_id, spec))).json()
        with AnswerWait(self._run, self._engine, question, wait) as waiting:
            while True:
                look_s = waiting.next_look_s()
                if look_s is None:
                    return waiting.answer()
                waiting.question = await self._look(question["id"], look_s) or waiting.question

    async def _look(self, question_id: str, look_s: float) -> Optional[wire.Question]:
        """None: no server answered, or the run is to stop."""
        look = asyncio.ensure_future(self._client._transport.attempt(_calls.show_question(question_id, look_s)))
        stop = asyncio.ensure_future(self.wait_cancelled())
        try:
            await asyncio.wait({look, stop}, return_when=asyncio.FIRST_COMPLETED)
            return cast(wire.Question, look.result().json()) if look.done() else None
        except (Trouble, Unavailable):
            await self.wait_cancelled(SERVER_AWAY_S)
            return None
        finally:
            look.cancel()
            stop.cancel()

    async def parents(self) -> List[Dict[str, Any]]:
        """The tasks that this one depends on, children that it waited for among them: id, ref, type, state, result, error, expired."""
        self._run.note_activity()
        found = []
        for parent_id in self._run.task["depends_on"]:
            try:
                answer = await self._client._perform(_calls.show_parent(self._run.task_id, parent_id))
                found.append(self._parent(parent_id, answer.json()))
            except NotFound:
                # Either the parent has been deleted, or this run is no longer ours: then this raises.
                await self._client.task(self._run.task_id).get()
                found.append(self._parent(parent_id, None))
        return found

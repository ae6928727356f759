"""TaskQueue: the queue that a prototype had, with the same names, on a Drover server.

Its tasks wait in one queue of Drover, whatever their type. A dequeued task is held by a lease, which is renewed until the task is
completed or failed; when the process dies, the lease runs out and the task is given to another worker.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum
from typing import Any, Dict, List, Optional, Set, Union
from uuid import UUID, uuid4

from . import _calls, _json, wire
from ._calls import POLL_S, Answer
from ._keeper import LeaseKeeper
from ._run import End, Run
from .async_client import AsyncClient
from .errors import DroverError, NotFound, StaleLease, error_of
from .version import __version__

log = logging.getLogger("drover.task_queue")

_PRIORITY_STEP = 20
_PRIORITY_MAX = 9
_LEASE_S = 60.0
_HEARTBEAT_S = 10.0

TaskId = Union[UUID, str]


class TaskStatus(Enum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    STALLED = "stalled"


_WAITING = {"blocked": TaskStatus.PENDING, "scheduled": TaskStatus.PENDING}


def _status(state: str) -> TaskStatus:
    return _WAITING.get(state) or TaskStatus(state)


def _now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass
class Task:
    subagent_type: str
    prompt: str
    id: UUID = field(default_factory=uuid4)
    system_prompt: Optional[str] = None
    model: Optional[str] = None
    status: TaskStatus = TaskStatus.PENDING
    priority: int = 100  # lower comes first
    created_at: datetime = field(default_factory=_now)
    started_at: Optional[datetime] = None
    completed_at: Optional[datetime] = None
    agent_id: Optional[str] = None  # the worker that has it, or had it last
    retry_count: int = 0
    max_retries: int = 3
    result: Any = None
    error: Optional[str] = None
    exit_code: Optional[int] = None
    tags: List[str] = field(default_factory=list)
    user_id: Optional[str] = None  # None: the owner of the token
    parent_task: Optional[UUID] = None


@dataclass
class TaskSummary:
    id: UUID
    subagent_type: str
    status: TaskStatus
    priority: int
    created_at: datetime
    user_id: str


def _time(text: Optional[str]) -> Optional[datetime]:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def _created(task: wire.Task) -> datetime:
    return _time(task["created_at"]) or _now()


def _read(task: wire.Task) -> Task:
    error = task["error"]
    return Task(
        id=UUID(task["id"]),
        subagent_type=task["type"],
        prompt=task["prompt"] or "",
        system_prompt=task["system_prompt"],
        model=task["model"],
        status=_status(task["state"]),
        priority=task["priority"] * _PRIORITY_STEP,
        created_at=_created(task),
        started_at=_time(task["started_at"]),
        completed_at=_time(task["finished_at"]),
        agent_id=task["worker_id"],
        retry_count=max(task["attempts"] - 1, 0),
        max_retries=task["max_attempts"] - 1,
        result=task["result"],
        error=error["message"] if error else None,
        exit_code=task["exit_code"],
        tags=list(task["tags"]),
        user_id=task["owner"],
        parent_task=UUID(task["parent_id"]) if task["parent_id"] else None,
    )


def _spec(task: Task, queue: str) -> Dict[str, Any]:
    options = {
        "id": task.id,
        "queue": queue,
        "prompt": task.prompt,
        "system_prompt": task.system_prompt,
        "model": task.model,
        "priority": min(max(task.priority // _PRIORITY_STEP, 0), _PRIORITY_MAX),
        "max_attempts": task.max_retries + 1,
        "tags": task.tags or None,
        "owner": task.user_id,
        "parent_id": task.parent_task,
        "request_id": f"task:{task.id}",  # enqueued again, it is the same task
    }
    return _calls.task_spec(task.subagent_type, None, options)


class TaskQueue:
    """`user_id` is the owner of a task and `requeue_stalled` and `retry` are an operator's, so use the token of an operator."""

    def __init__(self, client: AsyncClient, queue: str = "tasks", *, lease: float = _LEASE_S, heartbeat: float = _HEARTBEAT_S) -> None:
        self._client = client
        self._queue = _calls.check_name(queue, "queue")
        self._lease_s = lease
        self._heartbeat_s = heartbeat
        self._keepers: Dict[str, LeaseKeeper] = {}
        self._held: Dict[str, "tuple[Run, LeaseKeeper]"] = {}
        self._background: Set["asyncio.Future[None]"] = set()

    async def __aenter__(self) -> "TaskQueue":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Renews nothing any more: what is still held goes to other workers when its lease runs out."""
        await asyncio.gather(*self._background)
        keepers = list(self._keepers.values())
        self._keepers.clear()
        self._held.clear()
        for keeper in keepers:
            await asyncio.get_running_loop().run_in_executor(None, keeper.close)

    # --- tasks

    async def enqueue(self, task: Task) -> UUID:
        answer = await self._client._perform(_calls.enqueue(_spec(task, self._queue), _calls.new_key()))
        return UUID(answer.json()["id"])

    async def dequeue(self, worker_id: TaskId, timeout_ms: int = 5000) -> Optional[Task]:
        """The next task, or None after that time. The worker is registered if it is not yet."""
        keeper = self._keepers.get(str(worker_id)) or await self._register(worker_id, 1)
        deadline = time.monotonic() + timeout_ms / 1000
        while True:
            wait_s = min(max(deadline - time.monotonic(), 0.0), POLL_S, self._lease_s / 3)
            sent_at = time.monotonic()
            answer = await self._claim(keeper.worker_id, wait_s)
            for claimed in answer.json()["tasks"]:
                run = Run(claimed, answer, 0, sent_at + self._lease_s, self._lease_s)
                self._held[run.task_id] = (run, keeper)
                keeper.hold([run])
                return _read(claimed["task"])
            if time.monotonic() >= deadline:
                return None

    async def _claim(self, worker_id: str, wait_s: float) -> Answer:
        request = {
            "serves": [{"queue": self._queue}], "n": 1, "lease_ms": int(self._lease_s * 1000), "claim_key": _calls.new_key()
        }  # fmt: skip
        call = _calls.claim(worker_id, request, wait_s)
        try:
            return await self._client._perform(call)
        except NotFound:  # the store has forgotten the worker
            await self._register(worker_id, 1)
            return await self._client._perform(call)
        except asyncio.CancelledError:  # the claim may have taken a task all the same
            giving_back = asyncio.ensure_future(self._give_back(worker_id, request))
            self._background.add(giving_back)
            giving_back.add_done_callback(self._background.discard)
            raise

    async def _give_back(self, worker_id: str, request: Dict[str, Any]) -> None:
        """The claim once more, under its key: what it took goes back to the head of the line."""
        try:
            answer = await self._client._perform(_calls.claim(worker_id, request, 0.0))
            runs = [Run(one, answer, place, 0.0, 0.0) for place, one in enumerate(answer.json()["tasks"])]
            if runs:
                await self._client._perform(_calls.settle_texts([run.not_begun().text for run in runs]))
        except DroverError as error:
            log.warning("could not give back what a cancelled dequeue took: %s", error)

    async def complete(self, task_id: TaskId, result: Any = None) -> None:
        _json.encode(result)  # what is not JSON is the caller's mistake, and the task stays held
        run, keeper = self._find(task_id)
        await self._settle(run, keeper, run.ended_with(result))

    async def fail(self, task_id: TaskId, error: str, retryable: bool = True) -> None:
        """Tried again while retries are left, unless it is not retryable."""
        run, keeper = self._find(task_id)
        await self._settle(run, keeper, run.failed_because("agent_error" if retryable else "invalid", error))

    async def cancel(self, task_id: TaskId) -> None:
        await self._client.task(str(task_id)).cancel()

    async def retry(self, task_id: TaskId) -> None:
        """Starts a failed or cancelled task over."""
        await self._client.task(str(task_id)).retry()

    async def requeue_stalled(self, max_age_ms: int = 60000) -> int:
        """Takes back the tasks of workers that have been silent for `max_age_ms`. Drover does it by itself when a lease runs out."""
        answer = await self._client._perform(_calls.requeue_stalled(max_age_ms))
        return int(answer.json()["requeued"])

    async def get_status(self, task_id: TaskId) -> TaskStatus:
        return _status((await self._client.task(str(task_id)).get())["state"])

    async def list_by_user(self, user_id: str, status: Union[TaskStatus, str, None] = None) -> List[TaskSummary]:
        state: Any = None
        if status is not None:
            wanted = TaskStatus(status)
            state = [wanted.value] + [state for state, read_as in _WAITING.items() if read_as is wanted]
        found = []
        async for task in self._client.list(owner=user_id, queue=self._queue, state=state):
            found.append(
                TaskSummary(
                    UUID(task["id"]), task["type"], _status(task["state"]), task["priority"] * _PRIORITY_STEP, _created(task), task["owner"]
                )
            )
        return found

    async def get(self, task_id: TaskId) -> Task:
        return _read(await self._client.task(str(task_id)).get())

    # --- workers

    async def register_worker(self, agent_id: TaskId, capacity: int = 1) -> None:
        await self._register(agent_id, capacity)

    async def heartbeat(self, agent_id: TaskId) -> None:
        """Renews what the worker holds, now. It is renewed by itself, too."""
        keeper = self._keepers.get(str(agent_id)) or await self._register(agent_id, 1)
        keeper.beat_now()

    async def unregister_worker(self, agent_id: TaskId, reason: str = "") -> None:
        """Gives back what the worker holds."""
        keeper = self._keepers.pop(str(agent_id), None)
        if keeper is not None:
            for run, holder in list(self._held.values()):
                if holder is keeper:
                    await self._settle(run, keeper, run.released())
            await asyncio.get_running_loop().run_in_executor(None, keeper.close)
        await self._client._perform(_calls.unregister_worker(str(agent_id), reason))

    async def _register(self, agent_id: TaskId, capacity: int) -> LeaseKeeper:
        worker_id = _calls.check_name(str(agent_id), "worker")
        old = self._keepers.get(worker_id)
        registration = {"id": worker_id, "version": f"python-{__version__}", "serves": [{"queue": self._queue}], "capacity": capacity}
        await self._client._perform(_calls.register_worker(registration))
        if old is not None:
            return old
        keeper = LeaseKeeper(self._client._settings, registration, self._lease_s, self._heartbeat_s, lambda: None)
        keeper.start()
        self._keepers[worker_id] = keeper
        return keeper

    def _find(self, task_id: TaskId) -> "tuple[Run, LeaseKeeper]":
        held = self._held.get(str(task_id))
        if held is None:
            raise StaleLease(f"task {task_id} was not dequeued here, or its end was told already", "stale_lease", 409)
        return held

    async def _settle(self, run: Run, keeper: LeaseKeeper, end: End) -> None:
        """If no server answers, the task stays held, and its end can be told again."""
        items = (await self._client._perform(_calls.settle_texts([end.text]))).json()["items"]
        run.has_ended = True
        keeper.let_go([run])
        self._held.pop(run.task_id, None)
        if "code" in items[0]:
            raise error_of(items[0]["code"], items[0]["detail"], 409)

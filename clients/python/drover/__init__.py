"""Drover: a durable task queue. A client, workers with handlers in Python, and nothing but the standard library.

    import drover

    @drover.task("resize", max_attempts=3)
    def resize(payload: dict, ctx: drover.Context) -> dict:
        return {"width": payload["width"] // 2}

    client = drover.Client("http://127.0.0.1:7711", token)
    print(resize.enqueue(client, {"width": 100}).result(timeout=60))
    drover.Worker(client, [resize], concurrency=8).run()
"""

from . import wire
from ._state import Report
from .async_client import AsyncClient, AsyncHandle
from .client import Client, Handle
from .context import AsyncContext, Context
from .errors import (
    AwaitingAnswer,
    DroverError,
    Invalid,
    NotFound,
    QueueFull,
    RequestConflict,
    StaleLease,
    StaleLeaseError,
    TaskCancelled,
    TaskError,
    TaskFailed,
    Unanswered,
    Unauthorised,
    Unavailable,
    WaitTimeout,
    WrongState,
)
from .events import DroverEvent, Gap
from .questions import AsyncQuestionHandle, QuestionHandle
from .task_queue import TaskQueue
from .task_types import Task, task
from .version import __version__
from .worker import AsyncWorker, Worker

__all__ = [
    "AsyncClient",
    "AsyncContext",
    "AsyncHandle",
    "AsyncQuestionHandle",
    "AsyncWorker",
    "AwaitingAnswer",
    "Client",
    "Context",
    "DroverError",
    "DroverEvent",
    "Gap",
    "Handle",
    "Invalid",
    "NotFound",
    "QuestionHandle",
    "QueueFull",
    "Report",
    "RequestConflict",
    "StaleLease",
    "StaleLeaseError",
    "Task",
    "TaskCancelled",
    "TaskError",
    "TaskFailed",
    "TaskQueue",
    "Unanswered",
    "Unauthorised",
    "Unavailable",
    "WaitTimeout",
    "Worker",
    "WrongState",
    "__version__",
    "task",
    "wire",
]

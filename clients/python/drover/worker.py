"""Worker and AsyncWorker: run tasks with handlers in this process."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import Any, Awaitable, Callable, Dict, List, Optional, Sequence, Set, cast

from ._engine import Engine
from ._run import End, Run
from ._state import Options, Report
from ._threads import HandlerThreads
from .async_client import AsyncClient
from .client import Client
from .context import AsyncContext, Context
from .errors import Invalid
from .task_types import Task

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def _options(
    concurrency: int, lease: float, heartbeat: Optional[float], drain: float, grace: float, on_ignored_abort: str, worker_id: Optional[str]
) -> Options:
    if on_ignored_abort not in ("hold", "exit"):
        raise Invalid("on_ignored_abort: expected 'hold' or 'exit'", "invalid_argument")
    beat = heartbeat if heartbeat is not None else min(5.0, lease / 6)
    return Options(concurrency, lease, beat, drain, grace, on_ignored_abort == "exit", worker_id)


def _call_handler(engine: Engine, client: Client, run: Run) -> End:
    """Whatever a handler raises is how its run ended; nothing of it ends a thread."""
    try:
        run.begin()
        handler = cast(Callable[..., Any], engine.handlers[run.task["type"]].handler)
        return run.ended_with(handler(run.task["payload"], Context(run, engine, client)))
    except BaseException as error:  # noqa: B902
        return run.failed_with(error)


class Worker:
    """Runs handlers that are plain functions, each in a thread.

    concurrency       how many tasks run at once
    lease, heartbeat  seconds: how long a silent worker keeps its tasks, and how often it renews them
    drain             seconds that handlers get to finish after the first stop() or signal; then they are told to stop
    on_ignored_abort  what happens when a handler goes on after it was told to stop: "hold" waits for it, "exit" kills the process
                      after `grace` seconds
    """

    def __init__(
        self,
        client: Client,
        tasks: Sequence[Task[Any, Any]],
        *,
        concurrency: int = 1,
        lease: float = 30.0,
        heartbeat: Optional[float] = None,
        drain: float = 30.0,
        grace: float = 10.0,
        on_ignored_abort: str = "hold",
        worker_id: Optional[str] = None,
    ) -> None:
        for one in tasks:
            if one.is_async:
                raise Invalid(f"the handler of {one.name!r} is an async def; run it with AsyncWorker", "invalid_argument")
        self._client = client
        options = _options(concurrency, lease, heartbeat, drain, grace, on_ignored_abort, worker_id)
        self._engine = Engine(client._settings, tasks, options)

    def run(self, *, signals: bool = True, until_empty: bool = False) -> Report:
        """Works until stop() or, with `until_empty`, until its queues are empty. Once.

        With `signals`, in the main thread, SIGTERM and SIGINT stop it: the first lets handlers finish, the second tells them to stop.
        """
        engine = self._engine
        threads = HandlerThreads(engine.options.concurrency, self._work, engine.state.handlers_rest)
        is_main = threading.current_thread() is threading.main_thread()
        before: Dict[signal.Signals, Any] = {}
        try:
            for one in _SIGNALS if signals and is_main else ():
                before[one] = signal.signal(one, lambda *_: engine.stop())
            return engine.run(threads.start, until_empty)
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
            threads.close()

    def stop(self) -> None:
        """From any thread: claims no more and lets handlers finish for the drain time. Again: tells them to stop now."""
        self._engine.stop()

    @property
    def report(self) -> Report:
        return self._engine.state.report

    def _work(self, run: Run) -> None:
        self._engine.state.finished(run, _call_handler(self._engine, self._client, run))


class AsyncWorker:
    """Runs handlers that are an `async def` on the event loop, and plain functions in threads. Claims, settlements and renewals have
    threads of their own, so a handler that blocks the loop costs no lease. The options are those of Worker."""

    def __init__(
        self,
        client: AsyncClient,
        tasks: Sequence[Task[Any, Any]],
        *,
        concurrency: int = 1,
        lease: float = 30.0,
        heartbeat: Optional[float] = None,
        drain: float = 30.0,
        grace: float = 10.0,
        on_ignored_abort: str = "hold",
        worker_id: Optional[str] = None,
    ) -> None:
        self._client = client
        options = _options(concurrency, lease, heartbeat, drain, grace, on_ignored_abort, worker_id)
        self._engine = Engine(client._settings, tasks, options)
        self._sync_client = Client._of(client._settings)
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._handlers: Set["asyncio.Task[None]"] = set()

    async def run(self, *, signals: bool = True, until_empty: bool = False) -> Report:
        """Works until stop() or, with `until_empty`, until its queues are empty. Once. Cancelling it stops the worker."""
        engine = self._engine
        loop = self._loop = asyncio.get_running_loop()
        self._threads = HandlerThreads(engine.options.concurrency, self._work, engine.state.handlers_rest)
        handled: List[signal.Signals] = []
        if signals and threading.current_thread() is threading.main_thread():
            for one in _SIGNALS:
                loop.add_signal_handler(one, engine.stop)
                handled.append(one)
        done: "asyncio.Future[Report]" = loop.create_future()

        def work() -> None:
            try:
                report = engine.run(self._start, until_empty)
                loop.call_soon_threadsafe(_tell, done, report, None)
            except BaseException as error:  # noqa: B902
                loop.call_soon_threadsafe(_tell, done, None, error)

        threading.Thread(target=work, name="drover-worker", daemon=True).start()
        try:
            return await self._finish(done)
        finally:
            for one in handled:
                loop.remove_signal_handler(one)
            self._threads.close()
            self._sync_client.close()

    async def _finish(self, done: "asyncio.Future[Report]") -> Report:
        """A cancel is passed on only when the handlers have ended and their ends are told."""
        cancelled: Optional[BaseException] = None
        while True:
            try:
                report = await asyncio.shield(done)
                break
            except asyncio.CancelledError as error:
                if done.cancelled():
                    raise
                cancelled = error
                self._engine.stop()
        if cancelled is not None:
            raise cancelled
        return report

    def stop(self) -> None:
        """From any thread: claims no more and lets handlers finish for the drain time. Again: tells them to stop now."""
        self._engine.stop()

    @property
    def report(self) -> Report:
        return self._engine.state.report

    def _start(self, runs: List[Run]) -> None:
        """On the claimer's thread."""
        on_loop = [run for run in runs if self._is_async(run)]
        in_threads = [run for run in runs if not self._is_async(run)]
        if in_threads:
            self._threads.start(in_threads)
        if on_loop and self._loop is not None:
            self._loop.call_soon_threadsafe(self._start_here, on_loop)

    def _is_async(self, run: Run) -> bool:
        task = self._engine.handlers.get(run.task["type"])
        return task is not None and task.is_async

    def _start_here(self, runs: List[Run]) -> None:
        for run in runs:
            task = asyncio.ensure_future(self._work_here(run))
            self._handlers.add(task)
            task.add_done_callback(self._handlers.discard)

    async def _work_here(self, run: Run) -> None:
        engine = self._engine
        try:
            run.begin()
            handler = cast(Callable[..., Awaitable[Any]], engine.handlers[run.task["type"]].handler)
            end = run.ended_with(await handler(run.task["payload"], AsyncContext(run, engine, self._client)))
        except BaseException as error:  # noqa: B902
            end = run.failed_with(error)
        engine.state.finished(run, end)
        asyncio.get_running_loop().call_soon(engine.state.handlers_rest)

    def _work(self, run: Run) -> None:
        self._engine.state.finished(run, _call_handler(self._engine, self._sync_client, run))


def _tell(done: "asyncio.Future[Report]", report: Optional[Report], error: Optional[BaseException]) -> None:
    if done.done():
        return
    if error is not None:
        done.set_exception(error)
    elif report is not None:
        done.set_result(report)


__all__ = ["AsyncWorker", "Report", "Worker"]

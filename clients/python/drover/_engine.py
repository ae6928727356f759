"""What Worker and AsyncWorker share. They differ only in how a handler is started.

Threads: the one that calls `run` waits for orders, one claims (_claimer), one settles (_settler), one renews (_keeper), and handlers run in
threads or on an event loop. What they share is in _state.
"""

from __future__ import annotations

import logging
import os
import queue
import socket
import threading
import time
from typing import Any, Callable, Dict, Optional, Sequence

from . import _calls
from ._claimer import Claimer, Start
from ._keeper import LeaseKeeper
from ._retry import Backoff, Trouble
from ._run import SHUTDOWN
from ._settings import Settings
from ._settler import Settler
from ._state import Options, Phase, Report, WorkerState
from ._transport import Transport
from .errors import DroverError, Invalid, Unavailable
from .task_types import Task
from .version import __version__

log = logging.getLogger("drover.worker")

_LAST_CALL_S_MAX = 5.0
_LOOK_UP_S = 0.5


class Engine:
    def __init__(self, settings: Settings, tasks: Sequence[Task[Any, Any]], options: Options) -> None:
        options.check()
        self.handlers = {task.name: task for task in tasks}
        if not tasks or len(self.handlers) != len(tasks):
            raise Invalid("a worker needs handlers, one for each type", "invalid_argument")
        if any(task.handler is None for task in tasks):
            raise Invalid("a task type without a handler cannot be worked on", "invalid_argument")
        self.settings = settings
        self.options = options
        self.state = WorkerState(options.concurrency)
        self._serves = [{"queue": task.queue, "type": task.name} for task in tasks]
        self._why = "stopped"
        self._drain_until: Optional[float] = None

    @property
    def is_draining(self) -> bool:
        return self.state.phase is not Phase.WORKING

    def stop(self) -> None:
        """From any thread, and from a signal handler: only tells the thread that runs."""
        self.state.orders.put("stop")

    def run(self, start: Start, until_empty: bool) -> Report:
        """Works until it is stopped. Raises what made going on impossible."""
        report = self.state.report
        if report.worker_id:
            raise RuntimeError("a worker runs once; make another one")
        report.worker_id = self.options.worker_id or _new_worker_id()
        self._transport = Transport(self.settings)
        self._keeper = self._make_keeper()
        self._claimer = Claimer(self.state, self._transport, self._keeper, self.options, self._serves, start, until_empty)
        try:
            if self._register_first():
                self._work()
        finally:
            self._keeper.close()
            self._transport.close()
        if self.state.failure is not None:
            raise self.state.failure
        return report

    def _make_keeper(self) -> LeaseKeeper:
        registration: Dict[str, Any] = {
            "id": self.state.report.worker_id,
            "version": f"python-{__version__}",
            "serves": self._serves,
            "capacity": self.options.concurrency,
        }
        return LeaseKeeper(
            self.settings,
            registration,
            self.options.lease_s,
            self.options.heartbeat_s,
            lambda: self.state.orders.put("drain"),
            self.options.grace_s if self.options.exits_when_ignored else None,
        )

    def _register_first(self) -> bool:
        """Waits for a server. False: it was stopped meanwhile."""
        backoff = Backoff()
        while True:
            try:
                self._keeper.register()
                self._keeper.start()
                return True
            except (Trouble, Unavailable) as problem:
                log.warning("cannot register: %s", problem)
                error = problem.error if isinstance(problem, Trouble) else problem
            try:
                if self.state.orders.get(timeout=backoff.next_s(error.retry_after_ms)) == "stop":
                    return False
            except queue.Empty:
                pass

    def _work(self) -> None:
        settler = Settler(self.state, self._transport, self._keeper)
        threads = [self._thread("drover-claimer", self._claimer.work), self._thread("drover-settler", settler.work)]
        try:
            while not self._is_finished():
                self._obey(self._next_order())
        finally:  # also when a signal handler raised something
            self._enter(Phase.GIVEN_UP)
        for thread in threads:
            thread.join()
        self._unregister()

    def _thread(self, name: str, loop: Callable[[], None]) -> threading.Thread:
        """A bug in a thread must end the worker, not leave it deaf."""

        def work() -> None:
            try:
                loop()
            except BaseException as error:  # noqa: B902
                log.critical("a thread of the worker failed", exc_info=True)
                self.state.failure = error if isinstance(error, DroverError) else DroverError(f"a thread of the worker failed: {error!r}")
                self.state.orders.put("give_up")

        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread

    def _is_finished(self) -> bool:
        with self.state.lock:
            return self.state.is_finished()

    def _next_order(self) -> str:
        """Looks up now and then: the system may hand a signal to another thread, and Python handles it only when this one wakes."""
        while True:
            left = _LOOK_UP_S
            if self.state.phase is Phase.DRAINING and self._drain_until is not None:
                left = min(self._drain_until - time.monotonic(), left)
                if left <= 0:
                    return "drained_long_enough"
            try:
                return self.state.orders.get(timeout=left)
            except queue.Empty:
                pass

    def _obey(self, order: str) -> None:
        phase = self.state.phase
        if order == "give_up":
            self._enter(Phase.GIVEN_UP)
        elif order == "drain" and phase is Phase.WORKING:
            log.info("told to drain: running tasks may finish, no more are claimed")
            self._why = "drained"
            self._enter(Phase.DRAINING)
        elif order == "stop" and phase is Phase.WORKING:
            self._drain_until = time.monotonic() + self.options.drain_s
            self._enter(Phase.DRAINING)
            self._keeper.announce_draining()
        elif order == "stop" and phase is Phase.DRAINING and self._drain_until is None:
            self._drain_until = time.monotonic() + self.options.drain_s
        elif order in ("stop", "drained_long_enough") and phase is Phase.DRAINING:
            self._enter(Phase.STOPPING)
        elif order == "stop" and phase is Phase.STOPPING:
            self._enter(Phase.GIVEN_UP)

    def _enter(self, phase: Phase) -> None:
        with self.state.lock:
            self.state.phase = phase
            self.state.claimer_woken.notify()
            self.state.settler_woken.notify()
            running = list(self.state.running.values())
        self._claimer.abort.raise_()
        if phase in (Phase.STOPPING, Phase.GIVEN_UP):
            for run in running:
                run.stop(SHUTDOWN)

    def _unregister(self) -> None:
        self._keeper.close()
        try:
            call = _calls.unregister_worker(self._keeper.worker_id, self._why)
            call.timeout_s = min(self.settings.timeout_s, _LAST_CALL_S_MAX)
            self._transport.attempt(call)
        except (Trouble, DroverError) as error:
            log.info("could not unregister: %s", error)


def _new_worker_id() -> str:
    """When it runs, not when it is made: a worker may be made before a fork."""
    host = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "-" for c in socket.gethostname()[:64])
    return f"{host or 'python'}.{os.getpid()}.{_calls.new_key()[:12]}"

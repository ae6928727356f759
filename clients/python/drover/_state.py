"""What the threads of a worker share: the runs it holds, the ends it has to tell, and whether it goes on.

Everything is guarded by one lock. The claimer and the settler sleep on conditions of it and are woken only when there is something to do
for them, so that a worker of short tasks does not spend its time waking threads.
"""

from __future__ import annotations

import enum
import queue
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Deque, Dict, Optional, Tuple

from . import _calls
from ._run import End, Run
from .errors import DroverError, Invalid

_CONCURRENCY_MAX = 1000


class Phase(enum.Enum):
    WORKING = 1
    DRAINING = 2  # claims no more; handlers may finish
    STOPPING = 3  # handlers are told to stop
    GIVEN_UP = 4  # does not wait for handlers any more


@dataclass
class Report:
    """What a worker did."""

    worker_id: str = ""
    claimed: int = 0
    completed: int = 0
    failed: int = 0
    released: int = 0
    cancelled: int = 0
    suspended: int = 0
    refused: int = 0  # ends that came too late, or that the server would not take


@dataclass
class Options:
    concurrency: int
    lease_s: float
    heartbeat_s: float
    drain_s: float
    grace_s: float
    exits_when_ignored: bool
    worker_id: Optional[str]

    def check(self) -> None:
        if not 1 <= self.concurrency <= _CONCURRENCY_MAX:
            raise Invalid(f"concurrency: expected 1 to {_CONCURRENCY_MAX}", "invalid_argument")
        if not (0 < self.heartbeat_s and self.heartbeat_s * 2 <= self.lease_s):
            raise Invalid("a lease must last for at least two heartbeats", "invalid_argument")
        if self.drain_s < 0 or self.grace_s < 0:
            raise Invalid("drain and grace: expected 0 or more seconds", "invalid_argument")
        if self.worker_id is not None:
            _calls.check_name(self.worker_id, "worker_id")


Ended = Tuple[Run, End]


class WorkerState:
    def __init__(self, concurrency: int) -> None:
        self.concurrency = concurrency
        self.report = Report()
        # Orders to the thread that runs the worker. Signal handlers give some: put() may interrupt itself.
        self.orders: "queue.SimpleQueue[str]" = queue.SimpleQueue()
        self.lock = threading.Lock()
        self.claimer_woken = threading.Condition(self.lock)
        self.settler_woken = threading.Condition(self.lock)
        self.phase = Phase.WORKING
        self.running: Dict[str, Run] = {}  # by lease id
        self.ended: Deque[Ended] = deque()  # still to be told
        self.settling = 0  # how many ends are on their way
        self.is_claiming = False
        self.claimer_sleeps = False
        self.settler_sleeps = False
        self.failure: Optional[DroverError] = None

    # --- for what starts handlers

    def finished(self, run: Run, end: End) -> None:
        """A handler has returned. `handlers_rest` is called next, unless another handler starts at once."""
        run.has_ended = True
        with self.lock:
            self.running.pop(run.lease_id, None)
            self.ended.append((run, end))
            self.look_if_stopping()

    def handlers_rest(self) -> None:
        """No run waits to be started: so the ends of short ones are told together."""
        with self.lock:
            self.wake()

    # --- with the lock held

    def wake(self) -> None:
        if self.settler_sleeps and self.ended:
            self.settler_sleeps = False
            self.settler_woken.notify()
        if self.claimer_sleeps and self.may_claim():
            self.claimer_sleeps = False
            self.claimer_woken.notify()

    def look_if_stopping(self) -> None:
        """A worker that stops may have finished now."""
        if self.phase is not Phase.WORKING:
            self.orders.put("look")

    def free_slots(self) -> int:
        """There may be as many untold ends as slots. Beyond that nothing is claimed."""
        held = len(self.running) + len(self.ended) + self.settling
        return min(self.concurrency - len(self.running), 2 * self.concurrency - held)

    def may_claim(self) -> bool:
        """Few slots are not worth a call while ends are on their way: more will be free in a moment."""
        free = self.free_slots()
        is_worth_it = not (self.settling or self.ended) or 2 * free >= self.concurrency
        return self.phase is Phase.WORKING and free > 0 and is_worth_it

    def is_finished(self) -> bool:
        is_idle = not (self.running or self.ended or self.settling or self.is_claiming)
        return self.phase is Phase.GIVEN_UP or (self.phase is not Phase.WORKING and is_idle)

    # --- for the claimer

    def sleep_unless_stopped(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with self.lock:
            while self.phase is Phase.WORKING and time.monotonic() < deadline:
                self.claimer_woken.wait(min(deadline - time.monotonic(), 3600.0))

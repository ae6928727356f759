"""What Worker and AsyncWorker share: claiming, settling, draining. They differ only in how a handler is started.

Threads: the one that calls `run` waits for orders, one claims, one settles, and the keeper renews. All shared state is guarded by
`_lock`; the claimer and the settler sleep on conditions of it and are woken only when there is something to do for them.
"""

from __future__ import annotations

import enum
import logging
import os
import queue
import socket
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence, Tuple

from . import _calls
from ._calls import POLL_S, Answer
from ._keeper import LeaseKeeper, take_beat
from ._retry import Backoff, Trouble
from ._run import SHUTDOWN, End, Run
from ._settings import Settings
from ._transport import Abort, Transport
from .errors import DroverError, Invalid, NotFound, StaleLease, Unavailable, WrongState, error_of
from .task_types import Task
from .version import __version__

log = logging.getLogger("drover.worker")

_SETTLE_ITEMS_MAX = 256
_SETTLE_BYTES_MAX = 4 * 1024 * 1024
_ONE_BYTES_MAX = 15 * 1024 * 1024  # beside it a server reads 16 MiB at most
_EMPTY_POLL_S = 1.0
_CONCURRENCY_MAX = 1000
_LAST_BEAT_S_MAX = 5.0
_LOOK_UP_S = 0.5


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


_COUNTED = {
    "complete": "completed", "fail": "failed", "release": "released", "cancelled": "cancelled", "suspend": "suspended"
}  # fmt: skip


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


Start = Callable[[List[Run]], None]
Ended = Tuple[Run, End]


class Engine:
    def __init__(self, settings: Settings, tasks: Sequence[Task[Any, Any]], options: Options) -> None:
        options.check()
        self.settings = settings
        self.options = options
        self.handlers = {task.name: task for task in tasks}
        if not tasks or len(self.handlers) != len(tasks):
            raise Invalid("a worker needs handlers, one for each type", "invalid_argument")
        if any(task.handler is None for task in tasks):
            raise Invalid("a task type without a handler cannot be worked on", "invalid_argument")
        self.serves = [{"queue": task.queue, "type": task.name} for task in tasks]
        self.report = Report()
        self._start: Start = lambda runs: None
        self._orders: "queue.SimpleQueue[str]" = queue.SimpleQueue()  # also from signal handlers: put() may interrupt itself
        self._lock = threading.Lock()
        self._claimer_woken = threading.Condition(self._lock)
        self._settler_woken = threading.Condition(self._lock)
        self._phase = Phase.WORKING
        self._running: Dict[str, Run] = {}
        self._ended: Deque[Ended] = deque()
        self._settling = 0  # how many ends are on their way
        self._is_claiming = False
        self._claimer_sleeps = False
        self._settler_sleeps = False
        self._abort = Abort()
        self._failure: Optional[DroverError] = None
        self._why = "stopped"
        self._until_empty = False
        self._drain_until: Optional[float] = None

    # --- for everybody

    @property
    def is_draining(self) -> bool:
        return self._phase is not Phase.WORKING

    def stop(self) -> None:
        """From any thread, and from a signal handler: only says so to the thread that runs."""
        self._orders.put("stop")

    def run(self, start: Start, until_empty: bool) -> Report:
        """Works until it is stopped. Raises what made going on impossible."""
        if self.report.worker_id:
            raise RuntimeError("a worker runs once; make another one")
        self._start = start
        self._until_empty = until_empty
        worker_id = self.options.worker_id or f"{socket.gethostname()[:64] or 'python'}.{os.getpid()}.{_calls.new_key()[:12]}"
        worker_id = "".join(c if c.isascii() and (c.isalnum() or c in "_.:@-") else "-" for c in worker_id)
        self.report.worker_id = worker_id
        registration = {
            "id": worker_id, "version": f"python-{__version__}", "serves": self.serves, "capacity": self.options.concurrency
        }  # fmt: skip
        exit_after = self.options.grace_s if self.options.exits_when_ignored else None
        self._keeper = LeaseKeeper(
            self.settings, registration, self.options.lease_s, self.options.heartbeat_s, lambda: self._orders.put("drain"), exit_after
        )
        self._transport = Transport(self.settings)
        try:
            if self._register_first():
                self._work()
        finally:
            self._keeper.close()
            self._transport.close()
        if self._failure is not None:
            raise self._failure
        return self.report

    def finished(self, run: Run, end: End) -> None:
        """A handler has returned. What starts handlers calls `handlers_rest` next, unless it starts another at once."""
        run.has_ended = True
        with self._lock:
            self._running.pop(run.lease_id, None)
            self._ended.append((run, end))
            if self._phase is not Phase.WORKING:
                self._orders.put("look")

    def handlers_rest(self) -> None:
        """Called by what starts handlers when none waits to be started: so the ends of short ones go together."""
        with self._lock:
            self._wake()

    def _wake(self) -> None:
        """Holds the lock."""
        if self._settler_sleeps and self._ended:
            self._settler_sleeps = False
            self._settler_woken.notify()
        if self._claimer_sleeps and self._may_claim():
            self._claimer_sleeps = False
            self._claimer_woken.notify()

    # --- the thread that calls run

    def _register_first(self) -> bool:
        backoff = Backoff()
        while True:
            try:
                self._keeper.register()
                self._keeper.start()
                return True
            except Trouble as trouble:
                log.warning("cannot register: %s", trouble)
                pause = backoff.next_s(trouble.error.retry_after_ms)
            except Unavailable as error:  # a store that went backwards: somebody has to decide
                log.warning("cannot register: %s", error)
                pause = backoff.next_s(error.retry_after_ms)
            try:
                if self._orders.get(timeout=pause) == "stop":
                    return False
            except queue.Empty:
                pass

    def _work(self) -> None:
        claimer = threading.Thread(target=self._guarded(self._claim_loop), name="drover-claimer", daemon=True)
        settler = threading.Thread(target=self._guarded(self._settle_loop), name="drover-settler", daemon=True)
        claimer.start()
        settler.start()
        try:
            while not self._is_finished():
                self._obey(self._next_order())
        finally:  # also when a signal handler raised something
            self._enter(Phase.GIVEN_UP)
        claimer.join()
        settler.join()
        self._unregister()

    def _guarded(self, loop: Callable[[], None]) -> Callable[[], None]:
        """A bug in a thread must end the worker, not leave it deaf."""

        def work() -> None:
            try:
                loop()
            except BaseException as error:  # noqa: B902
                log.critical("a thread of the worker failed", exc_info=True)
                failure = error if isinstance(error, DroverError) else DroverError(f"a thread of the worker failed: {error!r}")
                with self._lock:
                    self._failure = self._failure or failure
                self._orders.put("give_up")

        return work

    def _next_order(self) -> str:
        """Looks up now and then: the system may hand a signal to another thread, and Python handles it only when this one wakes."""
        while True:
            timeout = _LOOK_UP_S
            if self._phase is Phase.DRAINING and self._drain_until is not None:
                timeout = min(max(self._drain_until - time.monotonic(), 0.0), _LOOK_UP_S)
            try:
                return self._orders.get(timeout=timeout)
            except queue.Empty:
                if self._phase is Phase.DRAINING and self._drain_until is not None and time.monotonic() >= self._drain_until:
                    return "drained_long_enough"

    def _obey(self, order: str) -> None:
        if order == "look":
            return
        if order == "give_up":
            return self._enter(Phase.GIVEN_UP)
        if order == "drain":
            if self._phase is Phase.WORKING:
                self._why = "drained"
                log.info("told to drain: running tasks may finish, no more are claimed")
                self._enter(Phase.DRAINING)
        elif order == "stop" and self._phase is Phase.WORKING:
            self._drain_until = time.monotonic() + self.options.drain_s
            self._enter(Phase.DRAINING)
            self._keeper.announce_draining()
        elif order == "stop" and self._phase is Phase.DRAINING and self._drain_until is None:
            self._drain_until = time.monotonic() + self.options.drain_s
        elif self._phase is Phase.DRAINING:
            self._enter(Phase.STOPPING)
        elif order == "stop" and self._phase is Phase.STOPPING:
            self._enter(Phase.GIVEN_UP)

    def _enter(self, phase: Phase) -> None:
        with self._lock:
            self._phase = phase
            self._claimer_woken.notify()
            self._settler_woken.notify()
            running = list(self._running.values())
        self._abort.raise_()
        if phase in (Phase.STOPPING, Phase.GIVEN_UP):
            for run in running:
                run.stop(SHUTDOWN)

    def _is_finished(self) -> bool:
        with self._lock:
            if self._phase is Phase.GIVEN_UP:
                return True
            is_idle = not self._running and not self._ended and not self._settling and not self._is_claiming
            return self._phase is not Phase.WORKING and is_idle

    def _unregister(self) -> None:
        self._keeper.close()
        try:
            call = _calls.unregister_worker(self.report.worker_id, self._why)
            call.timeout_s = min(self.settings.timeout_s, _LAST_BEAT_S_MAX)
            self._transport.attempt(call)
        except (Trouble, DroverError) as error:
            log.info("could not unregister: %s", error)

    # --- the claimer

    def _free_slots(self) -> int:
        """As many ends as there are slots may be untold: then no more is claimed."""
        held = len(self._running) + len(self._ended) + self._settling
        return min(self.options.concurrency - len(self._running), 2 * self.options.concurrency - held)

    def _may_claim(self) -> bool:
        """Few slots are not worth a call while ends are on their way: more will be free in a moment."""
        free = self._free_slots()
        is_worth_it = not (self._settling or self._ended) or 2 * free >= self.options.concurrency
        return self._phase is Phase.WORKING and free > 0 and is_worth_it

    def _claim_loop(self) -> None:
        backoff = Backoff()
        poll_s = 0.0 if self._until_empty else POLL_S
        while True:
            with self._lock:
                while self._phase is Phase.WORKING and not self._may_claim():
                    self._claimer_sleeps = True
                    self._claimer_woken.wait()
                self._claimer_sleeps = False
                if self._phase is not Phase.WORKING:
                    return
                n = self._free_slots()
                self._is_claiming = True
                priorities = [run.task["priority"] for run in self._running.values()]
            got = self._claim(n, priorities, poll_s, backoff)
            with self._lock:
                self._is_claiming = False
                if self._phase is not Phase.WORKING:
                    self._orders.put("look")
            if self._until_empty and not got:
                poll_s = self._finish_if_empty()
            elif self._until_empty:
                poll_s = 0.0

    def _claim(self, n: int, priorities: List[int], poll_s: float, backoff: Backoff) -> int:
        """One claim, repeated under its key until it is answered. How many tasks it got."""
        request = {
            "serves": self.serves, "n": n, "lease_ms": int(self.options.lease_s * 1000), "capacity": self.options.concurrency,
            "running_priorities": priorities, "claim_key": _calls.new_key(),
        }  # fmt: skip
        is_unsure = False  # a claim without an answer may have taken something
        while True:
            with self._lock:
                is_working = self._phase is Phase.WORKING
            if not is_working:
                if is_unsure:
                    self._give_back_unseen(request)
                return 0
            call = _calls.claim(self.report.worker_id, request, poll_s)
            sent_at = time.monotonic()
            try:
                answer = self._transport.attempt(call, self._abort)
                backoff.reset()
                return self._take_claimed(answer, sent_at)
            except Trouble as trouble:
                is_unsure = True
                if not self._abort.is_raised:
                    log.warning("cannot claim tasks: %s", trouble)
                    self._sleep_unless_stopped(backoff.next_s(trouble.error.retry_after_ms))
            except NotFound as error:
                log.info("registering again: %s", error)
                self._keeper.register_again()
                self._sleep_unless_stopped(backoff.next_s())
            except Unavailable as error:
                log.warning("cannot claim tasks: %s", error)
                if self._until_empty:
                    return self._give_up(error)
                self._sleep_unless_stopped(backoff.next_s(error.retry_after_ms))
            except DroverError as error:
                return self._give_up(error)

    def _give_up(self, error: DroverError) -> int:
        """What was claimed may finish; then the error is raised."""
        log.error("cannot claim tasks: %s", error)
        with self._lock:
            self._failure = error
        self._orders.put("stop")
        self._sleep_unless_stopped(float("inf"))
        return 0

    def _sleep_unless_stopped(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with self._lock:
            while self._phase is Phase.WORKING and time.monotonic() < deadline:
                self._claimer_woken.wait(min(deadline - time.monotonic(), 3600.0))

    def _give_back_unseen(self, request: Dict[str, Any]) -> None:
        """The worker stops, and the answer to its last claim is not known: asked once more, to give back what it took."""
        call = _calls.claim(self.report.worker_id, {**request, "n": 1}, 0.0)
        call.timeout_s = min(self.settings.timeout_s, _LAST_BEAT_S_MAX)
        sent_at = time.monotonic()
        try:
            self._take_claimed(self._transport.attempt(call), sent_at)
        except (Trouble, DroverError) as error:
            log.info("the answer to the last claim is lost: %s", error)

    def _take_claimed(self, answer: Answer, sent_at: float) -> int:
        claimed = answer.json()["tasks"]
        if not claimed:
            return 0
        lease_s = self.options.lease_s
        runs = [Run(one, answer, place, sent_at + lease_s, lease_s) for place, one in enumerate(claimed)]
        if time.monotonic() - sent_at > self.options.heartbeat_s:
            self._freshen(runs)
        self._keeper.hold(runs)
        begun: List[Run] = []
        with self._lock:
            self.report.claimed += len(runs)
            now = time.monotonic()
            for run in runs:
                if self._phase is Phase.WORKING and run.reason is None and now < run.fence_at():
                    self._running[run.lease_id] = run
                    begun.append(run)
                else:
                    run.has_ended = True
                    self._ended.append((run, run.not_begun()))
            self._wake()
        if begun:
            self._start(begun)
        return len(runs)

    def _freshen(self, runs: List[Run]) -> None:
        """The claim waited for long. Its leases are younger than we know, so they are renewed before anything starts."""
        sent_at = time.monotonic()
        try:
            call = _calls.heartbeat(self.report.worker_id, [run.lease for run in runs], self.options.lease_s)
            beat = self._transport.attempt(call).json()
            take_beat(runs, beat["leases"], sent_at + self.options.lease_s)
        except (Trouble, DroverError) as error:
            log.warning("could not renew what was just claimed: %s", error)

    def _finish_if_empty(self) -> float:
        """How long the next claim is to wait."""
        with self._lock:
            if self._running or self._ended or self._settling:
                return _EMPTY_POLL_S
        try:
            backlog = self._transport.attempt(_calls.backlog(self.serves)).json()
            if backlog["waiting"] == 0 and backlog["running"] == 0:
                self._orders.put("stop")
                self._sleep_unless_stopped(float("inf"))
                return 0.0
        except Trouble as trouble:
            log.warning("cannot count what is left: %s", trouble)
        return _EMPTY_POLL_S

    # --- the settler

    def _settle_loop(self) -> None:
        backoff = Backoff()
        while True:
            with self._lock:
                while not self._ended and self._phase is not Phase.GIVEN_UP:
                    self._settler_sleeps = True
                    self._settler_woken.wait()
                self._settler_sleeps = False
                if not self._ended:
                    return
                batch = self._take_batch()
                self._settling = len(batch)
            again, pause = self._settle(batch, backoff)
            with self._lock:
                self._settling = 0
                self._ended.extendleft(reversed(again))
                self._wake()
                has_given_up = self._phase is Phase.GIVEN_UP
                if self._phase is not Phase.WORKING:
                    self._orders.put("look")
            if pause and has_given_up:
                return
            if pause:
                time.sleep(pause)

    def _take_batch(self) -> List[Ended]:
        batch: List[Ended] = []
        size = 0
        while self._ended and len(batch) < _SETTLE_ITEMS_MAX:
            size += len(self._ended[0][1].text)
            if batch and size > _SETTLE_BYTES_MAX:
                break
            batch.append(self._ended.popleft())
        return batch

    def _settle(self, batch: List[Ended], backoff: Backoff) -> Tuple[List[Ended], float]:
        """What is to be told again, and after which pause."""
        run, end = batch[0]
        if len(batch) == 1 and len(end.text) > _ONE_BYTES_MAX:
            return self._refused(run, end, "result_too_large", "the result is too large"), 0.0
        try:
            items = self._transport.attempt(_calls.settle_texts([one.text for _, one in batch])).json()["items"]
        except Trouble as trouble:
            log.warning("cannot report ends of runs: %s", trouble)
            return self._without_lost(batch), backoff.next_s(trouble.error.retry_after_ms)
        except Unavailable as error:
            log.warning("cannot report ends of runs: %s", error)
            return self._without_lost(batch), backoff.next_s(error.retry_after_ms)
        except DroverError as error:
            return self._take_refusal(batch, error, backoff), 0.0
        backoff.reset()
        return self._take_answers(batch, items), 0.0

    def _take_refusal(self, batch: List[Ended], error: DroverError, backoff: Backoff) -> List[Ended]:
        """Nothing was taken. Of several ends one may be at fault, so they are told one by one."""
        again: List[Ended] = []
        for run, end in batch:
            if isinstance(error, Invalid) and len(batch) > 1:
                again += self._settle([(run, end)], backoff)[0]
            else:
                again += self._refused(run, end, "result_too_large" if error.status == 413 else error.code, error.detail)
        return again

    def _take_answers(self, batch: List[Ended], items: List[Dict[str, Any]]) -> List[Ended]:
        again: List[Ended] = []
        done: List[Run] = []
        for (run, end), item in zip(batch, items):
            code = item.get("code")
            if code is None:
                done.append(run)
                name = _COUNTED[end.kind]
                setattr(self.report, name, getattr(self.report, name) + 1)
            elif isinstance(error_of(code, item["detail"]), Unavailable):
                again.append((run, end))
            else:
                again += self._refused(run, end, code, item["detail"])
        self._keeper.let_go(done)
        return again

    def _refused(self, run: Run, end: End, code: str, detail: str) -> List[Ended]:
        """What is told instead, if there is something."""
        error = error_of(code, detail)
        is_not_ours = isinstance(error, (StaleLease, NotFound, WrongState))
        if not is_not_ours and isinstance(error, Invalid):
            instead = run.failure_instead(code, detail, end.kind)
            if instead is not None:
                return [(run, instead)]
        log.log(logging.INFO if is_not_ours else logging.WARNING, "the end of task %s was refused: %s", run.task_id, error)
        self.report.refused += 1
        self._keeper.let_go([run])
        return []

    def _without_lost(self, batch: List[Ended]) -> List[Ended]:
        """While the worker stops, an end is not told for longer than its lease lasts."""
        if self._phase not in (Phase.STOPPING, Phase.GIVEN_UP):
            return batch
        kept = []
        for ended in batch:
            if ended[0].expires_at > time.monotonic() and self._phase is not Phase.GIVEN_UP:
                kept.append(ended)
                continue
            log.warning("could not report how task %s ended: it will run again", ended[0].task_id)
            self.report.refused += 1
            self._keeper.let_go([ended[0]])
        return kept

"""Renews leases, in a thread and over a connection of its own, so that neither a busy handler nor a slow call costs one."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Sequence

from . import _calls
from ._retry import Trouble
from ._run import CANCELLED, LOST, Run
from ._settings import Settings
from ._transport import Transport
from .errors import DroverError

log = logging.getLogger("drover.worker")

_BEAT_RETRY_S_MAX = 1.0
_REGISTER_EVERY_BEATS = 6  # the store may have lost the registration, or somebody deleted it
_BEAT_TIMEOUT_S_MIN = 0.05


class LeaseKeeper:
    """Threads: any may call. `told_to_drain` and the stops of runs come from the keeper's own thread."""

    def __init__(
        self,
        settings: Settings,
        registration: Dict[str, Any],
        lease_s: float,
        heartbeat_s: float,
        told_to_drain: Callable[[], None],
        exit_after_s: Optional[float] = None,
    ) -> None:
        self._settings = settings
        self._transport = Transport(settings)
        self._registration = registration
        self.worker_id: str = registration["id"]
        self._lease_s = lease_s
        self._heartbeat_s = heartbeat_s
        self._told_to_drain = told_to_drain
        self._exit_after_s = exit_after_s
        self._changed = threading.Condition()
        self._held: Dict[str, Run] = {}
        self._next_beat = 0.0
        self._sleeps_until = 0.0
        self._registered_at: Optional[float] = None
        self._must_register = False
        self._is_closing = False
        self._thread = threading.Thread(target=self._work, name="drover-keeper", daemon=True)

    def register(self) -> None:
        """Raises Trouble or DroverError if the server does not take it."""
        with self._changed:
            registration = dict(self._registration)
            self._must_register = False
        self._transport.attempt(_calls.register_worker(registration))
        with self._changed:
            self._registered_at = time.monotonic()

    def start(self) -> None:
        self._next_beat = time.monotonic() + self._heartbeat_s
        self._thread.start()

    def close(self) -> None:
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()
        self._transport.close()

    def hold(self, runs: Sequence[Run]) -> None:
        with self._changed:
            for run in runs:
                self._held[run.lease_id] = run
            if runs and min(run.next_reason_at() for run in runs) < self._sleeps_until:
                self._changed.notify()

    def let_go(self, runs: Sequence[Run]) -> None:
        with self._changed:
            for run in runs:
                self._held.pop(run.lease_id, None)

    def register_again(self) -> None:
        with self._changed:
            self._must_register = True
            self._next_beat = 0.0
            self._changed.notify()

    def announce_draining(self) -> None:
        with self._changed:
            self._registration["draining"] = True
        self.register_again()

    def beat_now(self) -> None:
        with self._changed:
            self._next_beat = 0.0
            self._changed.notify()

    # --- the thread

    def _work(self) -> None:
        while True:
            now = time.monotonic()
            with self._changed:
                if self._is_closing:
                    return
                runs = list(self._held.values())
                is_due = now >= self._next_beat
            for run in runs:
                if not run.has_ended:
                    run.look(now)
            self._end_what_ignores(runs, now)
            if is_due:
                self._beat(runs, now)
            else:
                self._sleep()

    def _sleep(self) -> None:
        with self._changed:
            if self._is_closing:
                return
            until = self._next_beat
            for run in self._held.values():
                if run.reason is None and not run.has_ended:
                    until = min(until, run.next_reason_at())
                elif self._exit_after_s is not None and run.reason is not None and not run.has_ended:
                    until = min(until, run.stopped_at + self._exit_after_s)
            self._sleeps_until = until
            self._changed.wait(max(until - time.monotonic(), 0.001))
            self._sleeps_until = 0.0

    def _end_what_ignores(self, runs: List[Run], now: float) -> None:
        if self._exit_after_s is None:
            return
        for run in runs:
            if run.reason is not None and not run.has_ended and now >= run.stopped_at + self._exit_after_s:
                log.critical("the handler of task %s ignores that it is to stop (%s): ending the process", run.task_id, run.reason)
                os.kill(os.getpid(), signal.SIGKILL)

    def _beat(self, runs: List[Run], now: float) -> None:
        try:
            self._register_if_due(now)
            self._renew([run for run in runs if not run.is_lost], now)
            pause = self._heartbeat_s
        except Trouble as trouble:
            log.warning("heartbeat failed: %s", trouble)
            pause = min(self._heartbeat_s, _BEAT_RETRY_S_MAX)
        except DroverError as error:
            log.warning("heartbeat refused: %s", error)
            self._must_register = True
            pause = min(self._heartbeat_s, _BEAT_RETRY_S_MAX)
        with self._changed:
            self._next_beat = now + pause

    def _register_if_due(self, now: float) -> None:
        registered_at = self._registered_at
        is_old = registered_at is None or now - registered_at >= self._heartbeat_s * _REGISTER_EVERY_BEATS
        if self._must_register or is_old:
            self.register()

    def _renew(self, runs: List[Run], now: float) -> None:
        """Leases count from before the request was sent: never longer than in the store."""
        call = _calls.heartbeat(self.worker_id, [run.lease for run in runs], self._lease_s)
        fence = min((run.fence_at() for run in runs if run.reason is None), default=float("inf"))
        call.timeout_s = max(min(self._settings.timeout_s, fence - now), _BEAT_TIMEOUT_S_MIN)
        sent_at = time.monotonic()
        beat = self._transport.attempt(call).json()
        take_beat(runs, beat["leases"], sent_at + self._lease_s)
        if beat["drain"]:
            self._told_to_drain()


def take_beat(runs: Sequence[Run], answers: Sequence[str], expires_at: float) -> None:
    for run, answer in zip(runs, answers):
        if answer == "lost":
            run.is_lost = True
            run.stop(LOST)
            continue
        run.expires_at = max(run.expires_at, expires_at)
        if answer == "cancel_requested":
            run.stop(CANCELLED)

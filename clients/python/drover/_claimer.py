"""The thread that claims: one claim at a time, for as many tasks as there are free slots."""

from __future__ import annotations

import logging
import time
from typing import Any, Callable, Dict, List

from . import _calls
from ._calls import POLL_S, Answer
from ._keeper import LeaseKeeper, take_beat
from ._retry import Backoff, Trouble
from ._run import Run
from ._state import Options, Phase, WorkerState
from ._transport import Abort, Transport
from .errors import DroverError, NotFound, Unavailable

log = logging.getLogger("drover.worker")

_EMPTY_POLL_S = 1.0  # while a worker that is to end waits for the last tasks
_LAST_CALL_S_MAX = 5.0

Start = Callable[[List[Run]], None]


class Claimer:
    def __init__(
        self,
        state: WorkerState,
        transport: Transport,
        keeper: LeaseKeeper,
        options: Options,
        serves: List[Dict[str, str]],
        start: Start,
        until_empty: bool,
    ) -> None:
        self._state = state
        self._transport = transport
        self._keeper = keeper
        self._options = options
        self._serves = serves
        self._start = start
        self._until_empty = until_empty
        self._backoff = Backoff()
        self.abort = Abort()

    def work(self) -> None:
        """Until the worker stops."""
        state = self._state
        poll_s = 0.0 if self._until_empty else POLL_S
        while True:
            with state.lock:
                while state.phase is Phase.WORKING and not state.may_claim():
                    state.claimer_sleeps = True
                    state.claimer_woken.wait()
                state.claimer_sleeps = False
                if state.phase is not Phase.WORKING:
                    return
                state.is_claiming = True
                request = self._request()
            got = self._claim(request, poll_s)
            with state.lock:
                state.is_claiming = False
                state.look_if_stopping()
            if self._until_empty:
                poll_s = 0.0 if got else self._finish_if_empty()

    def _request(self) -> Dict[str, Any]:
        """With the lock held."""
        return {
            "serves": self._serves,
            "n": self._state.free_slots(),
            "lease_ms": int(self._options.lease_s * 1000),
            "capacity": self._options.concurrency,
            "running_priorities": [run.task["priority"] for run in self._state.running.values()],
            "claim_key": _calls.new_key(),
        }

    def _claim(self, request: Dict[str, Any], poll_s: float) -> int:
        """Repeats the claim under its key until it is answered. How many tasks it got."""
        is_unsure = False  # a claim without an answer may have taken something
        while True:
            if self._state.phase is not Phase.WORKING:
                if is_unsure:
                    self._give_back_unseen(request)
                return 0
            call = _calls.claim(self._keeper.worker_id, request, poll_s)
            sent_at = time.monotonic()
            try:
                answer = self._transport.attempt(call, self.abort)
                self._backoff.reset()
                return self._take(answer, sent_at)
            except Trouble as trouble:
                is_unsure = True
                if not self.abort.is_raised:
                    self._pause(trouble.error)
            except NotFound as error:  # the store has forgotten this worker
                self._keeper.register_again()
                self._pause(error)
            except Unavailable as error:  # a store that went backwards: somebody has to decide
                if self._until_empty:
                    return self._give_up(error)
                self._pause(error)
            except DroverError as error:
                return self._give_up(error)

    def _pause(self, error: DroverError) -> None:
        log.warning("cannot claim tasks: %s", error)
        self._state.sleep_unless_stopped(self._backoff.next_s(error.retry_after_ms))

    def _give_up(self, error: DroverError) -> int:
        """What was claimed may finish; then the error is raised."""
        log.error("cannot claim tasks: %s", error)
        self._state.failure = error
        self._state.orders.put("stop")
        self._state.sleep_unless_stopped(float("inf"))
        return 0

    def _give_back_unseen(self, request: Dict[str, Any]) -> None:
        """The worker stops and does not know what its last claim took: it asks once more, and gives that back."""
        call = _calls.claim(self._keeper.worker_id, {**request, "n": 1}, 0.0)
        call.timeout_s = min(self._transport.settings.timeout_s, _LAST_CALL_S_MAX)
        sent_at = time.monotonic()
        try:
            self._take(self._transport.attempt(call), sent_at)
        except (Trouble, DroverError) as error:
            log.info("the answer to the last claim is lost: %s", error)

    def _take(self, answer: Answer, sent_at: float) -> int:
        claimed = answer.json()["tasks"]
        if not claimed:
            return 0
        lease_s = self._options.lease_s
        runs = [Run(one, answer, place, sent_at + lease_s, lease_s) for place, one in enumerate(claimed)]
        if time.monotonic() - sent_at > self._options.heartbeat_s:
            self._freshen(runs)
        self._keeper.hold(runs)
        begun = self._begin(runs)
        if begun:
            self._start(begun)
        return len(runs)

    def _begin(self, runs: List[Run]) -> List[Run]:
        """The runs that may start. The others are given back."""
        state = self._state
        begun: List[Run] = []
        with state.lock:
            state.report.claimed += len(runs)
            now = time.monotonic()
            for run in runs:
                if state.phase is Phase.WORKING and run.reason is None and now < run.fence_at():
                    state.running[run.lease_id] = run
                    begun.append(run)
                else:
                    run.has_ended = True
                    state.ended.append((run, run.not_begun()))
            state.wake()
        return begun

    def _freshen(self, runs: List[Run]) -> None:
        """After a long wait it is not known how much of the leases is left: they are renewed before anything starts."""
        sent_at = time.monotonic()
        try:
            call = _calls.heartbeat(self._keeper.worker_id, [run.lease for run in runs], self._options.lease_s)
            beat = self._transport.attempt(call).json()
            take_beat(runs, beat["leases"], sent_at + self._options.lease_s)
        except (Trouble, DroverError) as error:
            log.warning("could not renew what was just claimed: %s", error)

    def _finish_if_empty(self) -> float:
        """Stops the worker if nothing is left for it. How long the next claim is to wait."""
        state = self._state
        with state.lock:
            if state.running or state.ended or state.settling:
                return _EMPTY_POLL_S
        try:
            backlog = self._transport.attempt(_calls.backlog(self._serves)).json()
        except (Trouble, Unavailable) as error:
            log.warning("cannot count what is left: %s", error)
            return _EMPTY_POLL_S
        if backlog["waiting"] or backlog["running"]:
            return _EMPTY_POLL_S
        state.orders.put("stop")
        state.sleep_unless_stopped(float("inf"))
        return 0.0

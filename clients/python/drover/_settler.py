"""The thread that tells how runs ended: while one call is on its way, more ends gather for the next."""

from __future__ import annotations

import logging
import time
from typing import Any, Dict, List, Tuple

from . import _calls
from ._keeper import LeaseKeeper
from ._retry import Backoff, Trouble
from ._run import End, Run
from ._state import Ended, Phase, WorkerState
from ._transport import Transport
from .errors import DroverError, Invalid, NotFound, StaleLease, Unavailable, WrongState, error_of

log = logging.getLogger("drover.worker")

_ITEMS_MAX = 256
_BYTES_MAX = 4 * 1024 * 1024
_ONE_BYTES_MAX = 15 * 1024 * 1024  # a server reads 16 MiB at most
_TOO_LARGE = 413

_COUNTED = {
    "complete": "completed", "fail": "failed", "release": "released", "cancelled": "cancelled", "suspend": "suspended"
}  # fmt: skip


class Settler:
    def __init__(self, state: WorkerState, transport: Transport, keeper: LeaseKeeper) -> None:
        self._state = state
        self._transport = transport
        self._keeper = keeper
        self._backoff = Backoff()

    def work(self) -> None:
        """Until the worker has given up and everything is told, or cannot be."""
        state = self._state
        while True:
            with state.lock:
                while not state.ended and state.phase is not Phase.GIVEN_UP:
                    state.settler_sleeps = True
                    state.settler_woken.wait()
                state.settler_sleeps = False
                if not state.ended:
                    return
                batch = self._take_batch()
                state.settling = len(batch)
            again, pause = self._settle(batch)
            with state.lock:
                state.settling = 0
                state.ended.extendleft(reversed(again))
                state.wake()
                state.look_if_stopping()
                if pause and state.phase is Phase.GIVEN_UP:
                    return
            if pause:
                time.sleep(pause)

    def _take_batch(self) -> List[Ended]:
        """With the lock held."""
        ended = self._state.ended
        batch: List[Ended] = []
        size = 0
        while ended and len(batch) < _ITEMS_MAX:
            size += len(ended[0][1].text)
            if batch and size > _BYTES_MAX:
                break
            batch.append(ended.popleft())
        return batch

    def _settle(self, batch: List[Ended]) -> Tuple[List[Ended], float]:
        """What is to be told again, and after which pause."""
        run, end = batch[0]
        if len(batch) == 1 and len(end.text) > _ONE_BYTES_MAX:
            return self._refused(run, end, "result_too_large", "the result is too large"), 0.0
        try:
            items = self._transport.attempt(_calls.settle_texts([one.text for _, one in batch])).json()["items"]
        except Trouble as trouble:
            return self._later(batch, trouble.error)
        except Unavailable as error:
            return self._later(batch, error)
        except DroverError as error:
            return self._take_refusal(batch, error), 0.0
        return self._take_answers(batch, items)

    def _later(self, batch: List[Ended], error: DroverError) -> Tuple[List[Ended], float]:
        log.warning("cannot report ends of runs: %s", error)
        return self._without_lost(batch), self._backoff.next_s(error.retry_after_ms)

    def _take_refusal(self, batch: List[Ended], error: DroverError) -> List[Ended]:
        """Nothing was taken. If one of several ends may be at fault, they are told one by one."""
        again: List[Ended] = []
        for run, end in batch:
            if isinstance(error, Invalid) and len(batch) > 1:
                again += self._settle([(run, end)])[0]
            else:
                again += self._refused(run, end, "result_too_large" if error.status == _TOO_LARGE else error.code, error.detail)
        return again

    def _take_answers(self, batch: List[Ended], items: List[Dict[str, Any]]) -> Tuple[List[Ended], float]:
        again: List[Ended] = []
        done: List[Run] = []
        unavailable: List[Ended] = []
        for (run, end), item in zip(batch, items):
            code = item.get("code")
            if code is None:  # a repeat of what was told before is answered like this, too
                done.append(run)
                name = _COUNTED[end.kind]
                setattr(self._state.report, name, getattr(self._state.report, name) + 1)
            elif isinstance(error_of(code, item["detail"]), Unavailable):
                unavailable.append((run, end))
            else:
                again += self._refused(run, end, code, item["detail"])
        self._keeper.let_go(done)
        if unavailable:
            return again + self._without_lost(unavailable), self._backoff.next_s()
        self._backoff.reset()
        return again, 0.0

    def _refused(self, run: Run, end: End, code: str, detail: str) -> List[Ended]:
        """What is told instead, if there is something."""
        error = error_of(code, detail)
        is_not_ours = isinstance(error, (StaleLease, NotFound, WrongState))
        if not is_not_ours and isinstance(error, Invalid):
            instead = run.failure_instead(code, detail, end.kind)
            if instead is not None:
                return [(run, instead)]
        log.log(logging.INFO if is_not_ours else logging.WARNING, "the end of task %s was refused: %s", run.task_id, error)
        self._drop(run)
        return []

    def _without_lost(self, batch: List[Ended]) -> List[Ended]:
        """A worker that stops tries to tell an end for as long as its lease lasts."""
        phase = self._state.phase
        if phase not in (Phase.STOPPING, Phase.GIVEN_UP):
            return batch
        kept = []
        for run, end in batch:
            if run.expires_at > time.monotonic() and phase is not Phase.GIVEN_UP:
                kept.append((run, end))
                continue
            log.warning("could not report how task %s ended: it will run again", run.task_id)
            self._drop(run)
        return kept

    def _drop(self, run: Run) -> None:
        self._state.report.refused += 1
        self._keeper.let_go([run])

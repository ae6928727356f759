"""When a call is made again: the rules of both transports."""

from __future__ import annotations

import asyncio
import enum
import json
import random
import socket
import time
from typing import Mapping, Optional

from ._calls import Call, Repeat
from ._http import is_number
from .errors import DroverError, QueueFull, Unavailable, error_of

_BACKOFF_MIN_S = 0.1
_BACKOFF_MAX_S = 5.0
_FIRST_BAD_STATUS = 400
_GATEWAYS = (502, 503, 504)
# A person has to act first: asking again does not help.
_HOPELESS = frozenset({"store_regressed", "schema_too_new"})
PATIENCE_S = 120.0  # how long a wait goes on while no server answers


class Effect(enum.Enum):
    NONE = "none"  # the request did not reach a server, or was refused
    UNKNOWN = "unknown"


class Trouble(Exception):
    """No answer came, or one that says to come again."""

    def __init__(self, error: DroverError, effect: Effect, is_silence: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.effect = effect
        self.is_silence = is_silence  # the connection is there, and nothing comes


def not_reached(address: object, error: BaseException) -> Trouble:
    words = "timed out" if isinstance(error, asyncio.TimeoutError) else str(error) or type(error).__name__
    return Trouble(Unavailable(f"cannot reach {address}: {words}"), Effect.NONE)


def not_answered(address: object, error: BaseException) -> Trouble:
    is_silence = isinstance(error, (TimeoutError, socket.timeout, asyncio.TimeoutError))
    words = "timed out" if is_silence else str(error) or type(error).__name__
    return Trouble(Unavailable(f"{address} did not answer: {words}", outcome_unknown=True), Effect.UNKNOWN, is_silence)


def _retry_after_ms(headers: Mapping[str, str]) -> Optional[int]:
    text = headers.get("retry-after", "")
    return int(text) * 1000 if is_number(text) and len(text) < 10 else None


def problem_of(status: int, headers: Mapping[str, str], body: bytes) -> DroverError:
    try:
        problem = json.loads(body)
        code, detail = str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):  # a proxy, or not a Drover server
        code = "store_unavailable" if status in _GATEWAYS else "internal"
        detail = f"the server answered {status}, which is not an answer of Drover"
        if status == 429:
            code = "limit_exceeded"
    return error_of(code, detail, status, _retry_after_ms(headers))


def check_answer(status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Raises Trouble for what may be repeated, and the error itself for all else."""
    if status < _FIRST_BAD_STATUS:
        return
    error = problem_of(status, headers, body)
    if isinstance(error, QueueFull):
        raise Trouble(error, Effect.NONE)
    if status in _GATEWAYS and error.code not in _HOPELESS:
        raise Trouble(error, Effect.UNKNOWN)
    raise error


class Backoff:
    """Growing pauses, each a random part of its length, so that clients do not come back together."""

    def __init__(self) -> None:
        self._next_s = _BACKOFF_MIN_S

    def next_s(self, at_least_ms: Optional[int] = None) -> float:
        pause = self._next_s * random.uniform(0.5, 1.0)
        self._next_s = min(self._next_s * 2, _BACKOFF_MAX_S)
        return max(pause, (at_least_ms or 0) / 1000)

    def reset(self) -> None:
        self._next_s = _BACKOFF_MIN_S


class Attempts:
    """Counts the tries of one call, and says what follows when one failed."""

    def __init__(self, call: Call, retries: int, servers: int, patience_s: Optional[float] = None) -> None:
        self._call = call
        self._retries_left = retries
        self._servers_left = servers
        self._servers = servers
        self._backoff = Backoff()
        self._give_up_at = time.monotonic() + patience_s if patience_s is not None else None
        self._is_unknown = False

    def pause_after(self, trouble: Trouble) -> float:
        """How long to wait before the next try. Raises the error if there is none."""
        if trouble.effect is Effect.UNKNOWN and not self._call.only_reads:
            self._is_unknown = True
        if self._is_unknown and self._call.repeat is Repeat.NEVER:
            raise self._final(trouble)
        self._servers_left -= 1
        if trouble.effect is Effect.NONE and self._servers_left > 0 and isinstance(trouble.error, Unavailable):
            return 0.0  # the next server, at once
        self._servers_left = self._servers
        if self._give_up_at is not None:
            if time.monotonic() >= self._give_up_at:
                raise self._final(trouble)
        elif self._retries_left <= 0:
            raise self._final(trouble)
        self._retries_left -= 1
        return self._backoff.next_s(trouble.error.retry_after_ms)

    def _final(self, trouble: Trouble) -> DroverError:
        if isinstance(trouble.error, Unavailable):
            trouble.error.outcome_unknown = self._is_unknown
        return trouble.error

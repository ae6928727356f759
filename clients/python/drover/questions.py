"""Questions that tasks ask: look at them, answer them, withdraw them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Callable, Optional, cast

from . import _calls, wire
from ._calls import POLL_S
from ._retry import PATIENCE_S
from .errors import WrongState

if TYPE_CHECKING:
    from .async_client import AsyncClient
    from .client import Client


def look_s(deadline: float) -> float:
    return min(max(deadline - time.monotonic(), 0.0), POLL_S)


def deadline_of(timeout: Optional[float]) -> float:
    return float("inf") if timeout is None else time.monotonic() + timeout


def check_done(error: WrongState, is_done: bool) -> None:
    """The answer to the first try may have been lost: if the question is as it was to be, that is well."""
    if not is_done:
        raise error


def is_answered_with(question: wire.Question, value: object) -> bool:
    return question["state"] == "answered" and bool(question["answer"] == value)


class QuestionHandle:
    """One question, by its id."""

    def __init__(self, client: "Client", question_id: str) -> None:
        self._client = client
        self.id = question_id

    def get(self) -> wire.Question:
        return cast(wire.Question, self._client._perform(_calls.show_question(self.id)).json())

    def wait(self, timeout: Optional[float] = None) -> wire.Question:
        """The question once it is not open any more, or as it is after `timeout` seconds."""
        deadline = deadline_of(timeout)
        while True:
            call = _calls.show_question(self.id, look_s(deadline))
            question = cast(wire.Question, self._client._transport.perform(call, patience_s=PATIENCE_S).json())
            if question["state"] != "open" or time.monotonic() >= deadline:
                return question

    def answer(self, value: object) -> wire.Question:
        """The first answer wins: WrongState says that it was another one. The value must be one of the options, or match the schema, if any."""
        return self._close(_calls.answer_question(self.id, value), lambda now: is_answered_with(now, value))

    def withdraw(self, why: Optional[str] = None) -> wire.Question:
        """Nobody need answer it any more. A task that waits for it runs again, and finds it withdrawn."""
        return self._close(_calls.withdraw_question(self.id, why), lambda now: now["state"] == "withdrawn")

    def _close(self, call: _calls.Call, is_done: Callable[[wire.Question], bool]) -> wire.Question:
        try:
            return cast(wire.Question, self._client._perform(call).json())
        except WrongState as error:
            now = self.get()
            check_done(error, is_done(now))
            return now


class AsyncQuestionHandle:
    """One question, by its id."""

    def __init__(self, client: "AsyncClient", question_id: str) -> None:
        self._client = client
        self.id = question_id

    async def get(self) -> wire.Question:
        return cast(wire.Question, (await self._client._perform(_calls.show_question(self.id))).json())

    async def wait(self, timeout: Optional[float] = None) -> wire.Question:
        """The question once it is not open any more, or as it is after `timeout` seconds."""
        deadline = deadline_of(timeout)
        while True:
            call = _calls.show_question(self.id, look_s(deadline))
            question = cast(wire.Question, (await self._client._transport.perform(call, patience_s=PATIENCE_S)).json())
            if question["state"] != "open" or time.monotonic() >= deadline:
                return question

    async def answer(self, value: object) -> wire.Question:
        """Answers: see QuestionHandle.answer."""
        return await self._close(_calls.answer_question(self.id, value), lambda now: is_answered_with(now, value))

    async def withdraw(self, why: Optional[str] = None) -> wire.Question:
        """Withdraws: see QuestionHandle.withdraw."""
        return await self._close(_calls.withdraw_question(self.id, why), lambda now: now["state"] == "withdrawn")

    async def _close(self, call: _calls.Call, is_done: Callable[[wire.Question], bool]) -> wire.Question:
        try:
            return cast(wire.Question, (await self._client._perform(call)).json())
        except WrongState as error:
            now = await self.get()
            check_done(error, is_done(now))
            return now

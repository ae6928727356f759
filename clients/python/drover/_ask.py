"""How a handler waits for an answer, for both kinds of contexts. No input or output."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Optional

from . import wire
from ._run import Run
from .errors import AwaitingAnswer, Unanswered

if TYPE_CHECKING:
    from ._engine import Engine

ANSWER_WAIT_S = 120.0
LOOK_S = 5.0  # the wait ends when the worker drains, which nobody tells a handler
SERVER_AWAY_S = 1.0  # between looks while no server answers


class AnswerWait:
    """The time limits of the run stand still inside `with`."""

    def __init__(self, run: Run, engine: "Engine", question: wire.Question, wait_s: float) -> None:
        self.question = question
        self._run = run
        self._engine = engine
        # What may not run again cannot give way.
        self._deadline = float("inf") if run.task["at_most_once"] else time.monotonic() + wait_s

    def __enter__(self) -> "AnswerWait":
        self._run.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._run.go_on()

    def next_look_s(self) -> Optional[float]:
        """How long the next look may take; None when the wait is over."""
        gives_way = self._engine.is_draining and not self._run.task["at_most_once"]
        left = self._deadline - time.monotonic()
        if self.question["state"] != "open" or self._run.reason is not None or gives_way or left <= 0:
            return None
        return min(left, LOOK_S)

    def answer(self) -> Any:
        question = self.question
        if question["state"] == "answered":
            self._run.questions.discard(question["id"])
            return question["answer"]
        if question["state"] != "open":
            self._run.questions.discard(question["id"])
            raise Unanswered(question)
        self._run.questions.add(question["id"])
        raise AwaitingAnswer(question)

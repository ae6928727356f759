"""Handlers that ask, and people who answer."""

from __future__ import annotations

import asyncio
import threading
import time
import unittest
from typing import Any, List

from .support import BOUND_S, Proxy, RunningWorker, ServerCase, drover, on_every_store, wait_until


@on_every_store
class Questions(ServerCase):
    def asked(self, handle: Any) -> Any:
        return wait_until(lambda: next(self.client.questions(task=handle, state="open", page=1), None), "an open question")

    def worker(self, *tasks: Any, **options: Any) -> RunningWorker:
        return self.run_worker(drover.Worker(self.client, list(tasks), lease=3.0, heartbeat=0.1, **options))

    def test_it_is_answered_while_the_handler_waits(self) -> None:
        @drover.task(self.name())
        def deploy(payload: Any, ctx: drover.Context) -> Any:
            return ctx.ask("Deploy?", options=["yes", "no"])

        self.worker(deploy)
        handle = deploy.enqueue(self.client)
        question = self.asked(handle)
        self.assertEqual(("Deploy?", ["yes", "no"]), (question["text"], question["options"]))
        with self.assertRaises(drover.Invalid):
            self.client.question(question["id"]).answer("perhaps")
        self.client.question(question["id"]).answer("yes")
        self.assertEqual("yes", handle.result(BOUND_S))
        self.assertEqual(1, handle.get()["run"])

    def test_it_gives_the_slot_back_and_the_next_run_has_the_answer(self) -> None:
        raised: List[BaseException] = []

        @drover.task(self.name())
        def count(payload: Any, ctx: drover.Context) -> Any:
            try:
                return ctx.ask("How many?", schema={"type": "integer"}, key="count", wait=0)
            except Exception as error:  # noqa: B902
                return f"never: {error}"
            except BaseException as error:  # noqa: B902
                raised.append(error)
                raise

        running = self.worker(count)
        first = count.enqueue(self.client)
        question = self.asked(first)
        wait_until(lambda: first.get()["state"] == "blocked", "the task is suspended")
        self.asked(count.enqueue(self.client))  # the slot is free
        assert isinstance(raised[0], drover.AwaitingAnswer)
        self.assertEqual(question["id"], raised[0].question["id"])
        self.client.question(question["id"]).answer(3)
        self.assertEqual(3, first.result(BOUND_S))
        task = first.get()
        self.assertEqual((1, 1), (task["suspends"], task["attempts"]))
        self.assertEqual(1, len(list(self.client.questions(task=first))))
        running.end()
        self.assertEqual(2, running.join().suspended)

    def test_a_handler_that_returns_is_suspended_and_one_that_raises_fails(self) -> None:
        @drover.task(self.name(), max_attempts=1)
        def returns(payload: Any, ctx: drover.Context) -> Any:
            try:
                return ctx.ask("Well?", wait=0.01)
            except drover.AwaitingAnswer:
                if payload == "raise":
                    raise ValueError("something else") from None
                return None

        self.worker(returns)
        handle = returns.enqueue(self.client)
        self.client.question(self.asked(handle)["id"]).answer({"a": [1.5, None]})
        self.assertEqual({"a": [1.5, None]}, handle.result(BOUND_S))
        with self.assertRaises(drover.TaskFailed) as caught:
            returns.enqueue(self.client, "raise").result(BOUND_S)
        self.assertEqual("agent_error", caught.exception.code)

    def test_nobody_answers(self) -> None:
        @drover.task(self.name())
        def expires(payload: Any, ctx: drover.Context) -> Any:
            return ctx.ask("Now?", default=payload, expires=0.05)

        self.worker(expires)
        self.assertEqual("no", expires.enqueue(self.client, "no").result(BOUND_S))
        without = expires.enqueue(self.client)
        with self.assertRaises(drover.TaskFailed) as caught:
            without.result(BOUND_S)
        self.assertEqual(("unanswered", 1), (caught.exception.code, without.get()["run"]))

    def test_it_may_be_withdrawn(self) -> None:
        @drover.task(self.name())
        def withdrawn(payload: Any, ctx: drover.Context) -> Any:
            try:
                return ctx.ask("Still?")
            except drover.Unanswered as error:
                return error.question["why"]

        self.worker(withdrawn)
        handle = withdrawn.enqueue(self.client)
        question = self.client.question(self.asked(handle)["id"])
        question.withdraw("not needed")
        self.assertEqual("not needed", handle.result(BOUND_S))
        self.assertEqual("withdrawn", question.withdraw("again")["state"])
        with self.assertRaises(drover.WrongState):
            question.answer(1)

    def test_what_may_run_at_most_once_waits_and_its_time_limits_stand_still(self) -> None:
        @drover.task(self.name(), at_most_once=True, timeout=0.3, idle_timeout=0.3)
        def once(payload: Any, ctx: drover.Context) -> Any:
            return ctx.ask("Sure?", wait=0) and ctx.reason is None

        self.worker(once)
        handle = once.enqueue(self.client)
        question = self.client.question(self.asked(handle)["id"])
        began = time.monotonic()
        self.assertEqual("open", question.wait(0.9)["state"])
        self.assertGreater(time.monotonic() - began, 0.8)
        question.answer(True)
        self.assertEqual("answered", question.wait(BOUND_S)["state"])
        self.assertIs(True, handle.result(BOUND_S))

    def test_a_cancel_and_a_drain_end_the_wait(self) -> None:
        @drover.task(self.name())
        def ends(payload: Any, ctx: drover.Context) -> Any:
            return ctx.ask("Long?")

        running = self.worker(ends)
        cancelled = ends.enqueue(self.client)
        self.asked(cancelled)
        cancelled.cancel()
        self.assertEqual("cancelled", cancelled.wait(4.0)["state"])
        drained = ends.enqueue(self.client)
        self.asked(drained)
        running.worker.stop()
        running.join()
        self.assertEqual(("blocked", 1), (drained.get()["state"], drained.get()["suspends"]))

    def test_answers_to_calls_are_lost(self) -> None:
        lost: List[str] = []

        def judge(method: str, target: str, count: int) -> str:
            verb = target.rsplit("/", 1)[1]
            if method != "POST" or verb not in ("questions", "answer") or verb in lost:
                return "pass"
            lost.append(verb)
            return "lose"

        @drover.task(self.name())
        def ask(payload: Any, ctx: drover.Context) -> Any:
            return ctx.ask("Heard?")

        with Proxy(self.server.port, judge) as proxy, self.server.client(url=proxy.url) as client:
            running = self.run_worker(drover.Worker(client, [ask]))
            handle = ask.enqueue(client)
            client.question(self.asked(handle)["id"]).answer("yes")
            self.assertEqual("yes", handle.result(BOUND_S))
            running.end()
        self.assertEqual(["questions", "answer"], lost)
        self.assertEqual(1, len(list(self.client.questions(task=handle))))

    def test_async_handlers_ask(self) -> None:
        @drover.task(self.name())
        async def ask(payload: Any, ctx: drover.AsyncContext) -> Any:
            return [await ctx.ask("A?", wait=0), await ctx.ask("B?")]

        async def play() -> List[Any]:
            async with self.server.async_client() as client:
                worker = drover.AsyncWorker(client, [ask], lease=3.0, heartbeat=0.1)
                running = asyncio.ensure_future(worker.run(signals=False))
                handle = await ask.enqueue_async(client)
                for value in ("a", "b"):
                    found: List[Any] = []
                    while not found:
                        found = [one async for one in client.questions(task=handle.id, state="open")]
                    await client.question(found[0]["id"]).answer(value)
                    self.assertEqual("answered", (await client.question(found[0]["id"]).wait(BOUND_S))["state"])
                result = await handle.result(BOUND_S)
                cancelled = await ask.enqueue_async(client)
                while not (await cancelled.get())["suspends"]:
                    await asyncio.sleep(0.01)
                question = [one async for one in client.questions(task=cancelled.id)][0]
                await client.question(question["id"]).answer("a")
                while len([one async for one in client.questions(task=cancelled.id)]) < 2:
                    await asyncio.sleep(0.01)
                await cancelled.cancel()
                self.assertEqual("cancelled", (await cancelled.wait(4.0))["state"])
                last = await client.enqueue(ask)
                while not [one async for one in client.questions(task=last.id)]:
                    await asyncio.sleep(0.01)
                one = [one async for one in client.questions(task=last.id)][0]
                self.assertEqual("withdrawn", (await client.question(one["id"]).withdraw("enough"))["state"])
                self.assertEqual("unanswered", (await last.wait(BOUND_S))["error"]["class"])  # type: ignore[index]
                worker.stop()
                await running
                return [result, (await handle.get())["suspends"]]

        self.assertEqual([["a", "b"], 1], asyncio.run(play()))

    def test_handlers_ask_from_several_threads(self) -> None:
        @drover.task(self.name())
        def ask(payload: Any, ctx: drover.Context) -> Any:
            answers: List[Any] = []
            threads = [threading.Thread(target=lambda n=n: answers.append(ctx.ask(f"{n}?"))) for n in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return sorted(answers)

        self.worker(ask)
        handle = ask.enqueue(self.client)
        questions = wait_until(lambda: (lambda all_: all_ if len(all_) == 3 else None)(list(self.client.questions(task=handle))), "three")
        for question in questions:
            self.client.question(question["id"]).answer(question["text"])
        self.assertEqual(["0?", "1?", "2?"], handle.result(BOUND_S))


if __name__ == "__main__":
    unittest.main()

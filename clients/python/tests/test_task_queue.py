"""TaskQueue: the names and the behaviour of the prototype that it replaces."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
import unittest
from typing import Any
from uuid import UUID, uuid4

from .support import BOUND_S, Proxy, ServerCase, drover, on_every_store
from drover.task_queue import Task, TaskQueue, TaskStatus

NAMES = [
    "enqueue", "dequeue", "complete", "fail", "cancel", "retry", "requeue_stalled", "get_status", "list_by_user", "get", "register_worker",
    "heartbeat", "unregister_worker",
]  # fmt: skip


async def run_renewed(run: Any) -> None:
    """Until the keeper, in its thread, has renewed the lease once more."""
    before = run.expires_at
    while run.expires_at == before:
        await asyncio.sleep(0.01)


@on_every_store
class TaskQueues(ServerCase):
    def run_async(self, main: Any, **options: Any) -> None:
        async def with_queue() -> None:
            async with self.server.async_client(**options) as client, TaskQueue(client, self.name()[:60], lease=2.0, heartbeat=0.2) as queue:
                await main(queue)

        asyncio.run(asyncio.wait_for(with_queue(), BOUND_S))

    def test_it_has_the_names(self) -> None:
        self.assertTrue(all(inspect.iscoroutinefunction(getattr(drover.TaskQueue, name)) for name in NAMES))

    def test_the_life_of_a_task(self) -> None:
        async def main(queue: TaskQueue) -> None:
            agent = uuid4()
            task = Task("coder", "write a parser", priority=60, max_retries=1, tags=["x"], user_id="ada", model="big")
            task_id = await queue.enqueue(task)
            self.assertEqual((UUID, task.id), (type(task_id), task_id))
            self.assertEqual(task_id, await queue.enqueue(task))  # the same task
            self.assertEqual(TaskStatus.PENDING, await queue.get_status(task_id))
            await queue.register_worker(agent, 2)
            got = await queue.dequeue(agent)
            assert got is not None
            self.assertEqual(("coder", "write a parser", 60, 1, ["x"], "ada", "big", TaskStatus.RUNNING),
                             (got.subagent_type, got.prompt, got.priority, got.max_retries, got.tags, got.user_id, got.model, got.status))  # fmt: skip
            self.assertEqual(str(agent), got.agent_id)
            await queue.heartbeat(agent)
            await queue.complete(task_id, {"lines": 40})
            done = await queue.get(task_id)
            self.assertEqual((TaskStatus.COMPLETED, {"lines": 40}), (done.status, done.result))
            self.assertIsNotNone(done.completed_at)
            with self.assertRaises(drover.StaleLeaseError):
                await queue.complete(task_id, {})
            self.assertIsNone(await queue.dequeue(agent, timeout_ms=50))
            await queue.unregister_worker(agent, "done")

        self.run_async(main)

    def test_failures(self) -> None:
        async def main(queue: TaskQueue) -> None:
            agent = uuid4()
            task_id = await queue.enqueue(Task("coder", "x", max_retries=1))
            await queue.dequeue(agent)
            await queue.fail(task_id, "crashed")
            self.assertEqual(TaskStatus.PENDING, await queue.get_status(task_id))  # scheduled, for its retry
            self.assertIsNotNone(await queue.dequeue(agent))
            await queue.fail(task_id, "crashed again")
            failed = await queue.get(task_id)
            self.assertEqual((TaskStatus.FAILED, "crashed again", 1), (failed.status, failed.error, failed.retry_count))
            await queue.retry(task_id)
            self.assertIsNotNone(await queue.dequeue(agent))
            await queue.fail(task_id, "a syntax error", retryable=False)
            self.assertEqual(TaskStatus.FAILED, await queue.get_status(task_id))

        self.run_async(main)

    def test_cancel_and_list(self) -> None:
        async def main(queue: TaskQueue) -> None:
            user = f"user-{self.store}"
            ids = [await queue.enqueue(Task("coder", str(n), user_id=user)) for n in range(3)]
            await queue.cancel(ids[0])
            self.assertEqual(TaskStatus.CANCELLED, await queue.get_status(ids[0]))
            everything = await queue.list_by_user(user)
            self.assertEqual(set(ids), {one.id for one in everything})
            self.assertEqual(set(ids[1:]), {one.id for one in await queue.list_by_user(user, "pending")})
            self.assertEqual([], await queue.list_by_user("somebody-else"))
            child = await queue.enqueue(Task("coder", "child", parent_task=ids[1]))
            self.assertEqual(ids[1], (await queue.get(child)).parent_task)

        self.run_async(main)

    def test_a_dequeued_task_is_kept_past_its_lease(self) -> None:
        async def main(queue: TaskQueue) -> None:
            task_id = await queue.enqueue(Task("coder", "x"))
            await queue.dequeue(uuid4())
            run, _ = queue._held[str(task_id)]
            lease_end = run.expires_at
            while time.monotonic() < lease_end:
                await run_renewed(run)
            await queue.complete(task_id, 1)
            self.assertEqual(TaskStatus.COMPLETED, await queue.get_status(task_id))

        self.run_async(main)

    def test_what_another_dequeued_is_not_ours(self) -> None:
        async def main(queue: TaskQueue) -> None:
            other = TaskQueue(queue._client, queue._queue)
            task_id = await queue.enqueue(Task("coder", "x"))
            await queue.dequeue("one")
            for end in (other.complete(task_id, 1), other.fail(task_id, "x")):
                with self.assertRaises(drover.StaleLeaseError):
                    await end
            self.assertEqual(1, await queue.requeue_stalled(0))  # an operator takes it away
            with self.assertRaises(drover.StaleLeaseError):
                await queue.complete(task_id, 1)
            again = await other.dequeue("two")
            assert again is not None
            self.assertEqual(task_id, again.id)
            await other.unregister_worker("two", "gives it back")
            self.assertEqual(TaskStatus.PENDING, await queue.get_status(task_id))
            await other.close()

        self.run_async(main)

    def test_a_dequeue_that_is_given_up_keeps_nothing(self) -> None:
        given_up = threading.Event()

        def judge(method: str, target: str, count: int) -> str:
            if not target.endswith("/claim") or given_up.is_set():
                return "pass"
            return "refuse" if proxy.lost.is_set() else "lose"

        async def main(queue: TaskQueue) -> None:
            task_id = await queue.enqueue(Task("coder", "x"))
            waiting = asyncio.ensure_future(queue.dequeue("w"))
            while not proxy.lost.is_set():  # the task is claimed, and nobody knows
                await asyncio.sleep(0.01)
            given_up.set()
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            await asyncio.gather(*queue._background)
            task = await queue._client.task(str(task_id)).get()
            self.assertEqual(("pending", 0, 1), (task["state"], task["attempts"], task["run"]))

        with Proxy(self.server.port, judge) as proxy:
            self.run_async(main, url=proxy.url)

    def test_a_result_that_is_not_json_leaves_the_task_held(self) -> None:
        async def main(queue: TaskQueue) -> None:
            task_id = await queue.enqueue(Task("coder", "x"))
            await queue.dequeue("w")
            with self.assertRaises(drover.Invalid):
                await queue.complete(task_id, {1, 2})
            await queue.complete(task_id, [1, 2])
            self.assertEqual([1, 2], (await queue.get(task_id)).result)

        self.run_async(main)


if __name__ == "__main__":
    unittest.main()

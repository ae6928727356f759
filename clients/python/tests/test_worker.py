"""Worker and AsyncWorker against a real server."""

from __future__ import annotations

import asyncio
import signal
import threading
import unittest
from typing import Any, List

from .support import BOUND_S, Proxy, ServerCase, drover, on_every_store, wait_until

FAST = {"lease": 3.0, "heartbeat": 0.1}


@on_every_store
class Workers(ServerCase):
    def work(self, *tasks: Any, **options: Any) -> drover.Report:
        return self.run_worker(drover.Worker(self.client, list(tasks), **options), until_empty=True).join()

    def test_handlers_run_at_once(self) -> None:
        meeting = threading.Barrier(4)

        @drover.task(self.name())
        def meet(payload: int, ctx: drover.Context) -> int:
            meeting.wait(BOUND_S)
            return payload + 1

        handles = [meet.enqueue(self.client, n) for n in range(8)]
        report = self.work(meet, concurrency=4)
        self.assertEqual(list(range(1, 9)), [handle.get()["result"] for handle in handles])
        self.assertEqual((8, 8, 0), (report.claimed, report.completed, report.failed))

    def test_ends_go_together(self) -> None:
        with Proxy(self.server.port, lambda *_: "pass") as proxy, self.server.client(url=proxy.url) as client:
            noop: Any = drover.task(self.name())(lambda payload, ctx: None)
            client.enqueue_many([(noop, n) for n in range(500)])
            worker = drover.Worker(client, [noop], concurrency=100)
            self.assertEqual(500, self.run_worker(worker, until_empty=True).join().completed)
            count = sum(1 for request in proxy.requests if "settlements" in request)
            self.assertLess(count, 100, "batches of five at least")

    def test_whatever_a_handler_raises_is_its_end(self) -> None:
        raised: List[BaseException] = [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit(), ValueError("bad")]

        @drover.task(self.name(), max_attempts=1)
        def throw(payload: int, ctx: drover.Context) -> None:
            raise raised[payload]

        handles = [throw.enqueue(self.client, n) for n in range(len(raised))]
        self.assertEqual(len(raised), self.work(throw).failed)
        for handle, error in zip(handles, raised):
            task = handle.get()
            assert task["error"] is not None
            self.assertEqual(("failed", "agent_error"), (task["state"], task["error"]["class"]))
            self.assertTrue(task["error"]["message"].startswith(type(error).__name__))
            self.assertIn("raise raised[payload]", handle.runs()[0]["note"] or "")

    def test_a_failure_is_tried_again_with_what_was_left(self) -> None:
        @drover.task(self.name(), max_attempts=3, retry="fixed:10ms")
        def flaky(payload: Any, ctx: drover.Context) -> Any:
            if not ctx.earlier_runs:
                ctx.checkpoint({"page": 7})
                raise drover.TaskError("agent_error", "the first time", note="go on at page 7")
            return [ctx.checkpoint_value, ctx.earlier_runs[0]["note"]]

        handle = flaky.enqueue(self.client)
        self.work(flaky)
        self.assertEqual([{"page": 7}, "go on at page 7"], handle.get()["result"])

    def test_retry_after(self) -> None:
        @drover.task(self.name())
        def limited(payload: Any, ctx: drover.Context) -> None:
            raise drover.TaskError("rate_limited", "slow down", retry_after=600)

        handle = limited.enqueue(self.client)
        running = self.run_worker(drover.Worker(self.client, [limited]))
        wait_until(lambda: handle.get()["defers"] == 1, "a defer")
        self.assertEqual(("scheduled", 0), (handle.get()["state"], handle.get()["attempts"]))
        handle.cancel()
        running.worker.stop()
        running.join()

    def test_a_cancel_reaches_the_handler(self) -> None:
        begun = threading.Event()
        reasons: List[Any] = []

        @drover.task(self.name())
        def long(payload: Any, ctx: drover.Context) -> str:
            begun.set()
            self.assertFalse(ctx.wait_cancelled(0.01))
            ctx.wait_cancelled(BOUND_S)
            reasons.append(ctx.reason)
            return "in vain"

        running = self.run_worker(drover.Worker(self.client, [long], **FAST))
        handle = long.enqueue(self.client)
        self.assertTrue(begun.wait(BOUND_S))
        handle.cancel("enough")
        with self.assertRaises(drover.TaskCancelled):
            handle.result(timeout=BOUND_S)
        self.assertEqual(["cancelled"], reasons)
        running.worker.stop()
        self.assertEqual(1, running.join().cancelled)

    def test_a_timeout_reaches_the_handler(self) -> None:
        @drover.task(self.name(), timeout=0.2, max_attempts=1)
        def slow(payload: Any, ctx: drover.Context) -> None:
            ctx.wait_cancelled(BOUND_S)
            raise RuntimeError(f"stopped: {ctx.reason}")

        @drover.task(self.name() + "_idle", idle_timeout=1.0, max_attempts=1)
        def idle(payload: Any, ctx: drover.Context) -> None:
            for _ in range(4):
                self.assertFalse(ctx.wait_cancelled(0.4))
                ctx.progress(50)  # a sign of life
            ctx.wait_cancelled(BOUND_S)
            raise RuntimeError(f"stopped: {ctx.reason}")

        handles = [slow.enqueue(self.client), idle.enqueue(self.client)]
        self.work(slow, idle, concurrency=2)
        for handle in handles:
            task = handle.get()
            assert task["error"] is not None
            self.assertEqual(("timeout", "RuntimeError: stopped: timeout"), (task["error"]["class"], task["error"]["message"]))

    def test_the_first_stop_lets_handlers_finish(self) -> None:
        begun, go_on = threading.Event(), threading.Event()

        @drover.task(self.name())
        def careful(payload: Any, ctx: drover.Context) -> bool:
            begun.set()
            go_on.wait(BOUND_S)
            return ctx.draining and not ctx.cancelled()

        handles = [careful.enqueue(self.client) for _ in range(2)]
        running = self.run_worker(drover.Worker(self.client, [careful]))
        self.assertTrue(begun.wait(BOUND_S))
        running.worker.stop()
        wait_until(lambda: running.worker._engine.is_draining, "the drain")
        go_on.set()
        self.assertEqual(1, running.join().completed)
        states = sorted(handle.get()["state"] for handle in handles)
        self.assertEqual(["completed", "pending"], states)  # it claimed no more
        self.assertEqual([True], [h.get()["result"] for h in handles if h.get()["state"] == "completed"])
        for handle in handles:
            if handle.get()["state"] == "pending":
                handle.cancel()

    def test_the_second_stop_releases(self) -> None:
        begun = threading.Event()

        @drover.task(self.name())
        def stubborn(payload: Any, ctx: drover.Context) -> None:
            begun.set()
            ctx.wait_cancelled(BOUND_S)
            raise RuntimeError(ctx.reason)

        handle = stubborn.enqueue(self.client)
        once = drover.Task[None, None](stubborn.name, stubborn.handler, at_most_once=True).enqueue(self.client)
        running = self.run_worker(drover.Worker(self.client, [stubborn], concurrency=2))
        self.assertTrue(begun.wait(BOUND_S))
        wait_until(lambda: once.get()["state"] == "running", "the second")
        running.worker.stop()
        running.worker.stop()
        running.join()
        task = handle.get()
        self.assertEqual(("pending", 0, 1), (task["state"], task["attempts"], task["run"]))
        lost = once.get()
        assert lost["error"] is not None
        self.assertEqual(("failed", "lost"), (lost["state"], lost["error"]["class"]))
        handle.cancel()

    def test_a_stopped_worker_leaves_nothing_behind(self) -> None:
        noop: Any = drover.task(self.name())(lambda payload, ctx: None)
        running = self.run_worker(drover.Worker(self.client, [noop]))
        workers = lambda: [w["id"] for w in self.client.call("GET", "/v1/workers")["workers"]]  # noqa: E731
        wait_until(lambda: running.worker.report.worker_id in workers(), "registration")
        running.worker.stop()
        running.join(5)  # the claim on its way does not hold it up
        self.assertNotIn(running.worker.report.worker_id, workers())

    def test_an_operator_drains_a_worker(self) -> None:
        noop: Any = drover.task(self.name())(lambda payload, ctx: None)
        running = self.run_worker(drover.Worker(self.client, [noop], worker_id=f"w-{self.store}", **FAST))
        wait_until(lambda: any(w["id"] == f"w-{self.store}" for w in self.client.call("GET", "/v1/workers")["workers"]), "registration")
        self.client.call("POST", f"/v1/workers/w-{self.store}/drain", {"why": "upgrade"})
        running.join()

    def test_a_forgotten_worker_registers_again(self) -> None:
        noop: Any = drover.task(self.name())(lambda payload, ctx: "ok")
        running = self.run_worker(drover.Worker(self.client, [noop], **FAST))
        self.assertEqual("ok", noop.enqueue(self.client).result(timeout=BOUND_S))
        self.client.call("DELETE", f"/v1/workers/{running.worker.report.worker_id}")
        for _ in range(3):
            self.assertEqual("ok", noop.enqueue(self.client).result(timeout=BOUND_S))

    def test_until_empty_waits_for_what_is_scheduled(self) -> None:
        noop: Any = drover.task(self.name())(lambda payload, ctx: None)
        handle = noop.enqueue(self.client, delay=0.3)
        self.assertEqual(1, self.work(noop).completed)
        self.assertEqual("completed", handle.get()["state"])

    def test_a_wrong_token(self) -> None:
        with self.server.client("viewer") as viewer:
            noop: Any = drover.task(self.name())(lambda payload, ctx: None)
            with self.assertRaises(drover.Unauthorised):
                drover.Worker(viewer, [noop]).run(signals=False)

    def test_a_worker_token_is_enough(self) -> None:
        with self.server.client("worker") as client:
            @drover.task(self.name())
            def talk(payload: Any, ctx: drover.Context) -> str:
                ctx.progress(10, "begun")
                ctx.log("hello\n")
                ctx.checkpoint(1)
                return "ok"

            handle = talk.enqueue(self.client)
            self.run_worker(drover.Worker(client, [talk]), until_empty=True).join()
            self.assertEqual("ok", handle.get()["result"])

    def test_signals(self) -> None:
        program = (
            "import drover, sys\n"
            "def nap(payload, ctx):\n"
            "    print('begun', flush=True)\n"
            "    ctx.wait_cancelled(60)\n"
            "    raise RuntimeError(ctx.reason)\n"
            "report = drover.Worker(drover.Client(), [drover.task(sys.argv[1])(nap)], drain=60).run()\n"
            "print('released', report.released)\n"
        )
        handle = self.client.enqueue(self.name())
        worker = self.program(program, self.name())
        self.assertEqual("begun", worker.line())
        worker.signal(signal.SIGTERM)
        id_ = handle.get()["worker_id"]
        wait_until(
            lambda: any(w["id"] == id_ and w["draining"] for w in self.client.call("GET", "/v1/workers")["workers"]), "the drain"
        )
        self.assertIsNone(worker.process.poll())
        worker.signal(signal.SIGINT)
        self.assertEqual("released 1", worker.line())
        self.assertEqual(0, worker.wait())
        handle.cancel()

    def test_a_signal_that_another_thread_gets(self) -> None:
        program = (
            "import drover, signal, sys, threading\n"
            "def raise_it(payload, ctx):\n"
            "    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)\n"
            "    while not ctx.draining:\n"
            "        ctx.wait_cancelled(0.01)\n"
            "report = drover.Worker(drover.Client(), [drover.task(sys.argv[1])(raise_it)]).run()\n"
            "print('completed', report.completed)\n"
        )
        self.client.enqueue(self.name())
        worker = self.program(program, self.name())
        self.assertEqual("completed 1", worker.line())
        self.assertEqual(0, worker.wait())

    def test_children_and_parents(self) -> None:
        child: Any = drover.task(self.name() + "_child")(lambda payload, ctx: payload * payload)

        @drover.task(self.name())
        def parent(payload: int, ctx: drover.Context) -> Any:
            if ctx.task["suspends"] == 0:
                for _ in range(2):  # the key makes them the same children
                    handles = ctx.spawn([(child, n) for n in range(payload)], key="squares")
                ctx.wait_children(handles)
                return "dropped"
            return sorted(one["result"] for one in ctx.parents())

        handle = parent.enqueue(self.client, 4)
        report = self.work(parent, child, concurrency=2)
        self.assertEqual([0, 1, 4, 9], handle.get()["result"])
        self.assertEqual((1, 5), (report.suspended, report.completed))

    def test_a_workers_token_reads_the_parents_of_what_it_runs(self) -> None:
        limited = self.server.client("worker")

        @drover.task(self.name())
        def join(payload: Any, ctx: drover.Context) -> Any:
            for parent_id in ctx.task["depends_on"]:
                with self.assertRaises(drover.NotFound):
                    limited.task(parent_id).get()
            return [one["result"] for one in ctx.parents()]

        _, child = self.client.enqueue_many([{"type": self.name(), "ref": "a"}, {"type": self.name(), "depends_on": ["@a"]}])
        running = self.run_worker(drover.Worker(limited, [join]))
        self.assertEqual([[]], child.result(timeout=BOUND_S))
        running.end()


@on_every_store
class AsyncWorkers(ServerCase):
    def run_async(self, coroutine: Any) -> Any:
        return asyncio.run(asyncio.wait_for(coroutine, BOUND_S))

    def test_both_kinds_of_handlers(self) -> None:
        @drover.task(self.name())
        async def on_loop(payload: int, ctx: drover.AsyncContext) -> str:
            return threading.current_thread().name

        @drover.task(self.name() + "_thread")
        def in_thread(payload: int, ctx: drover.Context) -> str:
            ctx.progress(10)
            return threading.current_thread().name

        async def main() -> None:
            async with self.server.async_client() as client:
                one, two = await client.enqueue(on_loop), await client.enqueue(in_thread)
                report = await drover.AsyncWorker(client, [on_loop, in_thread], concurrency=4).run(until_empty=True)
                self.assertEqual(2, report.completed)
                self.assertEqual(threading.main_thread().name, await one.result())
                self.assertTrue((await two.result()).startswith("drover-handler"))

        self.run_async(main())

    def test_a_cancel_reaches_the_handler(self) -> None:
        async def main() -> None:
            begun = asyncio.Event()

            @drover.task(self.name())
            async def long(payload: Any, ctx: drover.AsyncContext) -> None:
                begun.set()
                self.assertFalse(await ctx.wait_cancelled(0.01))
                await ctx.wait_cancelled()
                self.assertEqual("cancelled", ctx.reason)

            async with self.server.async_client() as client:
                worker = drover.AsyncWorker(client, [long], **FAST)
                running = asyncio.ensure_future(worker.run())
                handle = await client.enqueue(long)
                await begun.wait()
                await handle.cancel()
                with self.assertRaises(drover.TaskCancelled):
                    await handle.result(timeout=BOUND_S)
                worker.stop()
                self.assertEqual(1, (await running).cancelled)

        self.run_async(main())

    def test_cancelled_error_of_a_handler_is_its_end(self) -> None:
        @drover.task(self.name(), max_attempts=1)
        async def escape(payload: Any, ctx: drover.AsyncContext) -> None:
            raise asyncio.CancelledError

        async def main() -> None:
            async with self.server.async_client() as client:
                handle = await client.enqueue(escape)
                report = await drover.AsyncWorker(client, [escape]).run(until_empty=True)
                self.assertEqual(1, report.failed)
                with self.assertRaises(drover.TaskFailed):
                    await handle.result()

        self.run_async(main())

    def test_cancelling_the_worker_drains_it(self) -> None:
        async def main() -> None:
            begun, go_on = asyncio.Event(), asyncio.Event()

            @drover.task(self.name())
            async def careful(payload: Any, ctx: drover.AsyncContext) -> str:
                begun.set()
                await go_on.wait()
                return "finished"

            async with self.server.async_client() as client:
                worker = drover.AsyncWorker(client, [careful])
                running = asyncio.ensure_future(worker.run())
                handle = await client.enqueue(careful)
                await begun.wait()
                running.cancel()
                await asyncio.sleep(0)
                go_on.set()
                with self.assertRaises(asyncio.CancelledError):
                    await running
                self.assertEqual("finished", await handle.result(timeout=BOUND_S))

        self.run_async(main())

    def test_children_and_parents(self) -> None:
        child: Any = drover.task(self.name() + "_child")(lambda payload, ctx: payload * payload)

        @drover.task(self.name())
        async def parent(payload: int, ctx: drover.AsyncContext) -> Any:
            if ctx.task["suspends"] == 0:
                await ctx.spawn([(child, n) for n in range(payload)], key="squares")
                ctx.wait_children()
                return None
            return sorted(one["result"] for one in await ctx.parents())

        async def main() -> None:
            async with self.server.async_client() as client:
                handle = await client.enqueue(parent, 3)
                await drover.AsyncWorker(client, [parent, child], concurrency=2).run(until_empty=True)
                self.assertEqual([0, 1, 4], await handle.result())

        self.run_async(main())


if __name__ == "__main__":
    unittest.main()

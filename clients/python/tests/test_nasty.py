"""The nasty cases: what a network, a machine and people do to clients and workers. The numbers are those of the specification."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import threading
import unittest
from decimal import Decimal
from typing import Any, List

from .support import BOUND_S, Proxy, RunningWorker, Server, ServerCase, drover, on_every_store, wait_until

MIB = 1024 * 1024


def lose_first(text: str) -> Any:
    """Loses the answer to the first request that contains the text."""
    seen: List[str] = []

    def judge(method: str, target: str, count: int) -> str:
        if text not in f"{method} {target}":
            return "pass"
        seen.append(target)
        return "lose" if len(seen) == 1 else "pass"

    return judge


@on_every_store
class Nasty(ServerCase):
    def test_01_the_answer_to_a_claim_is_lost(self) -> None:
        ran: List[int] = []

        @drover.task(self.name(), at_most_once=True)
        def once(payload: int, ctx: drover.Context) -> int:
            ran.append(payload)
            return payload

        handles = [once.enqueue(self.client, n) for n in range(3)]
        with Proxy(self.server.port, lose_first("/claim")) as proxy, self.server.client(url=proxy.url) as client:
            report = self.run_worker(drover.Worker(client, [once], concurrency=2), until_empty=True).join()
        self.assertTrue(proxy.lost.is_set())
        self.assertEqual([0, 1, 2], sorted(ran))
        self.assertEqual((3, 3, 0), (report.claimed, report.completed, report.refused))
        self.assertEqual([("completed", 1)] * 3, [(task["state"], task["run"]) for task in (handle.get() for handle in handles)])

    def test_01_a_worker_that_stops_gives_back_what_it_never_saw(self) -> None:
        begun = threading.Event()
        noop: Any = drover.task(self.name())(lambda payload, ctx: begun.set())
        stopped: List[drover.Worker] = []

        def judge(method: str, target: str, count: int) -> str:
            if target.endswith("/claim") and stopped:
                stopped.pop().stop()
                return "lose"
            return "pass"

        with Proxy(self.server.port, judge) as proxy, self.server.client(url=proxy.url) as client:
            worker = drover.Worker(client, [noop])
            handle = noop.enqueue(self.client, at_most_once=True)
            stopped.append(worker)
            report = self.run_worker(worker).join()
        self.assertEqual((1, 1, False), (report.claimed, report.released, begun.is_set()))
        self.assertEqual("pending", handle.get()["state"])
        handle.cancel()

    def test_02_the_answer_to_a_settlement_is_lost(self) -> None:
        noop: Any = drover.task(self.name())(lambda payload, ctx: payload)
        handle = noop.enqueue(self.client, 1)
        with Proxy(self.server.port, lose_first("/settlements")) as proxy, self.server.client(url=proxy.url) as client:
            report = self.run_worker(drover.Worker(client, [noop]), until_empty=True).join()
        self.assertTrue(proxy.lost.is_set())
        self.assertEqual((1, 0), (report.completed, report.refused))
        self.assertEqual(("completed", 1), (handle.get()["state"], handle.get()["run"]))

    def test_03_a_loop_that_is_blocked_for_two_leases(self) -> None:
        @drover.task(self.name(), max_stalls=0)
        async def block(payload: Any, ctx: drover.AsyncContext) -> str:
            threading.Event().wait(2.5)  # nothing else on the loop runs meanwhile
            return "still mine" if not ctx.cancelled() else str(ctx.reason)

        async def main() -> None:
            async with self.server.async_client() as client:
                handle = await client.enqueue(block)
                report = await drover.AsyncWorker(client, [block], lease=1.2, heartbeat=0.2).run(until_empty=True)
                self.assertEqual((1, 0), (report.completed, report.refused))
                task = await handle.get()
                self.assertEqual(("still mine", 1), (task["result"], task["run"]))

        asyncio.run(asyncio.wait_for(main(), BOUND_S))

    def test_04_a_worker_that_is_frozen_past_its_lease(self) -> None:
        frozen = self.program(
            "import drover, sys\n"
            "def wait(payload, ctx):\n"
            "    print('begun', flush=True)\n"
            "    ctx.wait_cancelled(60)\n"
            "    print(ctx.reason, flush=True)\n"
            "    return 'from the dead'\n"
            "worker = drover.Worker(drover.Client(), [drover.task(sys.argv[1])(wait)], lease=1.2, heartbeat=0.2)\n"
            "report = worker.run()\n"
            "print(report.completed, report.refused, flush=True)\n",
            self.name(),
        )
        handle = self.client.enqueue(self.name())
        self.assertEqual("begun", frozen.line())
        frozen.signal(signal.SIGSTOP)
        wait_until(lambda: handle.get()["state"] == "stalled", "the stall")
        alive: Any = drover.task(self.name())(lambda payload, ctx: "from the living")
        second = self.run_worker(drover.Worker(self.client, [alive]))
        self.assertEqual("from the living", handle.result(timeout=BOUND_S))
        second.worker.stop()
        second.join()
        frozen.signal(signal.SIGCONT)
        self.assertEqual("lost", frozen.line())
        frozen.signal(signal.SIGTERM)
        self.assertEqual("0 1", frozen.line())
        self.assertEqual(("from the living", 2), (handle.get()["result"], handle.get()["run"]))

    def test_05_a_handler_that_ignores_its_abort_is_held(self) -> None:
        begun, go_on = threading.Event(), threading.Event()

        @drover.task(self.name())
        def deaf(payload: Any, ctx: drover.Context) -> None:
            begun.set()
            go_on.wait(BOUND_S)

        handle = deaf.enqueue(self.client)
        running = self.run_worker(drover.Worker(self.client, [deaf], lease=1.2, heartbeat=0.1, drain=0))
        self.assertTrue(begun.wait(BOUND_S))
        run = next(iter(running.worker._engine.state.running.values()))
        handle.cancel()
        wait_until(lambda: run.reason == "cancelled", "the cancel")
        renewed = run.expires_at
        wait_until(lambda: run.expires_at > renewed + 1.5, "renewals past the lease")
        self.assertEqual("running", handle.get()["state"])  # slot and lease are kept: nobody else runs it
        go_on.set()
        with self.assertRaises(drover.TaskCancelled):
            handle.result(timeout=BOUND_S)

    def test_05_or_ends_the_process(self) -> None:
        program = self.program(
            "import drover, sys, threading\n"
            "def deaf(payload, ctx):\n"
            "    print('begun', flush=True)\n"
            "    threading.Event().wait()\n"
            "options = dict(lease=1.2, heartbeat=0.1, grace=0.3, on_ignored_abort='exit')\n"
            "drover.Worker(drover.Client(), [drover.task(sys.argv[1])(deaf)], **options).run()\n",
            self.name(),
        )
        handle = self.client.enqueue(self.name())
        self.assertEqual("begun", program.line())
        handle.cancel()
        self.assertEqual(-signal.SIGKILL, program.wait())
        with self.assertRaises(drover.TaskCancelled):
            handle.result(timeout=BOUND_S)

    def test_06_a_proxy_that_cuts_long_polls(self) -> None:
        def judge(method: str, target: str, count: int) -> Any:
            return 0.3 if "/claim" in target or "/wait" in target else "pass"

        echo: Any = drover.task(self.name())(lambda payload, ctx: payload)
        with Proxy(self.server.port, judge) as proxy, self.server.client(url=proxy.url) as client:
            running = self.run_worker(drover.Worker(client, [echo]))
            wait_until(lambda: sum("/claim" in request for request in proxy.requests) >= 3, "claims that were cut")
            self.assertEqual(7, echo.enqueue(client, 7).result(timeout=BOUND_S))
            late = client.enqueue(self.name() + "_late")
            results: List[Any] = []
            waiting = threading.Thread(target=lambda: results.append(late.result(timeout=BOUND_S)))
            waiting.start()
            wait_until(lambda: sum("/wait" in request for request in proxy.requests) >= 3, "waits that were cut")
            finish: Any = drover.task(self.name() + "_late")(lambda payload, ctx: "at last")
            self.run_worker(drover.Worker(self.client, [finish]), until_empty=True).join()
            waiting.join(BOUND_S)
            self.assertEqual(["at last"], results)
            running.worker.stop()
            running.join()

    def test_06_a_proxy_that_keeps_events_back(self) -> None:
        judge = lambda method, target, count: "hold" if target.startswith("/v1/events?") and "snapshot" in target else "pass"  # noqa: E731
        with Proxy(self.server.port, judge) as proxy, self.server.client(url=proxy.url, timeout=0.5) as client:
            events = client.events(type=self.name())
            found: List[Any] = []
            reading = threading.Thread(target=lambda: found.extend(next(events) for _ in range(2)))
            reading.start()
            handle = self.client.enqueue(self.name())
            handle.cancel()
            reading.join(BOUND_S)
            self.assertEqual(["task.enqueued", "task.cancelled"], [event["name"] for event in found])

    def test_06_the_same_with_asyncio(self) -> None:
        judge = lambda method, target, count: "hold" if target.startswith("/v1/events?") and "snapshot" in target else "pass"  # noqa: E731

        async def main(url: str) -> None:
            async with self.server.async_client(url=url, timeout=0.5) as client:
                after = (await client.call("GET", "/v1/events/last"))["seq"]
                handle = await client.enqueue(self.name())
                await handle.cancel()
                names = []
                async for event in client.events(after, task=handle.id):
                    assert not isinstance(event, drover.Gap)
                    names.append(event["name"])
                    if len(names) == 2:
                        break
                self.assertEqual(["task.enqueued", "task.cancelled"], names)

        with Proxy(self.server.port, judge) as proxy:
            asyncio.run(asyncio.wait_for(main(proxy.url), BOUND_S))

    def test_09_a_token_that_is_revoked(self) -> None:
        token = self.server.drover("token", "create", "--role", "worker")
        begun = threading.Event()
        reasons: List[Any] = []

        @drover.task(self.name())
        def long(payload: Any, ctx: drover.Context) -> None:
            begun.set()
            ctx.wait_cancelled(BOUND_S)
            reasons.append(ctx.reason)

        handle = long.enqueue(self.client)
        with drover.Client(self.server.url, token) as client:
            running = self.run_worker(drover.Worker(client, [long], concurrency=2, lease=1.5, heartbeat=0.2))
            self.assertTrue(begun.wait(BOUND_S))
            self.server.drover("token", "revoke", token.split("_")[1])
            with self.assertRaises(drover.Unauthorised):
                running.join()
        self.assertEqual(["lost"], reasons)
        alive: Any = drover.task(self.name())(lambda payload, ctx: "by another")
        self.run_worker(drover.Worker(self.client, [alive]), until_empty=True).join()
        self.assertEqual("by another", handle.result(timeout=BOUND_S))

    def test_10_payloads(self) -> None:
        seen: List[Any] = []

        @drover.task(self.name())
        def look(payload: Any, ctx: drover.Context) -> Any:
            seen.append((ctx.payload_text, payload))
            return payload

        texts = ["12345678901234567890", "1.10", "null", '{"a":[1.10,{"b":-0.0}],"c":"\u00e9"}', "1e400", '""']
        for text in texts:
            look.enqueue(self.client, payload_text=text)
        look.enqueue(self.client)
        self.run_worker(drover.Worker(self.client, [look]), until_empty=True).join()
        self.assertEqual([*texts, None], [text for text, _ in seen])
        self.assertEqual([12345678901234567890, 1.1, None], [payload for _, payload in seen[:3]])
        self.assertEqual(Decimal("1e400"), seen[4][1])
        before = sum(1 for _ in self.client.list(type=self.name()))
        for bad in [lambda: look.enqueue(self.client, "\ud800"), lambda: look.enqueue(self.client, {"\udfff": 1}),
                    lambda: look.enqueue(self.client, payload_text='"\\ud800"'), lambda: look.enqueue(self.client, float("nan")),
                    lambda: look.enqueue(self.client, payload_text='{"a":'), lambda: look.enqueue(self.client, "x" * (2 * MIB))]:  # fmt: skip
            with self.assertRaises(drover.Invalid):
                bad()
        self.assertEqual(before, sum(1 for _ in self.client.list(type=self.name())))

    def test_11_results(self) -> None:
        cycle: List[Any] = []
        cycle.append(cycle)
        values = {"large": "x" * (MIB + 1), "huge": "x" * (17 * MIB), "cyclic": cycle, "set": {1}, "nan": float("nan"), "half": "\ud800",
                  "bytes": b"x", "decimal": Decimal("1.10"), "big": 2**70, "none": None}  # fmt: skip

        @drover.task(self.name(), max_attempts=1)
        def give(payload: str, ctx: drover.Context) -> Any:
            return values[payload]

        handles = {name: give.enqueue(self.client, name) for name in values}
        self.run_worker(drover.Worker(self.client, [give], concurrency=len(values)), until_empty=True).join()
        classes = {name: (handle.get()["error"] or {"class": None})["class"] for name, handle in handles.items()}
        too_large, invalid = "result_too_large", "invalid"
        self.assertEqual(
            {"large": too_large, "huge": too_large, "cyclic": invalid, "set": invalid, "nan": invalid, "half": invalid, "bytes": invalid,
             "decimal": None, "big": None, "none": None},
            classes,
        )  # fmt: skip
        self.assertEqual(("1.10", str(2**70)), (handles["decimal"].member_text("result"), handles["big"].member_text("result")))

    def test_12_a_batch_of_10000_whose_answer_is_lost(self) -> None:
        name = self.name()
        with Proxy(self.server.port, lose_first("POST /v1/tasks")) as proxy, self.server.client(url=proxy.url, timeout=60) as client:
            handles = client.enqueue_many([(name, n) for n in range(10_000)])
            self.assertTrue(proxy.lost.is_set())
        self.assertEqual(10_000, len({handle.id for handle in handles}))
        self.assertTrue(handles[0].deduplicated)
        waiting = {queue["name"]: queue["waiting"] for queue in self.client.call("GET", "/v1/queues")["queues"]}
        self.assertEqual(10_000, waiting[name])
        self.client.call("POST", f"/v1/gates/queue:{name}", {"action": "close"})

    def test_25_all_slots_wait_for_their_children(self) -> None:
        child: Any = drover.task(self.name() + "_child")(lambda payload, ctx: payload)
        both = threading.Barrier(2)

        @drover.task(self.name(), max_attempts=1)
        def parent(payload: int, ctx: drover.Context) -> Any:
            if ctx.task["suspends"]:
                return [one["result"] for one in ctx.parents()]
            (handle,) = ctx.spawn([(child, payload)], key="child")
            both.wait(BOUND_S)
            with self.assertRaises(drover.WaitTimeout):
                handle.result(timeout=0.2)  # both slots wait, so no child can run
            both.wait(BOUND_S)
            ctx.wait_children()  # without a slot
            return None

        handles = [parent.enqueue(self.client, n) for n in range(2)]
        worker = drover.Worker(self.client, [parent, child], concurrency=2)
        self.run_worker(worker, until_empty=True).join()
        self.assertEqual([[0], [1]], [handle.get()["result"] for handle in handles])

    def test_26_a_fork_after_connecting(self) -> None:
        name = self.name()
        first = self.client.enqueue(name, "before")  # the connection is there
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                ids = [self.client.enqueue(name, f"child {n}").id for n in range(20)]
                os.write(writing, " ".join(ids).encode())
                status = 0
            finally:
                os._exit(status)
        ids = [self.client.enqueue(name, f"parent {n}").id for n in range(20)]
        self.assertEqual(0, os.waitpid(child, 0)[1])
        ids += os.read(reading, 10_000).decode().split()
        os.close(reading), os.close(writing)
        payloads = [self.client.task(task_id).get()["payload"] for task_id in ids]  # nobody got the other's answer
        self.assertEqual([f"parent {n}" for n in range(20)] + [f"child {n}" for n in range(20)], payloads)
        self.assertEqual("before", first.get()["payload"])

    def test_26_a_fork_with_asyncio(self) -> None:
        client = self.server.async_client()

        async def enqueue(payload: str) -> str:
            return (await client.enqueue(self.name(), payload)).id

        before = asyncio.run(enqueue("before"))
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.write(writing, asyncio.run(enqueue("child")).encode())
                status = 0
            finally:
                os._exit(status)
        parent = asyncio.run(enqueue("parent"))
        self.assertEqual(0, os.waitpid(child, 0)[1])
        ids = [before, parent, os.read(reading, 100).decode()]
        os.close(reading), os.close(writing)
        self.assertEqual(["before", "parent", "child"], [self.client.task(task_id).get()["payload"] for task_id in ids])

    def test_26_a_worker_in_a_forked_child(self) -> None:
        echo: Any = drover.task(self.name())(lambda payload, ctx: os.getpid())
        worker = drover.Worker(self.client, [echo])  # one worker object, three processes
        handles = [echo.enqueue(self.client, n) for n in range(6)]
        children = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    worker.run(signals=False, until_empty=True)
                    status = 0
                finally:
                    os._exit(status)
            children.append(child)
        self.assertEqual([0, 0, 0], [os.waitpid(child, 0)[1] for child in children])
        self.assertTrue(all(handle.get()["result"] in children for handle in handles))


@on_every_store
class Replaced(ServerCase):
    """The server goes away in the middle of things."""

    def test_07_a_server_that_is_replaced_between_claim_and_settle(self) -> None:
        begun, go_on = threading.Event(), threading.Event()

        @drover.task(self.name(), at_most_once=True)
        def long(payload: Any, ctx: drover.Context) -> str:
            begun.set()
            go_on.wait(BOUND_S)
            return "kept"

        handle = long.enqueue(self.client)
        running = self.run_worker(drover.Worker(self.client, [long]))
        self.assertTrue(begun.wait(BOUND_S))
        results: List[Any] = []
        waiting = threading.Thread(target=lambda: results.append(handle.result(timeout=BOUND_S)))
        waiting.start()
        self.server.kill()
        go_on.set()
        wait_until(lambda: not running.worker._engine.state.running, "the end of the handler")
        self.server.start()
        waiting.join(BOUND_S)
        self.assertEqual(["kept"], results)
        self.assertEqual(1, handle.get()["run"])

    def test_07_events_go_on_where_they_broke_off(self) -> None:
        events = self.client.events(type=self.name())
        self.client.enqueue(self.name())
        self.assertEqual("task.enqueued", next(events)["name"])
        found: List[Any] = []
        reading = threading.Thread(target=lambda: found.append(next(events)))
        reading.start()
        self.server.kill()
        self.server.start()
        self.client.enqueue(self.name())
        reading.join(BOUND_S)
        self.assertEqual(["task.enqueued"], [event["name"] for event in found])

    def test_events_that_are_gone_come_as_a_gap(self) -> None:
        with self.server.client("admin") as admin:
            version = admin.call("GET", "/v1/config")["version"]
            admin.call("PUT", "/v1/config", {"version": version, "document": {"limits": {"event_retention_count": 1}}})
        for _ in range(20):
            self.client.enqueue(self.name()).cancel()
        self.server.kill(signal.SIGTERM)
        self.server.start()  # which deletes old events when it starts
        wait_until(lambda: self.client.call("GET", "/v1/events?after=0&limit=1")["events"][0]["seq"] > 20, "retention")
        gap = next(self.client.events(0))
        assert isinstance(gap, drover.Gap)
        self.assertEqual(0, gap.after)
        self.assertGreaterEqual(gap.seq, 20)

        async def main() -> None:
            async with self.server.async_client() as client:
                async for event in client.events(0):
                    self.assertEqual(gap, event)
                    break

        asyncio.run(asyncio.wait_for(main(), BOUND_S))

    def test_07_a_worker_that_starts_before_its_server(self) -> None:
        echo: Any = drover.task(self.name())(lambda payload, ctx: payload)
        self.server.kill()
        running = self.run_worker(drover.Worker(self.client, [echo]))
        self.server.start()
        self.assertEqual(1, echo.enqueue(self.client, 1).result(timeout=BOUND_S))
        running.worker.stop()
        running.join()


class Regressed(unittest.TestCase):
    """8. The store went backwards. On SQLite, where a copy of its files is an old state of it."""

    def setUp(self) -> None:
        self.server = Server("sqlite")
        self.addCleanup(self.server.close)

    def test_08_a_store_that_went_backwards(self) -> None:
        with self.server.client("admin") as client:
            client.enqueue("t")
            self.server.kill(signal.SIGTERM)
            copy = self.server.dir + "-copy"
            shutil.copytree(self.server.dir, copy)
            self.addCleanup(shutil.rmtree, copy, True)
            self.server.start()
            lost = client.enqueue("t").id
            self.server.kill(signal.SIGTERM)
            for name in os.listdir(copy):
                if name.startswith("drover.db"):
                    shutil.copy(f"{copy}/{name}", f"{self.server.dir}/{name}")
            self.server.start()
            client.enqueue("t")  # tasks are still taken; none is given to anybody until a person has decided
            ran: List[Any] = []
            collect: Any = drover.task("t")(lambda payload, ctx: ran.append(ctx.task["id"]))
            with self.assertRaises(drover.Unavailable) as caught:  # one that is to end does not wait for that
                drover.Worker(client, [collect]).run(signals=False, until_empty=True)
            self.assertEqual("store_regressed", caught.exception.code)
            running = RunningWorker(drover.Worker(client, [collect]))
            self.addCleanup(running.end)
            client.call("POST", "/v1/store/accept-regression")
            wait_until(lambda: len(ran) == 2, "both tasks")
            self.assertNotIn(lost, ran)
            running.worker.stop()
            self.assertEqual(2, running.join().completed)


class Silence(unittest.TestCase):
    """A server that takes requests and says nothing."""

    def test_a_call_ends_in_time(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            client = drover.Client(f"http://127.0.0.1:{deaf.getsockname()[1]}", "t", timeout=0.2, retries=1)
            with self.assertRaises(drover.Unavailable) as caught:
                client.enqueue("t")
            self.assertTrue(caught.exception.outcome_unknown)
            with self.assertRaises(drover.Unavailable) as caught:
                client.task("00000000-0000-7000-8000-000000000000").edit(priority=1)
            self.assertTrue(caught.exception.outcome_unknown)
            client.close()

    def test_a_call_with_asyncio_ends_in_time(self) -> None:
        async def main(port: int) -> None:
            async with drover.AsyncClient(f"http://127.0.0.1:{port}", "t", timeout=0.2, retries=1) as client:
                with self.assertRaises(drover.Unavailable) as caught:
                    await client.enqueue("t")
                self.assertTrue(caught.exception.outcome_unknown)
                self.assertIn("timed out", str(caught.exception))
                waiting = asyncio.ensure_future(client.call("GET", "/healthz"))
                await asyncio.sleep(0.05)
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting

        with socket.create_server(("127.0.0.1", 0)) as deaf:
            asyncio.run(asyncio.wait_for(main(deaf.getsockname()[1]), BOUND_S))


if __name__ == "__main__":
    unittest.main()

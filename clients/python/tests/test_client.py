"""Client and AsyncClient against a real server."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
import threading
import unittest
from decimal import Decimal
from typing import Any, Dict

from .support import BOUND_S, Server, ServerCase, drover, environment, on_every_store


@on_every_store
class Clients(ServerCase):
    def complete(self, task_type: str, result: Any = None) -> None:
        """Runs what waits under this type."""
        worker = drover.Worker(self.client, [drover.task(task_type)(lambda payload, ctx: result)])
        self.run_worker(worker, until_empty=True).join()

    def test_a_task_from_enqueue_to_result(self) -> None:
        handle = self.client.enqueue(self.name(), {"a": [1, "ü"]}, priority=2, tags=["x"], delay=0)
        task = handle.get()
        self.assertEqual(("pending", {"a": [1, "ü"]}, 2, ["x"]), (task["state"], task["payload"], task["priority"], task["tags"]))
        with self.assertRaises(drover.WaitTimeout) as caught:
            handle.result(timeout=0.05)
        self.assertIsInstance(caught.exception, TimeoutError)
        self.complete(self.name(), {"done": True})
        self.assertEqual({"done": True}, handle.result(timeout=BOUND_S))
        self.assertEqual("completed", handle.runs()[0]["outcome"])

    def test_a_wait_ends_with_its_task(self) -> None:
        handle = self.client.enqueue(self.name())
        found: Dict[str, Any] = {}
        waiting = threading.Thread(target=lambda: found.update(result=handle.result(timeout=BOUND_S)))
        waiting.start()
        self.complete(self.name(), "late")
        waiting.join(BOUND_S)
        self.assertEqual({"result": "late"}, found)

    def test_a_failed_task_raises(self) -> None:
        def fail(payload: Any, ctx: drover.Context) -> None:
            raise drover.TaskError("invalid", "no such picture", note="looked everywhere")

        handle = self.client.enqueue(self.name())
        self.run_worker(drover.Worker(self.client, [drover.task(self.name())(fail)]), until_empty=True).join()
        with self.assertRaises(drover.TaskFailed) as caught:
            handle.result(timeout=BOUND_S)
        self.assertEqual("invalid", caught.exception.code)
        self.assertIn("no such picture", str(caught.exception))
        self.assertEqual("looked everywhere", handle.runs()[0]["note"])
        self.assertIn(handle.retry(why="try again")["state"], ("pending", "scheduled"))

    def test_a_cancelled_task_raises(self) -> None:
        handle = self.client.enqueue(self.name())
        self.assertEqual("cancelled", handle.cancel("not needed")["state"])
        with self.assertRaises(drover.TaskCancelled) as caught:
            handle.result(timeout=BOUND_S)
        self.assertIn("not needed", str(caught.exception))

    def test_a_deleted_task_is_an_error(self) -> None:
        handle = self.client.enqueue(self.name())
        handle.cancel()
        self.client.call("DELETE", f"/v1/tasks/{handle.id}")
        with self.assertRaises(drover.NotFound):
            handle.result(timeout=BOUND_S)

    def test_a_batch_is_all_or_nothing(self) -> None:
        name = self.name()
        first, second = self.client.enqueue_many(
            [{"type": name, "ref": "a", "payload": 1}, {"type": name, "depends_on": ["@a"], "payload": 2}]
        )
        self.assertEqual([first.id], second.get()["depends_on"])
        with self.assertRaises(drover.Invalid):
            self.client.enqueue_many([(name, 3), {"type": name, "depends_on": ["@nobody"]}])
        self.assertEqual(2, sum(1 for _ in self.client.list(type=name)))
        self.assertEqual([], self.client.enqueue_many([]))

    def test_a_key_makes_one_batch(self) -> None:
        name = self.name()
        batch = [(name, n) for n in range(3)]
        once, again = (self.client.enqueue_many(batch, key=f"{name}-{self.store}") for _ in range(2))
        self.assertEqual([one.id for one in once], [one.id for one in again])
        self.assertEqual([False, True], [once[0].deduplicated, again[0].deduplicated])
        with self.assertRaises(drover.RequestConflict):
            self.client.enqueue_many(batch[:2], key=f"{name}-{self.store}")

    def test_request_ids_within_a_batch(self) -> None:
        batch = [{"type": self.name(), "request_id": f"{self.name()}-one"}, {"type": self.name()}]
        once, again = (self.client.enqueue_many(batch, key=self.name()) for _ in range(2))
        self.assertEqual([one.id for one in once], [one.id for one in again])
        alone = self.client.enqueue(self.name(), request_id=f"{self.name()}-one")
        self.assertEqual((once[0].id, True), (alone.id, alone.deduplicated))

    def test_list_goes_through_all_pages(self) -> None:
        name = self.name()
        handles = self.client.enqueue_many([(name, n) for n in range(7)])
        listed = [task["id"] for task in self.client.list(type=name, state=["pending", "running"], page=3)]
        self.assertEqual(sorted(handle.id for handle in handles), sorted(listed))
        with self.assertRaises(TypeError):
            list(self.client.list(colour="red"))

    def test_edit_explain_and_log(self) -> None:
        handle = self.client.enqueue(self.name(), 1)
        self.assertEqual(7, handle.edit(priority=7)["priority"])
        self.assertIn(handle.explain()["reason"], ("no_worker", "in_line"))

        def talk(payload: Any, ctx: drover.Context) -> str:
            ctx.log("one\n")
            ctx.log("two\n", stream="stderr")
            return "ok"

        self.run_worker(drover.Worker(self.client, [drover.task(self.name())(talk)]), until_empty=True).join()
        self.assertEqual([("stdout", "one\n"), ("stderr", "two\n")], [(r["stream"], r["text"]) for r in handle.log(follow=True)])

    def test_numbers_are_exact(self) -> None:
        text = '{"big":12345678901234567890,"price":1.10,"huge":1e400,"list":[0.30000000000000004]}'
        handle = self.client.enqueue(self.name(), payload_text=text)
        self.assertEqual(text, handle.member_text("payload"))
        payload = handle.get()["payload"]
        self.assertEqual((12345678901234567890, 1.1, Decimal("1e400")), (payload["big"], payload["price"], payload["huge"]))
        decimal = self.server.client(floats="decimal")
        self.addCleanup(decimal.close)
        payload = decimal.task(handle.id).get()["payload"]
        self.assertEqual("1.10", str(payload["price"]))
        copy = decimal.enqueue(self.name(), payload)
        self.assertEqual(text.replace("1e400", "1E+400"), copy.member_text("payload"))
        handle.cancel(), copy.cancel()

    def test_null_and_nothing_differ(self) -> None:
        nothing, null = self.client.enqueue(self.name()), self.client.enqueue(self.name(), payload_text="null")
        self.assertEqual((None, ["payload"]), (nothing.get().get("null_values"), null.get().get("null_values")))
        nothing.cancel(), null.cancel()

    def test_events_from_now_on(self) -> None:
        events = self.client.events(type=self.name())
        handle = self.client.enqueue(self.name())
        handle.cancel()
        seen = [next(events) for _ in range(2)]
        self.assertEqual(["task.enqueued", "task.cancelled"], [event["name"] for event in seen])
        events.close()
        resumed = self.client.events(seen[0]["seq"], task=handle.id)
        self.assertEqual("task.cancelled", next(resumed)["name"])
        resumed.close()

    def test_a_unix_socket(self) -> None:
        with self.server.client(url=self.server.unix_url) as client:
            handle = client.enqueue(self.name(), "through a socket")
            self.assertEqual("through a socket", handle.get()["payload"])
            handle.cancel()

    def test_several_servers(self) -> None:
        with self.server.client(url=f"http://127.0.0.1:1,{self.server.url}") as client:
            self.assertEqual("ok", client.call("GET", "/healthz")["status"])

    def test_no_server(self) -> None:
        with drover.Client("http://127.0.0.1:1", "t", retries=1) as client:
            with self.assertRaises(drover.Unavailable) as caught:
                client.enqueue("t")
            self.assertFalse(caught.exception.outcome_unknown)

    def test_the_environment_is_the_default(self) -> None:
        with environment(DROVER_STORE=self.server.url, DROVER_TOKEN=self.server.token("operator")):
            with drover.Client() as client:
                self.assertEqual("operator", client.call("GET", "/v1/server")["role"])

    def test_roles(self) -> None:
        with self.server.client("viewer") as viewer, self.assertRaises(drover.Unauthorised) as caught:
            viewer.enqueue(self.name())
        self.assertEqual(("forbidden", 403), (caught.exception.code, caught.exception.status))
        with drover.Client(self.server.url, "drv_nobody") as stranger, self.assertRaises(drover.Unauthorised):
            stranger.enqueue(self.name())

    def test_call_is_for_everything_else(self) -> None:
        self.assertIn("queues", self.client.call("GET", "/v1/queues"))
        self.assertIn("drover_", self.client.call("GET", "/metrics"))

    def test_a_closed_client(self) -> None:
        client = self.server.client()
        client.close()
        with self.assertRaises(ValueError):
            client.enqueue(self.name())


@on_every_store
class AsyncClients(ServerCase):
    def run_async(self, coroutine: Any) -> Any:
        return asyncio.run(asyncio.wait_for(coroutine, BOUND_S))

    def test_a_task_from_enqueue_to_result(self) -> None:
        @drover.task(self.name())
        async def double(payload: int, ctx: drover.AsyncContext) -> int:
            await ctx.progress(50, "half")
            await ctx.log("doubling\n")
            await ctx.checkpoint({"at": payload})
            return payload * 2

        async def main() -> None:
            async with self.server.async_client() as client:
                handles = [await client.enqueue(double, n) for n in range(5)]
                waits = [asyncio.ensure_future(handle.result(timeout=BOUND_S)) for handle in handles]
                await drover.AsyncWorker(client, [double], concurrency=3).run(until_empty=True)
                self.assertEqual([0, 2, 4, 6, 8], await asyncio.gather(*waits))
                self.assertEqual(["doubling\n"], [record["text"] async for record in handles[0].log()])
                self.assertEqual({"at": 3}, (await handles[3].get())["checkpoint"])
                self.assertEqual("3", await handles[3].member_text("payload"))
                self.assertEqual(5, len([task async for task in client.list(type=double.name, page=2)]))
                self.assertEqual("completed", (await handles[0].runs())[0]["outcome"])
                self.assertEqual("ended", (await handles[0].explain())["reason"])

        self.run_async(main())

    def test_a_cancelled_wait_leaves_the_task_alone(self) -> None:
        async def main() -> None:
            async with self.server.async_client() as client:
                handle = await client.enqueue(self.name())
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(handle.result(), 0.1)
                self.assertEqual("pending", (await handle.get())["state"])
                self.assertEqual(9, (await handle.edit(priority=9))["priority"])
                await handle.cancel()
                with self.assertRaises(drover.TaskCancelled):
                    await handle.result()
                self.assertEqual("pending", (await handle.retry())["state"])
                await handle.cancel()

        self.run_async(main())

    def test_many_waits_at_once(self) -> None:
        async def main() -> None:
            async with self.server.async_client() as client:
                handles = await client.enqueue_many([(self.name(), n) for n in range(200)])
                before = threading.active_count()
                waits = [asyncio.ensure_future(handle.result(timeout=BOUND_S)) for handle in handles]
                await asyncio.sleep(0.05)
                self.assertLess(threading.active_count() - before, 3)  # not a thread for each
                worker = drover.AsyncWorker(client, [drover.task(self.name())(lambda payload, ctx: payload)], concurrency=20)
                await worker.run(until_empty=True)
                self.assertEqual(list(range(200)), await asyncio.gather(*waits))

        self.run_async(main())

    def test_events(self) -> None:
        async def main() -> None:
            async with self.server.async_client() as client:
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

        self.run_async(main())

    def test_a_client_in_two_loops(self) -> None:
        client = self.server.async_client(url=self.server.unix_url)
        for _ in range(2):
            self.assertEqual("ok", self.run_async(client.call("GET", "/healthz"))["status"])

    def test_no_server(self) -> None:
        async def main() -> None:
            async with drover.AsyncClient("http://127.0.0.1:1", "t", retries=1) as client:
                with self.assertRaises(drover.Unavailable):
                    await client.enqueue("t")

        self.run_async(main())


class Tls(unittest.TestCase):
    def test_both_clients(self) -> None:
        folder = tempfile.mkdtemp(prefix="drover-tls-")
        self.addCleanup(shutil.rmtree, folder, True)
        certificate, key = f"{folder}/cert.pem", f"{folder}/key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out",
             certificate, "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
            check=True, capture_output=True,
        )  # fmt: skip
        server = Server("sqlite", "--tls-cert", certificate, "--tls-key", key, "--host", "localhost")
        self.addCleanup(server.close)
        url = f"https://localhost:{server.port}"
        with server.client(url=f"{url}?ca={certificate}") as client:
            handle = client.enqueue("secret", "x" * 100_000)
            self.assertEqual("x" * 100_000, handle.get()["payload"])

        async def main() -> None:
            async with server.async_client(url=f"{url}?ca={certificate}") as client:
                self.assertEqual("pending", (await client.task(handle.id).get())["state"])

        asyncio.run(asyncio.wait_for(main(), BOUND_S))
        with server.client(url=url, retries=0) as stranger, self.assertRaises(drover.Unavailable) as caught:
            stranger.enqueue("secret")  # nobody vouches for this certificate
        self.assertIn("certificate", str(caught.exception).lower())


class Connections(ServerCase):
    def test_one_connection_is_used_again_and_an_idle_one_is_dropped(self) -> None:
        transport = self.client._transport
        self.client.call("GET", "/healthz")
        (kept,) = transport._idle
        self.client.call("GET", "/healthz")
        self.assertEqual([kept], transport._idle)
        kept.idle_since -= 31
        self.client.call("GET", "/healthz")
        self.assertNotIn(kept, transport._idle)

    def test_a_connection_that_the_server_closed_is_not_used(self) -> None:
        self.client.call("GET", "/healthz")
        self.server.kill()
        self.server.start()
        call = drover.client._calls.edit_task("00000000-0000-7000-8000-000000000000", {"priority": 1})
        with self.assertRaises(drover.NotFound):  # not Unavailable: a call that may not be repeated does not meet a dead connection
            self.client._transport.attempt(call)


if __name__ == "__main__":
    unittest.main()


/** The client against real servers. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Client, Invalid, NotFound, RequestConflict, TaskCancelled, TaskFailed, taskType, Unauthorised, Unavailable, WaitTimeout, Worker, WrongState } from "drover-client";
import { TestServer } from "./support/server.js";
import { onEveryStore } from "./support/suite.js";

const sum = taskType<{ a: number; b: number }, number>("sum");

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

onEveryStore("the client", (place) => {
  it("enqueues with defaults, options and request ids", async () => {
    const client = place.server.client();
    const urgent = taskType<string>("urgent", { priority: 1, tags: ["a"], queue: "q" });
    const handle = await client.enqueue(urgent, "x", { tags: ["b"], request_id: "r-1" });
    const task = await handle.get();
    assert.deepEqual([task.queue, task.priority, task.tags, task.request_id, task.payload], ["q", 1, ["b"], "r-1", "x"]);
    const again = await client.enqueue(urgent, "x", { tags: ["b"], request_id: "r-1" });
    assert.deepEqual([again.id, again.deduplicated, handle.deduplicated], [handle.id, true, false]);
    await assert.rejects(client.enqueue(urgent, "y", { request_id: "r-1" }), RequestConflict);
    await assert.rejects(client.enqueue("no such name"), Invalid);
  });

  it("enqueues many, all or nothing, with refs", async () => {
    const client = place.server.client();
    const [first, second] = await client.enqueueMany([sum.with({ a: 1, b: 2 }, { ref: "one" }), { type: "later", depends_on: ["@one"] }]);
    assert.deepEqual((await second.get()).depends_on, [first.id]);
    assert.deepEqual(await client.enqueueMany([]), []);
    const before = await collect(client.list({ type: "sum" }));
    await assert.rejects(client.enqueueMany([sum.with({ a: 1, b: 1 }), { type: "later", depends_on: ["@nobody"] }]), Invalid);
    assert.equal((await collect(client.list({ type: "sum" }))).length, before.length);
    const once = await client.enqueueMany([sum.with({ a: 1, b: 1 })], { request_id: "batch-1" });
    const twice = await client.enqueueMany([sum.with({ a: 1, b: 1 })], { request_id: "batch-1" });
    assert.equal(once[0].id, twice[0].id);
    const mixed = (): Promise<{ id: string }[]> => client.enqueueMany([sum.with({ a: 1, b: 1 }, { request_id: "own" }), sum.with({ a: 2, b: 2 })], { request_id: "batch-2" });
    assert.deepEqual((await mixed()).map(({ id }) => id), (await mixed()).map(({ id }) => id));
  });

  it("lists over pages, with filters", async () => {
    const client = place.server.client();
    const made = await client.enqueueMany(Array.from({ length: 25 }, (_, i) => ({ type: "listed", payload: i, tags: [i % 2 ? "odd" : "even"] })));
    const listed = await collect(client.list({ type: "listed", limit: 10 }));
    assert.deepEqual(listed.map(({ id }) => id).sort(), made.map(({ id }) => id).sort());
    assert.equal((await collect(client.list({ type: "listed", tag: "odd", state: ["pending", "running"] }))).length, 12);
  });

  it("waits for results, and throws for what has none", async () => {
    const client = place.server.client();
    const worker = new Worker(client)
      .handle(sum, ({ a, b }) => a + b)
      .handle("nothing", () => undefined)
      .handle("null", () => null)
      .handle("broken", () => {
        throw new Error("it broke");
      });
    const working = worker.run({ signals: false });
    assert.equal(await (await client.enqueue(sum, { a: 2, b: 3 })).result({ timeoutMs: 10_000 }), 5);
    assert.equal(await (await client.enqueue("nothing")).result({ timeoutMs: 10_000 }), undefined);
    assert.equal(await (await client.enqueue("null")).result({ timeoutMs: 10_000 }), null);
    const broken = await client.enqueue("broken", undefined, { max_attempts: 1 });
    await assert.rejects(broken.result({ timeoutMs: 10_000 }), (error) => error instanceof TaskFailed && error.task.error?.message === "it broke");
    assert.match((await collect(broken.log())).map(({ text }) => text).join(""), /Error: it broke\n +at /);
    await worker.stop();
    await working;
    const waiting = await client.enqueue(sum, { a: 1, b: 1 });
    await assert.rejects(waiting.result({ timeoutMs: 50 }), WaitTimeout);
    const controller = new AbortController();
    const result = waiting.result({ signal: controller.signal });
    setImmediate(() => controller.abort(new Error("enough")));
    await assert.rejects(result, /enough/);
    assert.equal((await waiting.get()).state, "pending", "the task goes on");
    assert.equal((await waiting.cancel("not needed")).state, "cancelled");
    assert.equal((await waiting.cancel("again")).state, "cancelled");
    await assert.rejects(waiting.result(), (error) => error instanceof TaskCancelled && /not needed/.test(error.message));
    assert.equal((await waiting.retry()).generation, 2);
    await assert.rejects(waiting.retry(), WrongState);
    await waiting.cancel();
    await client.call("DELETE", `/v1/tasks/${waiting.id}`);
    await assert.rejects(waiting.result(), NotFound);
  });

  it("wakes a wait as soon as the task ends", async () => {
    const client = place.server.client();
    const handle = await client.enqueue(sum, { a: 1, b: 1 });
    const waiting = assert.rejects(handle.result(), TaskCancelled);
    const started = performance.now();
    await handle.cancel();
    await waiting;
    assert.ok(performance.now() - started < 5_000);
  });

  it("keeps numbers and null as they are", async () => {
    const client = place.server.client({ bigints: "bigint" });
    const handle = await client.enqueue("exact", { n: 12345678901234567890n, m: -1n });
    assert.equal(await handle.text("payload"), '{"n":12345678901234567890,"m":-1}');
    assert.deepEqual((await handle.get()).payload, { n: 12345678901234567890n, m: -1 });
    await assert.rejects(place.server.client().task(handle.id).get(), (error) => error instanceof Invalid && error.code === "unsafe_integer");
    const nothing = await client.enqueue("exact");
    const isNull = await client.enqueue("exact", null);
    assert.deepEqual([await nothing.text("payload"), await isNull.text("payload"), await isNull.text("result")], [undefined, "null", undefined]);
    const raw = await client.callText("POST", "/v1/tasks", { type: "exact", payload: { price: "x" } });
    assert.match(raw, /"state":"pending"/);
  });

  it("calls any other operation", async () => {
    const client = place.server.client();
    await client.enqueue(sum, { a: 1, b: 1 });
    const { queues } = await client.call<{ queues: { name: string }[] }>("GET", "/v1/queues");
    assert.ok(queues.some(({ name }) => name === "sum"));
    assert.equal((await client.server()).role, "admin");
    assert.match(await client.callText("GET", "/metrics"), /drover_/);
  });

  it("is refused what its token does not allow", async () => {
    const viewer = place.server.client({ token: place.server.token("viewer") });
    await assert.rejects(viewer.enqueue("x"), (error) => error instanceof Unauthorised && error.status === 403);
    const stranger = new Client({ url: place.server.url, token: "drv_wrong" });
    await assert.rejects(stranger.enqueue("x"), (error) => error instanceof Unauthorised && error.status === 401);
  });

  it("speaks over a Unix socket, and through fetch", async () => {
    const token = place.server.token("admin");
    const viaSocket = place.server.client({ token, url: place.server.socketUrl });
    const viaFetch = place.server.client({ token, fetch });
    const handle = await viaSocket.enqueue(sum, { a: 1, b: 1 });
    assert.equal((await viaFetch.task(handle.id).get()).type, "sum");
  });
});

describe("TLS", () => {
  it("is used by the client and by the renewal thread, with a certificate of one's own", async () => {
    const server = await TestServer.start("sqlite", "tls");
    try {
      const client = server.client();
      const warnings: string[] = [];
      const worker = new Worker(client, { heartbeatMs: 50, log: (text) => warnings.push(text) }).handle("secret", async (_payload, { signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      });
      const working = worker.run({ signals: false });
      const handle = await client.enqueue("secret");
      for await (const event of client.events({ after: 0, task: handle.id })) if (event.kind !== "gap" && event.state === "running") break;
      await handle.cancel();
      assert.equal((await handle.ended({ timeoutMs: 10_000 })).state, "cancelled", "the thread has heard of it");
      await worker.stop();
      await working;
      assert.deepEqual(warnings, []);
      const started = performance.now();
      const trusting = new Client({ url: server.url.replace(/\?.*/, ""), token: "x" });
      await assert.rejects(trusting.enqueue("x"), (error) => error instanceof Unavailable && !error.outcomeUnknown && /self[- ]signed/.test(error.message));
      assert.ok(performance.now() - started < 3_000, "a certificate that is not trusted is not asked again");
    } finally {
      await server.close();
    }
  });
});

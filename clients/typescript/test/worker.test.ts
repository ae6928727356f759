/** The worker against real servers: what handlers see, how runs end, how workers stop. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { type Context, Invalid, NotFound, type ParentResult, RunAborted, TaskError, TaskFailed, taskType, Worker } from "drover-client";
import { WorkerProcess } from "./support/child.js";
import { onEveryStore } from "./support/suite.js";
import { aborted, eventually, signalled } from "./support/wait.js";

onEveryStore("the worker", (place) => {
  it("gives handlers what they need, and the next run what the last one left", async () => {
    const client = place.server.client();
    const seen: Context[] = [];
    const worker = new Worker(client).handle("steps", async (_payload: { step: number }, context) => {
      seen.push(context);
      await context.progress(40, "halfway");
      await Promise.all([context.log("one\n"), context.log("two\n"), context.log("three\n")]);
      await context.usage({ input_tokens: 5 });
      if (context.earlierRuns.length === 0) {
        await context.checkpoint({ step: 2 });
        throw new TaskError("overloaded", "try later", { retryAfterMs: 1, note: "left off at 2" });
      }
      return context.checkpointValue;
    });
    const working = worker.run({ signals: false });
    const handle = await client.enqueue("steps", { step: 1 }, { retry: "fixed:1ms" });
    assert.deepEqual(await handle.result({ timeoutMs: 15_000 }), { step: 2 });
    await worker.stop();
    await working;
    const second = seen[1] as Context;
    assert.deepEqual([second.payloadText, second.earlierRuns[0]?.note, second.earlierRuns[0]?.error?.class], ['{"step":1}', "left off at 2", "overloaded"]);
    const lines: string[] = [];
    for await (const { text } of handle.log()) lines.push(text);
    assert.equal(lines.join("").replace(/TaskError[^]*?\n(?=one)/, ""), "one\ntwo\nthree\none\ntwo\nthree\n");
    const task = await handle.get();
    assert.deepEqual([task.progress?.percent, task.usage?.input_tokens], [40, 10]);
  });

  it("runs as many handlers at once as it may", async () => {
    const client = place.server.client();
    let running = 0;
    let most = 0;
    const full = signalled();
    const worker = new Worker(client, { concurrency: 4 }).handle("parallel", async () => {
      running += 1;
      most = Math.max(most, running);
      if (running === 4) full.resolve();
      await full.promise;
      running -= 1;
    });
    await client.enqueueMany(Array.from({ length: 20 }, () => ({ type: "parallel" })));
    const report = await worker.run({ signals: false, untilEmpty: true });
    assert.deepEqual([most, report.completed], [4, 20]);
  });

  it("serves the queue of the policy, of the type, or of the handler", async () => {
    const client = place.server.client();
    const { version, document } = await client.call<{ version: number; document: object }>("GET", "/v1/config");
    await client.call("PUT", "/v1/config", { version, document: { ...document, types: { placed: { queue: "by-policy" } } } });
    const typed = taskType<void, string>("typed", { queue: "by-type" });
    const worker = new Worker(client)
      .handle("placed", (_payload, { task }) => task.queue)
      .handle(typed, (_payload, { task }) => task.queue)
      .handle("told", (_payload, { task }) => task.queue, { queue: "by-handler" });
    const handles = [await client.enqueue("placed", {}), await client.enqueue(typed), await client.enqueue("told", 1, { queue: "by-handler" })];
    await worker.run({ signals: false, untilEmpty: true });
    assert.deepEqual(await Promise.all(handles.map((handle) => handle.result())), ["by-policy", "by-type", "by-handler"]);
  });

  it("aborts a handler whose task is cancelled", async () => {
    const client = place.server.client();
    const started = signalled();
    let reason: unknown;
    const worker = new Worker(client, { heartbeatMs: 50 }).handle("cancelled", async (_payload, { signal }) => {
      started.resolve();
      reason = await aborted(signal);
      return "too late";
    });
    const working = worker.run({ signals: false });
    const handle = await client.enqueue("cancelled");
    await started.promise;
    await handle.cancel("stop it");
    assert.equal((await handle.ended({ timeoutMs: 10_000 })).state, "cancelled");
    assert.ok(reason instanceof RunAborted && reason.kind === "cancelled");
    await worker.stop();
    assert.equal((await working).cancelled, 1);
  });

  it("aborts a handler that takes too long, or says nothing for too long", async () => {
    const client = place.server.client();
    const worker = new Worker(client, { concurrency: 2 }).handle("slow", async (payload: string, { signal }) => {
      if (payload === "keeps the result") return aborted(signal).then(() => "reached all the same");
      throw await aborted(signal);
    });
    const working = worker.run({ signals: false });
    const [slow, idle, kept] = await client.enqueueMany([
      { type: "slow", payload: "", timeout_ms: 300, max_attempts: 1 },
      { type: "slow", payload: "", idle_timeout_ms: 300, max_attempts: 1 },
      { type: "slow", payload: "keeps the result", timeout_ms: 300, max_attempts: 1 },
    ]);
    for (const handle of [slow, idle]) {
      await assert.rejects(handle.result({ timeoutMs: 10_000 }), (error) => error instanceof TaskFailed && error.task.error?.class === "timeout");
    }
    assert.equal(await kept.result({ timeoutMs: 10_000 }), "reached all the same");
    await worker.stop();
    await working;
  });

  it("counts what a handler says as activity", async () => {
    const client = place.server.client();
    const worker = new Worker(client).handle("busy", async (_payload, context) => {
      const end = performance.now() + 1_200;
      while (performance.now() < end) await context.log(".");
      return context.signal.aborted;
    });
    const working = worker.run({ signals: false });
    const handle = await client.enqueue("busy", null, { idle_timeout_ms: 500, max_attempts: 1 });
    assert.equal(await handle.result({ timeoutMs: 10_000 }), false);
    await worker.stop();
    await working;
  });

  it("reads the results of parents", async () => {
    const client = place.server.client();
    const worker = new Worker(client)
      .handle("plan", () => ({ pages: 3 }))
      .handle("join", async (_payload, context) => (await context.parents()).map(plain));
    const [, join] = await client.enqueueMany([{ type: "plan", ref: "p" }, { type: "join", depends_on: ["@p"] }]);
    const working = worker.run({ signals: false });
    assert.deepEqual(await join.result({ timeoutMs: 10_000 }), [{ ref: "p", type: "plan", state: "completed", result: { pages: 3 } }]);
    await worker.stop();
    await working;
  });

  it("works with a worker's token, which reads the parents of what it runs", async () => {
    const client = place.server.client();
    const limited = place.server.client({ token: place.server.token("worker") });
    let other: unknown;
    const worker = new Worker(limited).handle("limited", async (_payload, context) => {
      for (const parent of context.task.depends_on) other = await limited.task(parent).get().catch((error: unknown) => error);
      return (await context.parents()).map(({ state, result }) => ({ state, result }));
    });
    const [, child] = await client.enqueueMany([{ type: "limited", ref: "a" }, { type: "limited", depends_on: ["@a"] }]);
    const working = worker.run({ signals: false });
    assert.deepEqual(await child.result({ timeoutMs: 10_000 }), [{ state: "completed", result: [] }]);
    assert.ok(other instanceof NotFound, "only as a parent");
    await worker.stop();
    await working;
  });

  it("spawns the same children in a rerun", async () => {
    const client = place.server.client();
    const worker = new Worker(client).handle("spawner", async (_payload, context) => {
      const children = await context.spawn([{ type: "spawned", payload: 1 }, { type: "spawned", payload: 2 }], "pages");
      if (context.earlierRuns.length === 0) throw new TaskError("overloaded", "again", { retryAfterMs: 1 });
      await assert.rejects(context.spawn([{ type: "spawned" }], "no good key!"), Invalid);
      return children.map(({ id, deduplicated }) => ({ id, deduplicated }));
    });
    const working = worker.run({ signals: false });
    const handle = await client.enqueue("spawner", null, { retry: "fixed:1ms" });
    const children = (await handle.result({ timeoutMs: 10_000 })) as { id: string; deduplicated: boolean }[];
    await worker.stop();
    await working;
    assert.deepEqual(children.map(({ deduplicated }) => deduplicated), [true, true]);
    const spawned: string[] = [];
    for await (const { id } of client.list({ spawner: handle.id })) spawned.push(id);
    assert.deepEqual(spawned.sort(), children.map(({ id }) => id).sort());
  });

  it("drains: handlers finish, nothing new begins", async () => {
    const client = place.server.client();
    const started = signalled();
    const finish = signalled();
    const worker = new Worker(client, { concurrency: 1 }).handle("drained", async (_payload, { draining, signal }) => {
      started.resolve();
      await aborted(draining);
      await finish.promise;
      return signal.aborted;
    });
    const [first, second] = await client.enqueueMany([{ type: "drained" }, { type: "drained" }]);
    const working = worker.run({ signals: false });
    await started.promise;
    const stopping = worker.stop();
    finish.resolve();
    await stopping;
    const report = await working;
    assert.deepEqual([report.completed, report.released], [1, 0]);
    const states = [(await first.get()).state, (await second.get()).state].sort();
    assert.deepEqual(states, ["completed", "pending"]);
    const { workers } = await client.call<{ workers: { id: string }[] }>("GET", "/v1/workers");
    assert.ok(!workers.some(({ id }) => id === worker.id), "it has unregistered");
    for (const handle of [first, second]) await handle.cancel().catch(() => undefined);
  });

  it("gives tasks back, uncounted, that are not finished in time", async () => {
    const client = place.server.client();
    const started = signalled();
    const worker = new Worker(client, { drainMs: 50 }).handle("unfinished", async (_payload, { signal }) => {
      started.resolve();
      throw await aborted(signal);
    });
    const handle = await client.enqueue("unfinished");
    const working = worker.run({ signals: false });
    await started.promise;
    await worker.stop();
    assert.equal((await working).released, 1);
    const task = await handle.get();
    assert.deepEqual([task.state, task.attempts, task.stalls], ["pending", 0, 0]);
    await handle.cancel();
  });

  it("stops at once when it is told twice", async () => {
    const client = place.server.client();
    const started = signalled();
    const worker = new Worker(client, { drainMs: 60_000 }).handle("twice", async (_payload, { signal }) => {
      started.resolve();
      throw await aborted(signal);
    });
    const handle = await client.enqueue("twice");
    const working = worker.run({ signals: false });
    await started.promise;
    void worker.stop();
    await worker.stop();
    assert.equal((await working).released, 1);
    await handle.cancel();
  });

  it("leaves nothing behind when it stops while it waits for work", async () => {
    const client = place.server.client();
    const worker = new Worker(client).handle("waiting", () => 1);
    const working = worker.run({ signals: false });
    await eventually(async () => (await client.call<{ workers: { id: string }[] }>("GET", "/v1/workers")).workers.some(({ id }) => id === worker.id), "registered");
    const started = performance.now();
    await worker.stop();
    await working;
    assert.ok(performance.now() - started < 5_000);
  });

  it("registers again when the server has forgotten it", async () => {
    const client = place.server.client();
    const worker = new Worker(client, { heartbeatMs: 50 }).handle("forgotten", () => "done");
    const working = worker.run({ signals: false });
    assert.equal(await (await client.enqueue("forgotten")).result({ timeoutMs: 10_000 }), "done");
    await client.call("DELETE", `/v1/workers/${worker.id}`);
    assert.equal(await (await client.enqueue("forgotten")).result({ timeoutMs: 10_000 }), "done");
    const workers = async (): Promise<string[]> => (await client.call<{ workers: { id: string }[] }>("GET", "/v1/workers")).workers.map(({ id }) => id);
    await eventually(async () => (await workers()).includes(worker.id), "it is there again");
    await worker.stop();
    assert.equal((await working).completed, 2);
  });

  it("obeys an operator's drain", async () => {
    const client = place.server.client();
    const worker = new Worker(client, { heartbeatMs: 50 }).handle("ordered", () => 1);
    const working = worker.run({ signals: false });
    await eventually(() => client.call("POST", `/v1/workers/${worker.id}/drain`, { why: "deploy" }).then(() => true, () => false), "drained");
    await working;
  });

  it("stops on SIGTERM", async () => {
    const client = place.server.client();
    const token = place.server.token("worker");
    const child = WorkerProcess.start({ url: place.server.url, token, type: "signalled", options: { drainMs: 100 }, handler: "until_aborted" });
    try {
      const handle = await client.enqueue("signalled");
      await child.says("started");
      child.kill("SIGTERM");
      await child.says("draining");
      await child.says("aborted shutdown");
      assert.deepEqual(await child.exited, { code: 0, signal: null });
      assert.match(await child.says("report"), /"released":1/);
      assert.equal((await handle.get()).state, "pending");
      await handle.cancel();
    } finally {
      await child.close();
    }
  });

  it("refuses options that make no sense", () => {
    const client = place.server.client({ token: "x" });
    for (const options of [{ concurrency: 0 }, { concurrency: 1.5 }, { leaseMs: 50 }, { heartbeatMs: 20_000 }, { id: "a b" }]) {
      assert.throws(() => new Worker(client, options), Invalid);
    }
    const worker = new Worker(client).handle("x", () => 1);
    assert.throws(() => worker.handle("x", () => 2), Invalid);
    assert.throws(() => new Worker(client).run(), Invalid);
  });
});

function plain({ ref, type, state, result }: ParentResult): object {
  return { ref, type, state, result };
}

/** What goes wrong in practice. The numbers are those of the list of nasty cases that every client is tested with. */

import assert from "node:assert/strict";
import { copyFileSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Invalid, RunAborted, TaskFailed, Unauthorised, Worker } from "drover-client";
import { WorkerProcess } from "./support/child.js";
import { Proxy } from "./support/proxy.js";
import { stores, TestServer } from "./support/server.js";
import { onEveryStore } from "./support/suite.js";
import { aborted, block, eventually, signalled } from "./support/wait.js";

const silent = { log: () => undefined };

onEveryStore("nasty cases", (place) => {
  it("1: the answer to a claim is lost", async () => {
    const client = place.server.client();
    for (const treatment of ["lose", "gateway"] as const) {
      let lost = 0;
      const proxy = await Proxy.before(place.server.url, ({ path, body }) => {
        const isFirst = path.endsWith("/claim") && !body.includes('"wait_ms":0,') && lost < 3;
        if (isFirst) lost += 1;
        return isFirst ? treatment : "pass";
      });
      try {
        const handles = await client.enqueueMany(Array.from({ length: 5 }, () => ({ type: "claimed", at_most_once: true })));
        const worker = new Worker(place.server.client({ url: proxy.url }), { concurrency: 5, ...silent }).handle("claimed", () => "done");
        const working = worker.run({ signals: false });
        for (const handle of handles) assert.equal(await handle.result({ timeoutMs: 20_000 }), "done");
        await worker.stop();
        const report = await working;
        assert.deepEqual([report.completed, report.failed, report.lost], [5, 0, 0]);
        for (const handle of handles) assert.equal((await handle.get()).run, 1);
        assert.equal(lost, 3);
      } finally {
        proxy.close();
      }
    }
  });

  it("2: the answer to a settlement is lost", async () => {
    const client = place.server.client();
    let lost = 0;
    const proxy = await Proxy.before(place.server.url, ({ path }) => (path === "/v1/settlements" && lost++ < 2 ? "lose" : "pass"));
    try {
      const worker = new Worker(place.server.client({ url: proxy.url }), { concurrency: 3, ...silent })
        .handle("settled", (payload: number) => payload)
        .handle("settled-badly", () => {
          throw new Error("no");
        });
      const handles = await client.enqueueMany([
        { type: "settled", payload: 1 }, { type: "settled", payload: 2 }, { type: "settled-badly", max_attempts: 1 },
      ]);
      const working = worker.run({ signals: false });
      for (const handle of handles) await handle.ended({ timeoutMs: 20_000 });
      await worker.stop();
      const report = await working;
      assert.deepEqual([report.completed, report.failed, report.lost], [2, 1, 0], "a repeat is not taken for a loss");
      assert.ok(lost >= 3);
    } finally {
      proxy.close();
    }
  });

  it("2: settlements get through only after some tries, and the worker goes on", async () => {
    const client = place.server.client();
    const proxy = await Proxy.before(place.server.url, ({ path }) => (path === "/v1/settlements" && proxy.count(/settlements/) < 4 ? "refuse" : "pass"));
    try {
      const worker = new Worker(place.server.client({ url: proxy.url }), { concurrency: 1, ...silent }).handle("late", (payload: number) => payload);
      const handles = await client.enqueueMany(Array.from({ length: 6 }, (_, payload) => ({ type: "late", payload })));
      const working = worker.run({ signals: false });
      for (const [i, handle] of handles.entries()) assert.equal(await handle.result({ timeoutMs: 20_000 }), i);
      await worker.stop();
      assert.equal((await working).completed, 6);
    } finally {
      proxy.close();
    }
  });

  it("3: the event loop is blocked for two leases", async () => {
    const client = place.server.client();
    const worker = new Worker(client, { leaseMs: 2_000, heartbeatMs: 200, ...silent }).handle("blocking", async (_payload, { signal }) => {
      block(4_500);
      return signal.aborted;
    });
    const working = worker.run({ signals: false });
    const handle = await client.enqueue("blocking");
    assert.equal(await handle.result({ timeoutMs: 20_000 }), false);
    assert.deepEqual(((task) => [task.run, task.stalls])(await handle.get()), [1, 0]);
    await worker.stop();
    assert.equal((await working).completed, 1);
  });

  it("4: the process is stopped past its lease, then goes on", async () => {
    const client = place.server.client();
    const orders = { url: place.server.url, token: place.server.token("worker"), type: "frozen", options: { leaseMs: 2_000, heartbeatMs: 300 } };
    const child = WorkerProcess.start({ ...orders, handler: "until_aborted" });
    try {
      const handle = await client.enqueue("frozen");
      await child.says("started");
      child.kill("SIGSTOP");
      const worker = new Worker(client, silent).handle("frozen", () => "by the other");
      const working = worker.run({ signals: false });
      assert.equal(await handle.result({ timeoutMs: 20_000 }), "by the other");
      child.kill("SIGCONT");
      await child.says("aborted lost");
      child.kill("SIGTERM");
      assert.match(await child.says("report"), /"lost":1/);
      await worker.stop();
      await working;
      const runs = await handle.runs();
      assert.deepEqual(runs.map(({ outcome }) => outcome), ["completed", "stalled"]);
    } finally {
      child.kill("SIGCONT");
      await child.close();
    }
  });

  it("4: a claim is answered while the process is stopped", async () => {
    const client = place.server.client();
    const orders = { url: place.server.url, token: place.server.token("worker"), type: "asleep", options: { leaseMs: 2_000, heartbeatMs: 300 } };
    const child = WorkerProcess.start({ ...orders, handler: "at_once" });
    try {
      await child.says("ready");
      await eventually(async () => (await client.call<{ workers: { serves: { type: string }[] }[] }>("GET", "/v1/workers")).workers.some(({ serves }) => serves[0]?.type === "asleep"), "registered");
      child.kill("SIGSTOP");
      const handle = await client.enqueue("asleep");
      const worker = new Worker(client, silent).handle("asleep", () => "by the other");
      const working = worker.run({ signals: false });
      assert.equal(await handle.result({ timeoutMs: 20_000 }), "by the other");
      child.kill("SIGCONT");
      const next = await client.enqueue("asleep");
      await next.result({ timeoutMs: 20_000 });
      child.kill("SIGTERM");
      await child.says("report");
      assert.ok(!child.lines.includes(`started ${handle.id}`), "it never began");
      await worker.stop();
      await working;
    } finally {
      child.kill("SIGCONT");
      await child.close();
    }
  });

  it("5: a handler ignores its abort, and is waited for", async () => {
    const client = place.server.client();
    const told = signalled();
    const go = signalled();
    let runs = 0;
    const worker = new Worker(client, { leaseMs: 2_000, heartbeatMs: 700, graceMs: 100, concurrency: 1, ...silent }).handle("deaf", async (_payload, { signal }) => {
      runs += 1;
      void aborted(signal).then(() => told.resolve());
      await go.promise;
    });
    const other = new Worker(client, { ...silent }).handle("deaf", () => void (runs += 1));
    const working = worker.run({ signals: false });
    const handle = await client.enqueue("deaf");
    await eventually(() => runs === 1, "it runs");
    const otherWorking = other.run({ signals: false });
    await handle.cancel();
    await told.promise;
    const beats = async (): Promise<string> => (await client.call<{ workers: { id: string; last_beat_at: string }[] }>("GET", "/v1/workers")).workers.find(({ id }) => id === worker.id)?.last_beat_at ?? "";
    for (let i = 0; i < 3; i += 1) {
      const last = await beats();
      await eventually(async () => (await beats()) > last, "another beat");
    }
    assert.equal((await handle.get()).state, "running", "its lease is held");
    go.resolve();
    assert.equal((await handle.ended({ timeoutMs: 10_000 })).state, "cancelled");
    assert.equal(runs, 1);
    for (const one of [worker, other]) await one.stop();
    await Promise.all([working, otherWorking]);
  });

  it("5: a handler ignores its abort with a blocked loop, and its process is ended", async () => {
    const client = place.server.client();
    const options = { leaseMs: 3_000, heartbeatMs: 200, graceMs: 300, onIgnoredAbort: "exit" } as const;
    const child = WorkerProcess.start({ url: place.server.url, token: place.server.token("worker"), type: "stuck", options, handler: "block" });
    try {
      const handle = await client.enqueue("stuck");
      await child.says("started");
      await handle.cancel();
      assert.deepEqual(await child.exited, { code: null, signal: "SIGKILL" });
      assert.equal((await handle.ended({ timeoutMs: 20_000 })).state, "cancelled");
    } finally {
      await child.close();
    }
  });

  it("6: a proxy cuts long answers off", async () => {
    const client = place.server.client();
    const proxy = await Proxy.before(place.server.url, () => "pass");
    proxy.cutAfterMs = 2_500;
    try {
      const behind = place.server.client({ url: proxy.url });
      const worker = new Worker(behind, silent).handle("cut", () => "done");
      const handle = await client.enqueue("cut-later");
      const waiting = assert.rejects(behind.task(handle.id).result(), /was cancelled/);
      const working = worker.run({ signals: false });
      await eventually(() => behind.calls.pollMs < 2_500, "it asks for less");
      assert.equal(await (await client.enqueue("cut")).result({ timeoutMs: 20_000 }), "done");
      await handle.cancel();
      await waiting;
      await worker.stop();
      assert.equal((await working).lost, 0);
    } finally {
      proxy.close();
    }
  });

  it("7: the server is replaced between claim and settlement", async () => {
    const client = place.server.client();
    const started = signalled();
    const go = signalled();
    const worker = new Worker(client, silent).handle("replaced", async () => {
      started.resolve();
      await go.promise;
      return "kept";
    });
    const working = worker.run({ signals: false });
    const handle = await client.enqueue("replaced");
    await started.promise;
    await place.server.down("SIGKILL");
    go.resolve();
    await place.server.up();
    assert.equal(await handle.result({ timeoutMs: 30_000 }), "kept");
    assert.equal((await handle.get()).run, 1);
    await worker.stop();
    assert.equal((await working).completed, 1);
  });

  it("7: one of two servers goes away for good", async () => {
    const other = await TestServer.beside(place.server);
    try {
      const client = place.server.client({ url: `${other.url},${place.server.url}` });
      const started = signalled();
      const go = signalled();
      const worker = new Worker(client, { heartbeatMs: 200, ...silent }).handle("moved", async () => {
        started.resolve();
        await go.promise;
        return "kept";
      });
      const working = worker.run({ signals: false });
      const handle = await client.enqueue("moved");
      const waiting = handle.result({ timeoutMs: 30_000 });
      await started.promise;
      await other.down("SIGKILL");
      go.resolve();
      assert.equal(await waiting, "kept");
      assert.equal(await (await client.enqueue("moved")).result({ timeoutMs: 30_000 }), "kept");
      await worker.stop();
      assert.deepEqual(((report) => [report.completed, report.lost])(await working), [2, 0]);
    } finally {
      await other.close();
    }
  });

  it("9: the token is revoked", async () => {
    const client = place.server.client();
    const token = place.server.token("worker");
    const started = signalled();
    let reason: unknown;
    const worker = new Worker(place.server.client({ token }), { heartbeatMs: 100, ...silent }).handle("revoked", async (_payload, { signal }) => {
      started.resolve();
      reason = await aborted(signal);
      throw reason;
    });
    const working = worker.run({ signals: false });
    const handle = await client.enqueue("revoked");
    await started.promise;
    await client.call("DELETE", `/v1/tokens/${token.split("_")[1] as string}`);
    await assert.rejects(working, (error) => error instanceof Unauthorised && error.status === 401);
    assert.ok(reason instanceof RunAborted && reason.kind === "lost");
    await handle.cancel();
  });

  it("10: payloads that JavaScript would change", async () => {
    const exact = place.server.client({ bigints: "bigint" });
    const texts = ["12345678901234567890", "1.10", "null", '{"a":[1e2,-0,"\\u00e9"]}'];
    const handles = [];
    for (const text of texts) {
      const body = text === "null" ? '{"type":"odd","null_values":["payload"]}' : `{"type":"odd","payload":${text}}`;
      const answer = await exact.calls.call("POST", "/v1/tasks", { repeat: "once", body });
      handles.push(exact.task((JSON.parse(answer.text) as { id: string }).id));
    }
    const seen = new Map<string, [unknown, string | undefined]>();
    const worker = new Worker(exact, silent).handle("odd", (payload, { task, payloadText }) => void seen.set(task.id, [payload, payloadText]));
    await worker.run({ signals: false, untilEmpty: true });
    const values = handles.map(({ id }) => seen.get(id));
    assert.deepEqual(values.map((value) => value?.[1]), ["12345678901234567890", "1.10", "null", '{"a":[1e2,-0,"é"]}'].map((text, i) => (i === 3 ? values[3]?.[1] : text)));
    assert.deepEqual(values.map((value) => value?.[0]), [12345678901234567890n, 1.1, null, { a: [100, -0, "é"] }]);
    assert.deepEqual(await Promise.all(handles.map((handle) => handle.text("payload"))), values.map((value) => value?.[1]));
    await assert.rejects(exact.enqueue("odd", "\ud800"), Invalid);
    await assert.rejects(exact.enqueue("odd", { deep: ["\udfff"] }), Invalid);
  });

  it("10: a payload that cannot be read fails alone", async () => {
    const client = place.server.client();
    const exact = place.server.client({ bigints: "bigint" });
    const large = await exact.enqueue("mixed", 12345678901234567890n, { max_attempts: 1 });
    const small = await client.enqueue("mixed", 1);
    const worker = new Worker(client, { concurrency: 2, ...silent }).handle("mixed", (payload: number) => payload + 1);
    await worker.run({ signals: false, untilEmpty: true });
    assert.equal(await small.result(), 2);
    await assert.rejects(large.result(), (error) => error instanceof TaskFailed && error.task.error?.class === "invalid_payload" && /bigints/.test(error.message));
  });

  it("11: results that cannot be kept fail alone, and say why", async () => {
    const client = place.server.client();
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    let deep: unknown = 1;
    for (let i = 0; i < 100; i += 1) deep = [deep];
    const results: Record<string, unknown> = { large: "x".repeat(2_000_000), huge: "x".repeat(17_000_000), cycle, bigint: 1n, half: "\ud800", deep, nothing: undefined, fine: { a: 1 } };
    const worker = new Worker(client, { concurrency: 20, ...silent }).handle("result", (name: string) => results[name]);
    const handles = await client.enqueueMany(Object.keys(results).map((name) => ({ type: "result", payload: name, max_attempts: 1 })));
    const report = await worker.run({ signals: false, untilEmpty: true });
    const ends: Record<string, unknown> = {};
    for (const [i, name] of Object.keys(results).entries()) {
      const task = await (handles[i] as (typeof handles)[number]).get();
      ends[name] = task.state === "completed" ? task.result : task.error?.class;
    }
    assert.deepEqual(ends, {
      large: "result_too_large", huge: "result_too_large", cycle: "agent_error", bigint: "agent_error", half: "agent_error", deep: "agent_error", nothing: null, fine: { a: 1 },
    });
    assert.deepEqual([report.completed, report.failed, report.lost], [2, 6, 0]);
  });

  it("12: a batch of 10,000 is sent again after its answer was lost", async () => {
    let lost = 0;
    const proxy = await Proxy.before(place.server.url, ({ method, path }) => (method === "POST" && path === "/v1/tasks" && lost++ === 0 ? "lose" : "pass"));
    try {
      const client = place.server.client({ url: proxy.url });
      const handles = await client.enqueueMany(Array.from({ length: 10_000 }, (_, i) => ({ type: "bulk", payload: i })));
      assert.equal(new Set(handles.map(({ id }) => id)).size, 10_000);
      assert.ok(handles.every(({ deduplicated }) => !deduplicated));
      const { queues } = await client.call<{ queues: { name: string; waiting: number }[] }>("GET", "/v1/queues");
      assert.equal(queues.find(({ name }) => name === "bulk")?.waiting, 10_000);
      assert.ok(lost >= 2, "a slow store may take more tries");
    } finally {
      proxy.close();
    }
  });

  it("25: all slots wait for their children", async () => {
    const client = place.server.client();
    const worker = new Worker(client, { concurrency: 2, ...silent })
      .handle("family", async (depth: number, context) => {
        const done = await context.parents();
        if (done.length > 0) return done.reduce((sum, { result }) => sum + (result as number), 1);
        if (depth === 0) return 1;
        await context.spawn([{ type: "family", payload: depth - 1 }, { type: "family", payload: depth - 1 }], "both");
        context.waitChildren();
        return undefined;
      });
    const handles = await client.enqueueMany([{ type: "family", payload: 3 }, { type: "family", payload: 3 }, { type: "family", payload: 3 }]);
    const working = worker.run({ signals: false });
    for (const handle of handles) assert.equal(await handle.result({ timeoutMs: 30_000 }), 15);
    await worker.stop();
    assert.deepEqual(((report) => [report.completed, report.suspended, report.failed])(await working), [45, 21, 0]);
  });
});

describe("nasty cases of one store", () => {
  it("8: the store went backwards", { skip: !stores.includes("sqlite") }, async () => {
    const server = await TestServer.start("sqlite");
    try {
      const client = server.client();
      await client.enqueue("before");
      await server.down();
      const files = readdirSync(server.folder).filter((name) => name.startsWith("drover.db"));
      for (const name of files) copyFileSync(join(server.folder, name), join(server.folder, `old-${name}`));
      await server.up();
      const warnings: string[] = [];
      const worker = new Worker(client, { log: (text) => warnings.push(text) }).handle("after", () => "done");
      await client.enqueueMany(Array.from({ length: 20 }, () => ({ type: "lost" })));
      await server.down();
      for (const name of ["drover.db", "drover.db-wal", "drover.db-shm"]) rmSync(join(server.folder, name), { force: true });
      for (const name of files) copyFileSync(join(server.folder, `old-${name}`), join(server.folder, name));
      assert.ok(existsSync(join(server.folder, "drover.db")));
      await server.up();
      const handle = await client.enqueue("after");
      const working = worker.run({ signals: false });
      await eventually(() => warnings.some((text) => /store_regressed/.test(text)), `the worker says that it gets no work: ${warnings.join("; ")}`);
      assert.equal((await handle.get()).state, "pending");
      await client.call("POST", "/v1/store/accept-regression");
      assert.equal(await handle.result({ timeoutMs: 30_000 }), "done");
      await worker.stop();
      assert.equal((await working).completed, 1);
    } finally {
      await server.close();
    }
  });
});

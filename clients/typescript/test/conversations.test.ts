/** Conversation queues on real servers: shared ones, mirrored ones, and what is lost when. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { AsyncQueueRuntime, type Client, NotFound, WrongState } from "drover-client";
import { type MirrorState, type NewItem, type OpenOptions, type QueueItem, QueueRuntime } from "drover-client/queue-runtime";
import { Proxy } from "./support/proxy.js";
import { onEveryStore } from "./support/suite.js";
import { eventually } from "./support/wait.js";

const message = (content: unknown, scope: object = {}): NewItem => ({ kind: "message", source: "user", content, ...scope });
const barrier = (text: string): NewItem => ({ kind: "approval_result", source: "user", text });
const contents = (items: readonly QueueItem[] | undefined): unknown[] =>
  (items ?? []).map((item) => (item.kind === "message" ? (item.content as unknown) : item.text));

let n = 0;
const fresh = (): string => `chat-${++n}`;

/** A runtime in a process of its own, which is killed. */
async function hostProcess(orders: object): Promise<{ says: (what: string) => Promise<string>; kill: () => Promise<void> }> {
  const program = fileURLToPath(new URL("./support/queue_process.js", import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  return {
    says: (what) => eventually(() => lines.find((line) => line.startsWith(what)), `the host says "${what}"; it said ${JSON.stringify(lines)}`),
    kill: async () => {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

/** As if the lease of a process that died had run out: nobody waits for half a minute in a test. */
async function endLease(client: Client, conversation: string, lease: string): Promise<void> {
  await client.conversation(conversation).releaseConsumer(lease);
}

onEveryStore("conversations", (place) => {
  const open = (options: Partial<OpenOptions> & { conversation: string }, client = place.server.client()): Promise<QueueRuntime> =>
    QueueRuntime.open({ client, ...options });

  it("are shared by any number of runtimes, and no item goes to two", async () => {
    const client = place.server.client();
    const conversation = fresh();
    const runtimes = [1, 2, 3].map(() => new AsyncQueueRuntime({ client, conversation }));
    for (let i = 0; i < 30; i += 1) await runtimes[i % 3]?.enqueue(barrier(`b${i}`));
    const taken: unknown[] = [];
    await Promise.all(
      runtimes.map(async (runtime) => {
        for (let batch = await runtime.tryDequeue(null); batch; batch = await runtime.tryDequeue(null)) taken.push(...contents(batch.items));
      }),
    );
    assert.equal(taken.length, 30);
    assert.equal(new Set(taken).size, 30);
    for (const runtime of runtimes) await runtime.close();
  });

  it("have the rules of the queue in memory", async () => {
    const told: string[] = [];
    const runtime = new AsyncQueueRuntime({
      client: place.server.client(),
      conversation: fresh(),
      maxItems: 2,
      hardMaxItems: 3,
      callbacks: {
        onEnqueued: (item, length) => void told.push(`+${item.id}:${length}`),
        onDropped: (item, reason, length) => void told.push(`-${item.id}:${reason}:${length}`),
        onBlocked: (reason, length) => void told.push(`${reason}:${length}`),
        onDequeued: (batch) => void told.push(`${batch.batchId}:${batch.queueLenAfter}`),
        onRemoved: (item, length) => void told.push(`x${item.id}:${length}`),
        onCleared: (reason, count) => void told.push(`${reason}:${count}`),
      },
    });
    assert.equal(await runtime.isEmpty(), true);
    assert.equal(await runtime.tryDequeue("streaming"), null);
    const content = [{ type: "text", text: "é" }, { n: 1.5 }];
    await runtime.enqueue(message("gone"));
    await runtime.enqueue(message(content, { agentId: "a", clientMessageId: "m" }));
    await runtime.enqueue(message("x"));
    await runtime.enqueue(barrier("b"));
    assert.equal(await runtime.enqueue(message("y")), null);
    await runtime.tryDequeue("streaming");
    await runtime.tryDequeue("streaming");
    const batch = await runtime.tryDequeue(null);
    assert.deepEqual(contents(batch?.items), [content]);
    assert.equal(batch?.items[0]?.agentId, "a");
    assert.equal(batch?.items[0]?.clientMessageId, "m");
    assert.equal((await runtime.removeItem("q-3"))?.kind, "message");
    assert.deepEqual(contents(await runtime.items()), ["b"]);
    await runtime.clear("shutdown");
    const limits = ["-q-1:buffer_limit:2", "+q-3:2", "+q-4:3", "-q-5:buffer_limit:3"];
    assert.deepEqual(told, ["+q-1:1", "+q-2:2", ...limits, "streaming:3", "batch-1:2", "xq-3:1", "shutdown:1"]);
    await runtime.close();
  });

  it("hand a batch out again whose runtime never acknowledged it", async () => {
    const client = place.server.client();
    const conversation = fresh();
    const first = new AsyncQueueRuntime({ client, conversation, redeliver: true });
    await first.enqueue(message("a"));
    const batch = await first.tryDequeue(null);
    await first.enqueue(message("b"));
    const again = await first.tryDequeue(null);
    assert.equal(again?.batchId, batch?.batchId, "without an ack the next dequeue gets it again");
    await first.ack(batch?.batchId as string);
    assert.deepEqual(contents((await first.tryDequeue(null))?.items), ["b"]);
    await first.ack("batch-2");
    assert.equal(await first.tryDequeue(null), null);
    await first.close();
  });

  it("hold nothing back for a host that slept until somebody else had its batch", async (context) => {
    const proxy = await Proxy.before(place.server.url, () => "pass");
    context.mock.timers.enable({ apis: ["setInterval"] });
    const conversation = fresh();
    const client = place.server.client();
    const slept = new AsyncQueueRuntime({ client: place.server.client({ url: proxy.url }), conversation, redeliver: true });
    await slept.enqueue(message("a"));
    const batch = await slept.tryDequeue(null);
    // As if the minute were over: another host got the batch, and did it.
    await client.conversation(conversation).ack(batch?.batchId as string);
    await slept.enqueue(message("b"));
    context.mock.timers.tick(20_000);
    await eventually(() => proxy.answered === 4, "it has asked to keep its batch");
    const other = new AsyncQueueRuntime({ client, conversation });
    assert.deepEqual(contents((await other.tryDequeue(null))?.items), ["b"]);
    context.mock.timers.tick(20_000);
    assert.equal(proxy.count(/dequeue/), 2, "once it knows that the batch is gone it asks no more");
    await slept.close();
    await other.close();
    proxy.close();
  });

  it("are mirrored, and restored in another process's queue", async () => {
    const conversation = fresh();
    const queue = await open({ conversation });
    queue.enqueue(message("a"));
    queue.enqueue(message("b", { agentId: "x" }));
    queue.enqueue(barrier("c"));
    assert.deepEqual(contents(queue.tryDequeue(null)?.items), ["a"]);
    queue.removeItem("q-3");
    await queue.close();
    const restored: unknown[] = [];
    const next = await open({ conversation, onRestored: (items) => restored.push(...contents(items)) });
    assert.deepEqual(restored, ["b"]);
    const [item] = next.items;
    assert.equal(item?.id, "q-1");
    assert.equal(item?.agentId, "x");
    await next.close();
    const told: unknown[] = [];
    const third = await open({ conversation, callbacks: { onEnqueued: ({ id }) => void told.push(id) } });
    assert.deepEqual(told, ["q-1"], "without onRestored each is told of");
    await third.close();
    const fourth = await open({ conversation, restore: "discard" });
    assert.ok(fourth.isEmpty);
    await fourth.close();
    const fifth = await open({ conversation });
    assert.ok(fifth.isEmpty, "it is gone for good");
    await fifth.close();
  });

  it("have one consumer that does not ask, and others who may append", async () => {
    const client = place.server.client();
    const conversation = fresh();
    const queue = await open({ conversation }, client);
    await assert.rejects(open({ conversation }), WrongState);
    const other = new AsyncQueueRuntime({ client, conversation });
    await assert.rejects(other.tryDequeue(null), WrongState);
    queue.enqueue(message("mine"));
    await other.enqueue(message("theirs"));
    await eventually(() => queue.length === 2, "what others append arrives");
    assert.deepEqual(contents(queue.tryDequeue(null)?.items), ["mine", "theirs"]);
    await queue.close();
    assert.equal(await other.length(), 0, "both have left the store");
    await assert.rejects(client.conversation("no-such").show(), NotFound);
  });

  it("wait for room when others append to a full queue", async () => {
    const client = place.server.client();
    const conversation = fresh();
    const queue = await open({ conversation, maxItems: 1, hardMaxItems: 1 }, client);
    queue.enqueue(barrier("mine"));
    const foreign = client.conversation(conversation);
    // The server has not heard of ours yet, or refuses: either way nothing may be lost that it took.
    const took = !(await foreign.append({ kind: "message", body: { source: "user", content: "theirs" } })).refused;
    queue.tryDequeue(null);
    if (took) await eventually(() => queue.length === 1, "it comes once there is room");
    await queue.close();
  });

  it("lose nothing that was flushed when their process is killed, and give the same turn again", async () => {
    const client = place.server.client();
    const conversation = fresh();
    const orders = { url: place.server.url, token: place.server.token("producer", "--owner", "default"), conversation, redeliver: true };
    const host = await hostProcess({ ...orders, messages: ["a", "b"], dequeue: true });
    const lease = (await host.says("lease ")).slice(6);
    await host.says("flushed");
    await host.kill();
    await assert.rejects(open({ conversation }), WrongState, "its lease lasts for half a minute");
    await endLease(client, conversation, lease);
    const next = await open({ conversation, redeliver: true });
    const again = next.tryDequeue(null);
    assert.deepEqual(contents(again?.items), ["a", "b"]);
    assert.equal(again?.batchId, "batch-1", "under the same id");
    next.ack("batch-1");
    next.enqueue(message("c"));
    assert.equal(next.tryDequeue(null)?.batchId, "batch-2");
    next.ack("batch-2");
    await next.close();
    const last = await open({ conversation });
    assert.ok(last.isEmpty);
    await last.close();
  });

  it("lose what was dequeued when the process dies in the turn, as in memory", async () => {
    const client = place.server.client();
    const conversation = fresh();
    const orders = { url: place.server.url, token: place.server.token("producer", "--owner", "default"), conversation };
    const host = await hostProcess({ ...orders, messages: ["a"], dequeue: true, more: ["b"] });
    const lease = (await host.says("lease ")).slice(6);
    await host.says("flushed");
    await host.kill();
    await endLease(client, conversation, lease);
    const next = await open({ conversation });
    assert.deepEqual(contents(next.items), ["b"]);
    await next.close();
  });

  it("go on in memory while the server is away, and catch up", async () => {
    const conversation = fresh();
    const states: MirrorState[] = [];
    const client = place.server.client({ retries: 0, timeoutMs: 2_000 });
    const queue = await open({ conversation, onMirror: (state) => void states.push(state) }, client);
    queue.enqueue(message("a"));
    await queue.flushed();
    await place.server.down("SIGKILL");
    queue.enqueue(message("b"));
    assert.deepEqual(contents(queue.tryDequeue(null)?.items), ["a", "b"]);
    queue.enqueue(message("c"));
    await place.server.up();
    await queue.flushed();
    const part = await client.conversation(conversation).show();
    assert.deepEqual(part.items.map(({ body }) => (body as { content: unknown }).content), ["c"], "no item twice, whatever was answered");
    assert.deepEqual(states, []);
    await queue.close();
  });

  it("say when too much is untold, and then tell what there is", async () => {
    const conversation = fresh();
    const states: MirrorState[] = [];
    const client = place.server.client({ retries: 0, timeoutMs: 2_000 });
    const queue = await open({ conversation, onMirror: (state) => void states.push(state) }, client);
    queue.enqueue(message("old"));
    await queue.flushed();
    await place.server.down("SIGKILL");
    for (let i = 0; i < 5_100; i += 1) {
      queue.enqueue(message(i));
      queue.consumeItems(1);
    }
    assert.deepEqual(states, ["behind"]);
    queue.enqueue(message("new"));
    await place.server.up();
    await queue.flushed();
    assert.deepEqual(states, ["behind", "live"]);
    const part = await client.conversation(conversation).show();
    const kept = part.items.map(({ body }) => (body as { content: unknown }).content);
    assert.deepEqual(kept, contents(queue.items));
    await queue.close();
  });

  it("stop consuming when somebody else has the lease, and still deliver what is enqueued", async () => {
    const client = place.server.client();
    const conversation = fresh();
    const states: MirrorState[] = [];
    let lease = "";
    const handle = client.conversation(conversation);
    const take = handle.takeConsumer.bind(handle);
    handle.takeConsumer = async (how) => {
      const reply = await take(how);
      lease = reply.lease_id ?? "";
      return reply;
    };
    const queue = await QueueRuntime.open({ client: { conversation: () => handle }, conversation, onMirror: (state) => void states.push(state) });
    queue.enqueue(message("a"));
    await queue.flushed();
    await endLease(client, conversation, lease);
    const thief = await open({ conversation }, client);
    assert.deepEqual(contents(thief.items), ["a"]);
    queue.enqueue(message("b"));
    await eventually(() => states.includes("detached"), "it finds out");
    assert.equal(queue.tryDequeue(null), null);
    queue.enqueue(message("c"));
    await queue.flushed();
    await eventually(() => thief.length === 3, "what is enqueued reaches the other consumer");
    assert.deepEqual(contents(thief.tryDequeue(null)?.items), ["a", "b", "c"]);
    await queue.close();
    await thief.close();
  });

  it("leave out an item that the server refuses, and tell the rest", async () => {
    const conversation = fresh();
    const states: MirrorState[] = [];
    const client = place.server.client();
    const queue = await open({ conversation, onMirror: (state) => void states.push(state) }, client);
    queue.enqueue(message("a"));
    queue.enqueue(message("x".repeat(2 * 1024 * 1024)));
    queue.enqueue(message("b"));
    await queue.flushed();
    assert.deepEqual(states, ["rejected"]);
    const part = await client.conversation(conversation).show();
    assert.deepEqual(part.items.map(({ body }) => (body as { content: unknown }).content), ["a", "b"]);
    await queue.close();
  });
});

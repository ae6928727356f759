/**
 * What the network, a full queue and hosts do to conversations. The numbers are those of the other nasty cases; 13, 19, 20 and 21 are in
 * conversations.test.ts, notification.test.ts and task_tool.test.ts.
 */

import assert from "node:assert/strict";
import { it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { AsyncQueueRuntime, type Client, Worker, type WorkerOptions } from "drover-client";
import { intoConversation, type Notification, Notifier, notificationWorker, TaskTool } from "drover-client/task-tool";
import { type NewItem, type QueueItem, QueueRuntime } from "drover-client/queue-runtime";
import { Proxy } from "./support/proxy.js";
import { onEveryStore } from "./support/suite.js";
import { eventually } from "./support/wait.js";

const children = Number(process.env["DROVER_TEST_CHILDREN"] ?? 200);
const message = (content: unknown): NewItem => ({ kind: "message", source: "user", content });
const contents = (items: readonly QueueItem[] | undefined): unknown[] => (items ?? []).map((item) => (item.kind === "message" ? (item.content as unknown) : item.text));
const notification = (conversation: string, n: number): Notification => ({
  key: `notify.${conversation}.${n}`,
  conversation,
  task_id: `${n}`,
  generation: 1,
  item: { kind: "task_notification", source: "task_notification", text: `end ${n}` },
});

async function stored(client: Client, conversation: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const part: { items: { body?: object }[]; next: number | null } = (await client.conversation(conversation).show({ after })) as never;
    found.push(...part.items.map(({ body }) => (body as { content?: unknown }).content ?? (body as { text?: unknown }).text));
    after = part.next;
  }
  return found;
}

onEveryStore("nasty cases of conversations", (place) => {
  const quiet: WorkerOptions = { log: () => undefined };

  it("14: answers to a mirror are lost, and nothing is there twice", async () => {
    let lost = 0;
    const proxy = await Proxy.before(place.server.url, ({ path }) => (/\/mirror$/.test(path.split("?")[0] as string) && ++lost % 2 === 1 ? "lose" : "pass"));
    const client = place.server.client({ url: proxy.url, retries: 0 });
    const queue = await QueueRuntime.open({ client, conversation: "unsure", redeliver: true });
    for (let i = 0; i < 20; i += 1) {
      queue.enqueue(message(i));
      if (i % 5 === 4) queue.ack(queue.consumeItems(2)?.batchId as string);
      await queue.flushed();
    }
    assert.ok(lost > 10, `${lost} calls`);
    assert.deepEqual(await stored(client, "unsure"), contents(queue.items));
    assert.equal(queue.length, 12);
    await queue.close();
    proxy.close();
  });

  it("15: callbacks throw, or enqueue", async () => {
    const client = place.server.client();
    let again = 3;
    const callbacks = {
      onEnqueued: (): void => {
        throw new Error("the host's own affair");
      },
      onDequeued: (): void => {
        if (again-- > 0) void mirrored.enqueue(message(`again ${again}`));
      },
    };
    const mirrored: QueueRuntime = await QueueRuntime.open({ client, conversation: "callbacks", callbacks });
    mirrored.enqueue(message("first"));
    assert.deepEqual(contents(mirrored.tryDequeue(null)?.items), ["first"]);
    assert.deepEqual(contents(mirrored.tryDequeue(null)?.items), ["again 2"]);
    await mirrored.flushed();
    assert.deepEqual(await stored(client, "callbacks"), ["again 1"], "the store heard all of it, in order");
    await mirrored.close();
    const shared = new AsyncQueueRuntime({ client, conversation: "callbacks", callbacks: { onEnqueued: callbacks.onEnqueued } });
    assert.equal((await shared.enqueue(message("second")))?.kind, "message");
    assert.deepEqual(contents((await shared.tryDequeue(null))?.items), ["again 1", "second"]);
    await shared.close();
  });

  it("16: a notification at the soft limit takes the place of the oldest; at the hard one it waits", async () => {
    const client = place.server.client();
    const shared = new AsyncQueueRuntime({ client, conversation: "full", maxItems: 2, hardMaxItems: 3 });
    const tell = intoConversation(client);
    const { signal } = new AbortController();
    await shared.enqueue(message("old"));
    await shared.enqueue(message("new"));
    await tell(notification("full", 1), signal);
    assert.deepEqual(contents(await shared.items()), ["new", "end 1"]);
    await shared.enqueue({ kind: "approval_result", source: "user", text: "a" });
    let isTold = false;
    const telling = tell(notification("full", 2), signal).then(() => (isTold = true));
    await eventually(async () => (await shared.length()) === 3, "it is full");
    assert.equal(isTold, false);
    const gaveUp = new AbortController();
    const other = tell(notification("full", 3), gaveUp.signal);
    gaveUp.abort(new Error("the worker stops"));
    await assert.rejects(other, /the worker stops/);
    await shared.clear("processed");
    await telling;
    assert.deepEqual(contents(await shared.items()), ["end 2"]);
    await tell(notification("full", 2), signal);
    assert.deepEqual(contents(await shared.items()), ["end 2"], "a repeat adds nothing");
    await shared.close();
  });

  it(`17: ${children} children end into one conversation at once`, { timeout: 60_000 + children * 100 }, async () => {
    const client = place.server.client();
    const stopping = new AbortController();
    const tool = new TaskTool({ client, conversation: "many", scratchDir: `${place.server.folder}/scratch`, runNow: async () => undefined });
    const spec = { type: "ends", tags: ["task-tool"], payload: { description: "d", notify: { conversation: "many" } } };
    const made = await client.enqueueMany(Array.from({ length: children }, () => spec));
    const queue = await QueueRuntime.open({ client, conversation: "many", maxItems: 5_000 });
    const workers = [
      new Worker(client, { ...quiet, concurrency: 100 }).handle("ends", () => "done"),
      notificationWorker(client, { conversation: "many", owner: "default" }, intoConversation(client), quiet),
    ];
    const running = [...workers.map((worker) => worker.run({ signals: false })), new Notifier(client).run({ signal: stopping.signal })];
    const seen: string[] = [];
    const look = (): boolean => {
      for (let batch = queue.tryDequeue(null); batch; batch = queue.tryDequeue(null)) seen.push(...batch.items.map((item) => String(contents([item])[0])));
      return seen.length >= children;
    };
    await eventually(look, "all are told", 60_000 + children * 50);
    const told = seen.map((text) => /<task-id>(.*)<\/task-id>/.exec(text)?.[1]);
    assert.deepEqual([...told].sort(), made.map(({ id }) => id).sort(), "each once");
    stopping.abort();
    await Promise.all([...workers.map((worker) => worker.stop()), ...running]);
    await queue.close();
    await tool.close();
  });

  it("18: a queue that nobody has any more lets go of its conversation", { timeout: 60_000 }, async () => {
    const client = place.server.client();
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const forget = async (): Promise<void> => {
      const queue = await QueueRuntime.open({ client, conversation: "forgotten" });
      queue.enqueue(message("kept"));
      await queue.flushed();
    };
    await forget();
    const next = await eventually(
      async () => {
        collect();
        return QueueRuntime.open({ client, conversation: "forgotten" }).catch(() => undefined);
      },
      "somebody else may consume before the lease of half a minute would have ended",
      25_000,
    );
    assert.deepEqual(contents(next.items), ["kept"]);
    await next.close();
  });
});

/**
 * Random operations on every kind of queue beside a model: in memory, mirrored, shared, and over REST. DROVER_TEST_OPERATIONS says how
 * many, DROVER_TEST_SEED which.
 */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AsyncQueueRuntime, type Client, type Conversation } from "drover-client";
import { type NewItem, type QueueBlockedReason, type QueueCallbacks, type QueueItem, QueueRuntime } from "drover-client/queue-runtime";
import { onEveryStore } from "./support/suite.js";

const operations = Number(process.env["DROVER_TEST_OPERATIONS"] ?? 300);
const seed = Number(process.env["DROVER_TEST_SEED"] ?? 21);
const LIMITS = { maxItems: 5, hardMaxItems: 9 };
/** How often the store is compared with what is in memory. */
const LOOK_EVERY = 50;

type Step =
  | { does: "append"; item: NewItem }
  | { does: "dequeue" }
  | { does: "block"; reason: QueueBlockedReason }
  | { does: "consume"; n: number }
  | { does: "remove"; id: string }
  | { does: "clear" };

/** mulberry32: the same seed gives the same numbers everywhere. */
function randomFrom(start: number): (bound: number) => number {
  let state = start;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
}

const isMerged = (item: NewItem): boolean => !["approval_result", "overlay_action"].includes(item.kind);
const scopeOf = (item: NewItem): string => JSON.stringify([item.agentId ?? null, item.conversationId ?? null]);

/** What a queue is to do, as simply as it can be said. A trace is what the callbacks tell. */
class Model {
  readonly waiting: { id: string; item: NewItem }[] = [];
  private ids = 0;
  private batches = 0;
  private told: QueueBlockedReason | undefined;

  /** In memory a reason is told again once the queue was empty; of a queue that is shared an instance cannot know. */
  constructor(private readonly forgetsReasons: boolean) {}

  anyStep(random: (bound: number) => number, serial: number): Step {
    const dice = random(100);
    if (dice < 55) return { does: "append", item: anyItem(random, serial) };
    if (dice < 74) return { does: "dequeue" };
    if (dice < 80) return { does: "consume", n: random(6) };
    if (dice < 88) {
      const some = this.waiting[random(this.waiting.length + 1)];
      return { does: "remove", id: some?.id ?? `q-${this.ids + 1 + random(3)}` };
    }
    if (dice < 98) return { does: "block", reason: random(2) === 0 ? "streaming" : "pending_approvals" };
    return { does: "clear" };
  }

  apply(step: Step): string {
    switch (step.does) {
      case "append":
        return this.append(step.item);
      case "dequeue":
        this.told = undefined;
        return this.take(this.turn());
      case "consume":
        return this.take(Math.min(step.n, this.waiting.length));
      case "remove": {
        const at = this.waiting.findIndex(({ id }) => id === step.id);
        if (at === -1) return "";
        this.waiting.splice(at, 1);
        this.emptied();
        return `x ${step.id}:${this.waiting.length}`;
      }
      case "clear": {
        this.told = undefined;
        return `cleared ${this.waiting.splice(0).length}`;
      }
      case "block":
        if (this.waiting.length === 0 || this.told === step.reason) return "";
        this.told = step.reason;
        return `${step.reason}:${this.waiting.length}`;
    }
  }

  private append(item: NewItem): string {
    const id = `q-${++this.ids}`;
    if (this.waiting.length >= LIMITS.hardMaxItems) return `-${id}:${this.waiting.length}`;
    let trace = "";
    if (this.waiting.length >= LIMITS.maxItems && isMerged(item)) {
      const oldest = this.waiting.findIndex((one) => isMerged(one.item));
      if (oldest !== -1) trace = `-${this.waiting.splice(oldest, 1)[0]?.id}:${this.waiting.length + 1} `;
    }
    this.waiting.push({ id, item });
    return `${trace}+${id}:${this.waiting.length}`;
  }

  private turn(): number {
    const head = this.waiting[0]?.item;
    if (!head) return 0;
    if (!isMerged(head)) return 1;
    const ends = this.waiting.findIndex(({ item }) => !isMerged(item) || scopeOf(item) !== scopeOf(head));
    return ends === -1 ? this.waiting.length : ends;
  }

  private take(n: number): string {
    if (n === 0) return "";
    const ids = this.waiting.splice(0, n).map(({ id }) => id);
    this.emptied();
    return `batch-${++this.batches}[${ids.join(" ")}]:${this.waiting.length}`;
  }

  private emptied(): void {
    if (this.waiting.length === 0 && this.forgetsReasons) this.told = undefined;
  }
}

function anyItem(random: (bound: number) => number, serial: number): NewItem {
  const scope = { ...(random(4) === 0 ? { agentId: "agent" } : {}), ...(random(8) === 0 ? { conversationId: "talk" } : {}) };
  const text = { source: "user" as const, text: `item ${serial}`, ...scope };
  if (random(3) !== 0) return { kind: "message", source: "user", content: serial, ...scope };
  const kinds = ["task_notification", "mod_continue", "approval_result", "overlay_action"] as const;
  return { kind: kinds[random(4)] as (typeof kinds)[number], ...text };
}

const labelOf = (item: NewItem | QueueItem): unknown => (item.kind === "message" ? item.content : item.text);

/** Callbacks that write a trace, and the trace since it was last asked for. */
function listening(): { callbacks: QueueCallbacks; trace: () => string } {
  let told: string[] = [];
  return {
    callbacks: {
      onEnqueued: ({ id }, length) => told.push(`+${id}:${length}`),
      onDropped: ({ id }, _reason, length) => told.push(`-${id}:${length}`),
      onDequeued: (batch) => told.push(`${batch.batchId}[${batch.items.map(({ id }) => id).join(" ")}]:${batch.queueLenAfter}`),
      onRemoved: ({ id }, length) => told.push(`x ${id}:${length}`),
      onCleared: (_reason, n) => told.push(`cleared ${n}`),
      onBlocked: (reason, length) => told.push(`${reason}:${length}`),
    },
    trace: () => {
      const text = told.join(" ");
      told = [];
      return text;
    },
  };
}

type Runtime = Pick<QueueRuntime | AsyncQueueRuntime, "enqueue" | "tryDequeue" | "consumeItems" | "removeItem" | "clear">;

function perform(queue: Runtime, step: Step): unknown {
  switch (step.does) {
    case "append":
      return queue.enqueue(step.item);
    case "dequeue":
      return queue.tryDequeue(null);
    case "consume":
      return queue.consumeItems(step.n);
    case "remove":
      return queue.removeItem(step.id);
    case "clear":
      return queue.clear("error");
    case "block":
      return queue.tryDequeue(step.reason);
  }
}

/** Any number of steps; `look` compares what is kept now and then. */
async function play(model: Model, act: (step: Step) => unknown, trace: () => string, look: () => Promise<unknown[]>): Promise<void> {
  const random = randomFrom(seed);
  for (let i = 1; i <= operations; i += 1) {
    const step = model.anyStep(random, i);
    await act(step);
    assert.equal(trace(), model.apply(step), `operation ${i} of seed ${seed}: ${JSON.stringify(step)}`);
    if (i % LOOK_EVERY === 0 || i === operations) {
      assert.deepEqual(await look(), model.waiting.map(({ item }) => labelOf(item)), `after operation ${i} of seed ${seed}`);
    }
  }
}

async function itemsOf(client: Client, conversation: string): Promise<unknown[]> {
  const { items } = await client.conversation(conversation).show();
  return items.filter(({ batch_id: batch }) => batch === null).map(({ body }) => (body as { content?: unknown; text?: unknown }).content ?? (body as { text: unknown }).text);
}

describe("a queue in memory", () => {
  it(`does what a model does for ${operations} operations`, async () => {
    const { callbacks, trace } = listening();
    const queue = new QueueRuntime({ ...LIMITS, callbacks });
    await play(new Model(true), (step) => perform(queue, step), trace, async () => queue.items.map(labelOf));
  });
});

onEveryStore("a queue on a server", (place) => {
  const size = { timeout: 60_000 + operations * 100 };

  it(`mirrored: does what a model does for ${operations} operations`, size, async () => {
    const client = place.server.client();
    const { callbacks, trace } = listening();
    const queue = await QueueRuntime.open({ client, conversation: "mirrored", ...LIMITS, callbacks });
    const act = (step: Step): unknown => perform(queue, step);
    await play(new Model(true), act, trace, async () => {
      await queue.flushed();
      assert.deepEqual(await itemsOf(client, "mirrored"), queue.items.map(labelOf), "the server keeps the same");
      return queue.items.map(labelOf);
    });
    await queue.close();
  });

  it(`shared: does what a model does for ${operations} operations`, size, async () => {
    const client = place.server.client();
    const { callbacks, trace } = listening();
    const queue = new AsyncQueueRuntime({ client, conversation: "shared", ...LIMITS, callbacks });
    await play(new Model(false), (step) => perform(queue, step), trace, async () => (await queue.items()).map(labelOf));
    await queue.close();
  });

  it(`over REST: does what a model does for ${operations} operations`, size, async () => {
    const client = place.server.client();
    const conversation = client.conversation("rest");
    let told = "";
    const act = async (step: Step): Promise<void> => void (told = await overRest(conversation, step));
    const model = new Model(false);
    lastReason = undefined;
    const look = (): Promise<unknown[]> => itemsOf(client, "rest").catch(() => []);
    await play(model, act, () => told, look);
  });
});

let lastReason: string | undefined; // only runtimes know which one they told last

async function overRest(conversation: Conversation, step: Step): Promise<string> {
  switch (step.does) {
    case "append": {
      const { kind, agentId, conversationId, ...body } = step.item as NewItem & { agentId?: string; conversationId?: string };
      const limits = { max_items: LIMITS.maxItems, hard_max_items: LIMITS.hardMaxItems };
      const reply = await conversation.append({ kind, agent_id: agentId ?? null, conversation_id: conversationId ?? null, body: { ...body }, ...limits });
      if (reply.refused) return `-${reply.id}:${reply.length}`;
      return `${reply.dropped ? `-${reply.dropped.id}:${reply.length} ` : ""}+${reply.id}:${reply.length}`;
    }
    case "dequeue":
    case "consume": {
      if (step.does === "dequeue") lastReason = undefined;
      const { batch } = await (step.does === "dequeue" ? conversation.dequeue() : conversation.consume({ n: step.n }));
      if (batch) await conversation.ack(batch.batch_id);
      return batch ? `${batch.batch_id}[${batch.items.map(({ id }) => id).join(" ")}]:${batch.queue_len_after}` : "";
    }
    case "remove": {
      const { removed, length } = await conversation.remove(step.id);
      return removed ? `x ${removed.id}:${length}` : "";
    }
    case "clear":
      lastReason = undefined;
      return `cleared ${((await conversation.clear("error")).cleared ?? []).length}`;
    case "block": {
      const { length } = await conversation.dequeue({ blocked_reason: step.reason });
      if (length === 0 || lastReason === step.reason) return "";
      lastReason = step.reason;
      return `${step.reason}:${length}`;
    }
  }
}

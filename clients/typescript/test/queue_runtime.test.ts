/** The queue in memory: the rules of letta-code's class, each as a case. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isCoalescable, type NewItem, QueueRuntime, type QueueRuntimeOptions } from "drover-client/queue-runtime";

const message = (content: unknown, scope: object = {}): NewItem => ({ kind: "message", source: "user", content, ...scope });
const barrier = (text: string): NewItem => ({ kind: "approval_result", source: "user", text });

/** A queue that notes what it tells. */
function noted(options: QueueRuntimeOptions = {}): { queue: QueueRuntime; told: string[] } {
  const told: string[] = [];
  const callbacks = {
    onEnqueued: (item: { id: string }, n: number) => void told.push(`+${item.id}:${n}`),
    onDequeued: (batch: { batchId: string; queueLenAfter: number }) => void told.push(`${batch.batchId}:${batch.queueLenAfter}`),
    onBlocked: (reason: string, n: number) => void told.push(`${reason}:${n}`),
    onCleared: (reason: string, n: number) => void told.push(`${reason}:${n}`),
    onDropped: (item: { id: string }, reason: string, n: number) => void told.push(`-${item.id}:${reason}:${n}`),
    onRemoved: (item: { id: string }, n: number) => void told.push(`x${item.id}:${n}`),
  };
  return { queue: new QueueRuntime({ ...options, callbacks }), told };
}

describe("QueueRuntime in memory", () => {
  it("merges messages of one scope, and hands out barriers alone", () => {
    const { queue, told } = noted();
    for (const item of [message("a"), message("b"), barrier("c"), message("d", { agentId: "x" }), message("e")]) queue.enqueue(item);
    const batches = Array.from({ length: 5 }, () => queue.tryDequeue(null)?.items.length);
    assert.deepEqual(batches, [2, 1, 1, 1, undefined]);
    assert.deepEqual(told.slice(5), ["batch-1:3", "batch-2:2", "batch-3:1", "batch-4:0"]);
  });

  it("treats a scope that is absent, null or undefined alike", () => {
    const queue = new QueueRuntime();
    queue.enqueue(message("a"));
    queue.enqueue(message("b", { agentId: undefined, conversationId: null }));
    assert.equal(queue.tryDequeue(null)?.mergedCount, 2);
  });

  it("drops the oldest at the soft limit, and refuses at the hard one", () => {
    const { queue, told } = noted({ maxItems: 2, hardMaxItems: 3 });
    queue.enqueue(barrier("a"));
    queue.enqueue(message("b"));
    queue.enqueue(message("c"));
    queue.enqueue(barrier("d"));
    assert.equal(queue.enqueue(message("e")), null);
    assert.deepEqual(told, ["+q-1:1", "+q-2:2", "-q-2:buffer_limit:2", "+q-3:2", "+q-4:3", "-q-5:buffer_limit:3"]);
    assert.equal(queue.enqueue(barrier("f")), null, "whatever the kind");
  });

  it("reads limits as the original does", () => {
    const full = new QueueRuntime({ maxItems: Number.NaN, hardMaxItems: 1 });
    for (let i = 0; i < 101; i += 1) full.enqueue(message(i));
    assert.equal(full.length, 100, "0, NaN: 100, and the hard limit is never below it");
    const endless = new QueueRuntime({ maxItems: Number.POSITIVE_INFINITY });
    for (let i = 0; i < 301; i += 1) endless.enqueue(message(i));
    assert.equal(endless.length, 301);
  });

  it("tells of each reason for being blocked once while it is not empty", () => {
    const { queue, told } = noted();
    assert.equal(queue.tryDequeue("streaming"), null);
    queue.enqueue(message("a"));
    for (const reason of ["streaming", "streaming", "overlay_open", "streaming"] as const) queue.tryDequeue(reason);
    queue.removeItem("q-1");
    queue.enqueue(message("b"));
    queue.tryDequeue("streaming");
    queue.resetBlockedState();
    queue.tryDequeue("streaming");
    const blocked = told.filter((line) => /^[so]/.test(line));
    assert.deepEqual(blocked, ["streaming:1", "overlay_open:1", "streaming:1", "streaming:1", "streaming:1"]);
  });

  it("survives callbacks that throw, or that use the queue", () => {
    const queue: QueueRuntime = new QueueRuntime({
      callbacks: {
        onEnqueued: () => {
          throw new Error("no");
        },
        onDequeued: () => void queue.enqueue(message("again")),
      },
    });
    queue.enqueue(message("a"));
    assert.equal(queue.tryDequeue(null)?.queueLenAfter, 0);
    assert.equal(queue.length, 1);
  });

  it("clears and consumes", () => {
    const { queue, told } = noted();
    queue.clear("error");
    for (const item of [message("a"), barrier("b"), message("c")]) queue.enqueue(item);
    assert.equal(queue.consumeItems(0), null);
    assert.equal(queue.consumeItems(2)?.mergedCount, 2);
    queue.clear("shutdown");
    assert.deepEqual(told.filter((line) => !line.startsWith("+")), ["error:0", "batch-1:1", "shutdown:1"]);
    assert.ok(queue.isEmpty && queue.items.length === 0 && queue.peek().length === 0);
  });

  it("knows what may be merged", () => {
    assert.ok(isCoalescable("cron_prompt") && isCoalescable("mod_continue") && !isCoalescable("overlay_action"));
  });

  it("flushes and closes without a server", async () => {
    const queue = new QueueRuntime();
    await queue.flushed();
    await queue.close();
  });
});

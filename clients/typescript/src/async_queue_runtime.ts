/** The queue of a conversation, decided in the store: any number of processes may use it at once, and no item goes to two. */

import { randomUUID } from "node:crypto";
import type { Client } from "./client.js";
import type { Conversation } from "./conversation.js";
import { NotFound } from "./errors.js";
import type {
  DequeuedBatch,
  NewItem,
  QueueBlockedReason,
  QueueCallbacks,
  QueueClearedReason,
  QueueItem,
  QueueRuntimeOptions,
} from "./queue_runtime.js";
import type { ConversationReply, QueueItem as WireItem } from "./wire.js";

export interface AsyncQueueOptions extends QueueRuntimeOptions {
  client: Client;
  conversation: string;
  owner?: string;
  /** A batch that is not acknowledged, because its process died, is handed out again under the same id. */
  redeliver?: boolean;
}

const ITEMS_MAX = 10_000;
/** A batch is kept for a minute after it was last asked for. */
const KEEP_MS = 20_000;

export class AsyncQueueRuntime {
  private readonly conversation: Conversation;
  private readonly instance = randomUUID();
  private readonly callbacks: QueueCallbacks;
  private readonly limits: { max_items: number; hard_max_items: number };
  private readonly redeliver: boolean;
  private lastBlocked: QueueBlockedReason | null = null;
  private held: { batchId: string; key: string; timer: NodeJS.Timeout | undefined } | undefined;

  constructor(options: AsyncQueueOptions) {
    this.conversation = options.client.conversation(options.conversation, options.owner);
    this.callbacks = options.callbacks ?? {};
    this.redeliver = options.redeliver ?? false;
    const soft = Math.min(ITEMS_MAX, Math.max(1, Math.floor(options.maxItems || 100)));
    const hard = Math.min(ITEMS_MAX, Math.max(soft, Math.floor(options.hardMaxItems || soft * 3)));
    this.limits = { max_items: soft, hard_max_items: hard };
  }

  /** The item, or null if there is no room. It is stored once this resolves. */
  async enqueue(input: NewItem): Promise<QueueItem | null> {
    const { kind, agentId, conversationId, ...rest } = input as NewItem & { agentId?: string; conversationId?: string };
    const body = { ...rest, enqueuedAt: Date.now() };
    const scope = { agent_id: agentId ?? null, conversation_id: conversationId ?? null };
    const reply = await this.conversation.append({ kind, ...scope, body, ...this.limits });
    const item = { ...input, id: reply.id as string, enqueuedAt: body.enqueuedAt } as QueueItem;
    const { length } = reply;
    if (reply.refused) {
      tell(() => this.callbacks.onDropped?.(item, "buffer_limit", length));
      return null;
    }
    const { dropped } = reply;
    if (dropped) tell(() => this.callbacks.onDropped?.(toItem(dropped), "buffer_limit", length));
    tell(() => this.callbacks.onEnqueued?.(item, length));
    return item;
  }

  /** The items of the next turn; null if there are none or a reason says that no turn may start. */
  async tryDequeue(blockedReason: QueueBlockedReason | null): Promise<DequeuedBatch | null> {
    if (blockedReason !== null) {
      await this.tellBlocked(blockedReason);
      return null;
    }
    this.resetBlockedState();
    return this.take((key) => this.conversation.dequeue({ batch_key: key, instance: this.instance, redeliver: this.redeliver }));
  }

  /** The first n items, whatever they are. */
  async consumeItems(n: number): Promise<DequeuedBatch | null> {
    if (!(n > 0)) return null;
    const most = Math.min(Math.floor(n) || 1, ITEMS_MAX);
    return this.take((key) => this.conversation.consume({ n: most, batch_key: key, instance: this.instance, redeliver: this.redeliver }));
  }

  /** Says that a batch is done with. Without `redeliver` the next dequeue says so, too. */
  async ack(batchId: string): Promise<void> {
    if (this.held?.batchId === batchId) this.letGo();
    await this.conversation.ack(batchId);
  }

  async removeItem(id: string): Promise<QueueItem | null> {
    const { removed, length } = await this.conversation.remove(id);
    if (!removed) return null;
    const item = toItem(removed);
    tell(() => this.callbacks.onRemoved?.(item, length));
    return item;
  }

  async clear(reason: QueueClearedReason): Promise<void> {
    const items = ((await this.conversation.clear(reason)).cleared ?? []).map(toItem);
    this.resetBlockedState();
    tell(() => this.callbacks.onCleared?.(reason, items.length, items));
  }

  /** The items that wait, in order. */
  async items(): Promise<QueueItem[]> {
    const found: QueueItem[] = [];
    for (let after: number | null = 0; after !== null; ) {
      const part: Awaited<ReturnType<Conversation["show"]>> | undefined = await this.conversation.show({ after }).catch(ifMissing);
      found.push(...(part?.items ?? []).filter(({ batch_id: batch }) => batch === null).map(toItem));
      after = part?.next ?? null;
    }
    return found;
  }

  peek(): Promise<QueueItem[]> {
    return this.items();
  }

  async length(): Promise<number> {
    return (await this.conversation.show({ limit: 1 }).catch(ifMissing))?.conversation.length ?? 0;
  }

  async isEmpty(): Promise<boolean> {
    return (await this.length()) === 0;
  }

  resetBlockedState(): void {
    this.lastBlocked = null;
  }

  /** Lets go of the last batch: without `redeliver` it is done with, else it is handed out again when its minute is over. */
  async close(): Promise<void> {
    const held = this.held;
    this.letGo();
    if (held && !this.redeliver) await this.conversation.ack(held.batchId);
  }

  private async take(ask: (key: string) => Promise<ConversationReply>): Promise<DequeuedBatch | null> {
    const key = randomUUID();
    const { batch } = await ask(key);
    this.letGo();
    if (!batch) return null;
    this.held = { batchId: batch.batch_id, key, timer: this.redeliver ? this.keep(key) : undefined };
    const items = batch.items.map(toItem);
    const taken = { batchId: batch.batch_id, items, mergedCount: items.length, queueLenAfter: batch.queue_len_after };
    tell(() => this.callbacks.onDequeued?.(taken));
    return taken;
  }

  /** While the turn lasts. A host that slept for over a minute may find that somebody else has the batch. */
  private keep(key: string): NodeJS.Timeout {
    const timer = setInterval(() => {
      this.conversation.dequeue({ batch_key: key, keep: true }).then(
        ({ batch }) => batch ?? clearInterval(timer),
        () => undefined, // the next one may get through
      );
    }, KEEP_MS);
    timer.unref();
    return timer;
  }

  private letGo(): void {
    clearInterval(this.held?.timer);
    this.held = undefined;
  }

  private async tellBlocked(reason: QueueBlockedReason): Promise<void> {
    if (reason === this.lastBlocked) return;
    const { length } = await this.conversation.dequeue({ blocked_reason: reason });
    if (length === 0) return;
    this.lastBlocked = reason;
    tell(() => this.callbacks.onBlocked?.(reason, length));
  }
}

function ifMissing(error: unknown): undefined {
  if (!(error instanceof NotFound)) throw error;
}

/** A callback that throws is the host's own affair. */
function tell(callback: () => void): void {
  try {
    callback();
  } catch {
    // What happened has happened in the store.
  }
}

function toItem(item: WireItem): QueueItem {
  const scope = { ...(item.agent_id == null ? {} : { agentId: item.agent_id }), ...(item.conversation_id == null ? {} : { conversationId: item.conversation_id }) };
  const body = (item.body ?? {}) as Record<string, unknown>;
  return { enqueuedAt: Date.parse(item.enqueued_at), ...body, kind: item.kind, ...scope, id: item.id } as unknown as QueueItem;
}

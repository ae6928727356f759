/**
 * The queue of a conversation in memory, with the surface of letta-code's class of this name; and, through `open`, mirrored to a
 * Drover server. Needs nothing else of this package: `open` is given the client.
 */

import { type ConversationLike, Mirror, type MirrorState, type RestoredItem } from "./queue_mirror.js";

export type { ConversationLike, MirrorState } from "./queue_mirror.js";

export type QueueItemKind = "message" | "task_notification" | "cron_prompt" | "mod_continue" | "approval_result" | "overlay_action";
export type QueueItemSource = "user" | "task_notification" | "subagent" | "system" | "cron" | "channel";
export type QueueBlockedReason =
  | "streaming"
  | "pending_approvals"
  | "overlay_open"
  | "command_running"
  | "interrupt_in_progress"
  | "runtime_busy";
export type QueueClearedReason = "processed" | "error" | "cancelled" | "shutdown" | "stale_generation";
export type QueueDroppedReason = "buffer_limit" | "stale_generation";

interface ItemBase {
  /** "q-N", counted by each instance. */
  id: string;
  source: QueueItemSource;
  /** Milliseconds since 1970. */
  enqueuedAt: number;
  clientMessageId?: string;
  agentId?: string;
  conversationId?: string;
  actingUserId?: string;
}

/** `content` is whatever the host sends; it comes back unchanged. */
export type MessageQueueItem = ItemBase & { kind: "message"; content: any; noCoalesce?: boolean };
export type TaskNotificationQueueItem = ItemBase & { kind: "task_notification"; text: string };
export type ApprovalResultQueueItem = ItemBase & { kind: "approval_result"; text: string };
export type OverlayActionQueueItem = ItemBase & { kind: "overlay_action"; text: string };
export type CronPromptQueueItem = ItemBase & { kind: "cron_prompt"; text: string; cronTaskId: string };
export type ModContinueQueueItem = ItemBase & { kind: "mod_continue"; text: string };
export type QueueItem =
  | MessageQueueItem
  | TaskNotificationQueueItem
  | ApprovalResultQueueItem
  | OverlayActionQueueItem
  | CronPromptQueueItem
  | ModContinueQueueItem;

type WithoutMade<T> = T extends unknown ? Omit<T, "id" | "enqueuedAt"> : never;
/** What a caller gives: an item without what the queue makes. */
export type NewItem = WithoutMade<QueueItem>;

export interface DequeuedBatch {
  batchId: string;
  items: QueueItem[];
  mergedCount: number;
  queueLenAfter: number;
}

export interface QueueCallbacks {
  onEnqueued?: (item: QueueItem, queueLen: number) => void;
  onDequeued?: (batch: DequeuedBatch) => void;
  onBlocked?: (reason: QueueBlockedReason, queueLen: number) => void;
  onCleared?: (reason: QueueClearedReason, clearedCount: number, items: QueueItem[]) => void;
  onDropped?: (item: QueueItem, reason: QueueDroppedReason, queueLen: number) => void;
  onRemoved?: (item: QueueItem, queueLen: number) => void;
}

export interface QueueRuntimeOptions {
  /** From here on the oldest item that may be merged makes room; 100 unless set. */
  maxItems?: number;
  /** From here on nothing is taken; three times maxItems unless set. */
  hardMaxItems?: number;
  callbacks?: QueueCallbacks;
}

export interface OpenOptions extends QueueRuntimeOptions {
  client: { conversation(key: string, owner?: string): ConversationLike };
  conversation: string;
  owner?: string;
  /** What becomes of items that are there already: kept unless set; a function gets them and answers those to keep. */
  restore?: "keep" | "discard" | ((items: QueueItem[]) => QueueItem[]);
  /** Called once with the items that were kept, so that the host can make ready for them. Without it onEnqueued is, for each. */
  onRestored?: (items: QueueItem[]) => void;
  /** How the mirror does: see MirrorState. */
  onMirror?: (state: MirrorState, error?: unknown) => void;
  /** Batches wait for ack(); those of a process that died are handed out again, under the same id. */
  redeliver?: boolean;
}

/** The most that a server keeps of one conversation. */
const ITEMS_MAX = 10_000;

export function isCoalescable(kind: QueueItemKind): boolean {
  return kind === "message" || kind === "task_notification" || kind === "cron_prompt" || kind === "mod_continue";
}

function hasSameScope(a: QueueItem, b: QueueItem): boolean {
  return (a.agentId ?? null) === (b.agentId ?? null) && (a.conversationId ?? null) === (b.conversationId ?? null);
}

function limitOf(value: number | undefined, otherwise: number): number {
  const whole = Math.floor(value ?? otherwise);
  return whole >= 1 ? whole : otherwise;
}

export class QueueRuntime {
  private queue: QueueItem[] = [];
  private nextId = 1;
  private nextBatch = 1;
  private lastBlocked: QueueBlockedReason | null = null;
  private hasToldBlocked = false;
  private readonly maxItems: number;
  private readonly hardMaxItems: number;
  private readonly callbacks: QueueCallbacks;
  private mirror: Mirror | undefined;
  /** Items of a batch that is handed out again, by their id: the id of that batch. */
  private readonly again = new Map<string, string>();
  /** What others appended and there is no room for yet. */
  private waiting: RestoredItem[] = [];

  constructor(options: QueueRuntimeOptions = {}) {
    this.maxItems = limitOf(options.maxItems, 100);
    this.hardMaxItems = Math.max(this.maxItems, limitOf(options.hardMaxItems, this.maxItems * 3));
    this.callbacks = options.callbacks ?? {};
  }

  /**
   * A queue that a server keeps, too. Takes the conversation's consumer lease: a second one rejects with WrongState until the first
   * is closed or its lease has ended.
   */
  static async open(options: OpenOptions): Promise<QueueRuntime> {
    const runtime = new QueueRuntime(options);
    const soft = Math.min(runtime.maxItems, ITEMS_MAX);
    const mirror = await Mirror.open(options.client.conversation(options.conversation, options.owner), {
      limits: { max_items: soft, hard_max_items: Math.max(soft, Math.min(runtime.hardMaxItems, ITEMS_MAX)) },
      onState: options.onMirror,
      redeliver: options.redeliver ?? false,
    });
    runtime.attach(mirror, options);
    return runtime;
  }

  get length(): number {
    return this.queue.length;
  }

  get isEmpty(): boolean {
    return this.queue.length === 0;
  }

  get items(): readonly QueueItem[] {
    return [...this.queue];
  }

  peek(): readonly QueueItem[] {
    return [...this.queue];
  }

  /** The item, or null if there is no room. */
  enqueue(input: NewItem): QueueItem | null {
    const item = { ...input, id: `q-${this.nextId++}`, enqueuedAt: Date.now() } as QueueItem;
    return this.take(item, () => this.mirror?.enqueued(item)) ? item : null;
  }

  /** The items of the next turn; null if there are none or a reason says that no turn may start. */
  tryDequeue(blockedReason: QueueBlockedReason | null): DequeuedBatch | null {
    if (blockedReason !== null) {
      this.tellBlocked(blockedReason);
      return null;
    }
    this.resetBlockedState();
    if (!this.mayTake()) return null;
    const head = this.queue[0];
    if (head === undefined) return null;
    const batchId = this.again.get(head.id);
    const ends = batchId === undefined ? this.endOfTurn(head) : this.queue.findIndex((item) => this.again.get(item.id) !== batchId);
    return this.handOut(ends === -1 ? this.queue.length : ends, batchId);
  }

  /** The first n items, whatever they are. */
  consumeItems(n: number): DequeuedBatch | null {
    if (!this.mayTake() || this.queue.length === 0 || !(n > 0)) return null;
    return this.handOut(Math.min(Math.floor(n) || 1, this.queue.length), undefined);
  }

  resetBlockedState(): void {
    this.lastBlocked = null;
    this.hasToldBlocked = false;
  }

  removeItem(id: string): QueueItem | null {
    const at = this.queue.findIndex((item) => item.id === id);
    if (at === -1) return null;
    const [item] = this.queue.splice(at, 1) as [QueueItem];
    this.mirror?.removed("remove", [item.id]);
    if (this.queue.length === 0) this.hasToldBlocked = false;
    this.tell(() => this.callbacks.onRemoved?.(item, this.queue.length));
    this.takeWaiting();
    return item;
  }

  clear(reason: QueueClearedReason): void {
    const cleared = this.queue;
    this.queue = [];
    this.again.clear();
    this.resetBlockedState();
    this.mirror?.removed("clear", cleared.map(({ id }) => id), reason);
    this.tell(() => this.callbacks.onCleared?.(reason, cleared.length, cleared));
    this.takeWaiting();
  }

  // ---- of a queue that was opened

  /** Says that a batch is done with; needed with `redeliver` only. */
  ack(batchId: string): void {
    this.mirror?.ack(batchId);
  }

  /** When everything that was done so far is on the server; at once for a queue in memory. */
  async flushed(): Promise<void> {
    await this.mirror?.flushed();
  }

  /** Sends what is left, and lets others consume. Rejects if the server could not be told within `timeoutMs`. */
  async close(timeoutMs = 10_000): Promise<void> {
    await this.mirror?.close(timeoutMs);
  }

  // ---- inside

  /** Without the lease somebody else may have what is here. */
  private mayTake(): boolean {
    return this.mirror === undefined || this.mirror.isHeld;
  }

  /** Puts an item into the queue by the rules. `stored` tells the mirror, before it hears of anything that follows. */
  private take(item: QueueItem, stored: () => void): boolean {
    if (this.queue.length >= this.hardMaxItems) {
      this.tell(() => this.callbacks.onDropped?.(item, "buffer_limit", this.queue.length));
      return false;
    }
    const isFull = this.queue.length >= this.maxItems && isCoalescable(item.kind);
    const oldest = isFull ? this.queue.findIndex(({ kind }) => isCoalescable(kind)) : -1;
    const [dropped] = oldest === -1 ? [] : this.queue.splice(oldest, 1);
    this.queue.push(item);
    if (dropped) this.mirror?.removed("drop", [dropped.id]);
    stored();
    if (dropped) this.tell(() => this.callbacks.onDropped?.(dropped, "buffer_limit", this.queue.length));
    const isFirst = this.queue.length === 1 && !dropped;
    this.tell(() => this.callbacks.onEnqueued?.(item, this.queue.length));
    if (isFirst) this.hasToldBlocked = false;
    return true;
  }

  private endOfTurn(head: QueueItem): number {
    if (!isCoalescable(head.kind)) return 1;
    return this.queue.findIndex((item) => !isCoalescable(item.kind) || !hasSameScope(head, item) || this.again.has(item.id));
  }

  private handOut(n: number, knownBatch: string | undefined): DequeuedBatch {
    const items = this.queue.splice(0, n);
    for (const { id } of items) this.again.delete(id);
    const batchId = knownBatch ?? `batch-${this.nextBatch++}`;
    if (this.queue.length === 0) this.hasToldBlocked = false;
    const batch = { batchId, items, mergedCount: items.length, queueLenAfter: this.queue.length };
    this.mirror?.dequeued(items.map(({ id }) => id), batchId);
    this.tell(() => this.callbacks.onDequeued?.(batch));
    this.takeWaiting();
    return batch;
  }

  private tellBlocked(reason: QueueBlockedReason): void {
    if (this.queue.length === 0 || (reason === this.lastBlocked && this.hasToldBlocked)) return;
    this.lastBlocked = reason;
    this.hasToldBlocked = true;
    this.tell(() => this.callbacks.onBlocked?.(reason, this.queue.length));
  }

  /** A callback that throws is the host's own affair. */
  private tell(callback: () => void): void {
    try {
      callback();
    } catch {
      // The queue is right whatever its host makes of it.
    }
  }

  private attach(mirror: Mirror, options: OpenOptions): void {
    const restored = mirror.restored.map((one) => ({ one, item: this.made(one) }));
    const all = restored.map(({ item }) => item);
    const how = options.restore ?? "keep";
    const kept = new Set(how === "keep" ? all : how === "discard" ? [] : how(all));
    this.mirror = mirror;
    for (const { one, item } of restored) {
      mirror.known(item.id, one.item_key);
      if (!kept.has(item)) continue;
      this.queue.push(item);
      if (one.batch_id) this.again.set(item.id, one.batch_id);
    }
    const gone = all.filter((item) => !kept.has(item)).map(({ id }) => id);
    if (gone.length > 0) mirror.removed("clear", gone, "stale_generation");
    this.nextBatch = 1 + mirror.restored.reduce((most, { batch_id: id }) => Math.max(most, Number(/^batch-(\d+)$/.exec(id ?? "")?.[1] ?? 0)), 0);
    if (options.onRestored) this.tell(() => options.onRestored?.([...this.queue]));
    else for (const [i, item] of this.queue.entries()) this.tell(() => this.callbacks.onEnqueued?.(item, i + 1));
    mirror.start(new WeakRef(this));
  }

  /** What others appended: for the mirror. False: there is no room yet. */
  arrived(items: RestoredItem[]): boolean {
    this.waiting.push(...items);
    return this.takeWaiting();
  }

  private takeWaiting(): boolean {
    while (this.waiting.length > 0 && this.queue.length < this.hardMaxItems) {
      const one = this.waiting.shift() as RestoredItem;
      const item = this.made(one);
      this.take(item, () => this.mirror?.known(item.id, one.item_key));
    }
    return this.waiting.length === 0;
  }

  /** An item of the server as one of this instance. */
  private made(one: RestoredItem): QueueItem {
    const scope = { ...(one.agent_id == null ? {} : { agentId: one.agent_id }), ...(one.conversation_id == null ? {} : { conversationId: one.conversation_id }) };
    const at = { enqueuedAt: Date.parse(one.enqueued_at) };
    return { source: "system", ...at, ...(one.body ?? {}), kind: one.kind, ...scope, id: `q-${this.nextId++}` } as unknown as QueueItem;
  }
}

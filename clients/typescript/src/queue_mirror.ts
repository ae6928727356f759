/**
 * Tells a server what a queue in memory has done: operations are numbered and sent in order, one batch on its way. It holds the
 * conversation's consumer lease; what others append comes back through it.
 */

/** How the mirror does. `live`: all is told, or on its way. `behind`: too much is untold, and a crash would lose it. `detached`: somebody
 * else consumes the conversation; what is enqueued here is appended there. `rejected`: the server refused an operation, see the error. */
export type MirrorState = "live" | "behind" | "detached" | "rejected";

/** An item as the server has it. */
export interface RestoredItem {
  id: string;
  item_key: string;
  kind: string;
  agent_id: string | null;
  conversation_id: string | null;
  body?: object;
  enqueued_at: string;
  batch_id: string | null;
}

interface WireItem {
  item_key: string;
  kind: string;
  agent_id: string | null;
  conversation_id: string | null;
  body: Record<string, unknown>;
}

interface Operation {
  op: "enqueue" | "dequeue" | "ack" | "remove" | "drop" | "clear";
  item?: WireItem;
  item_keys?: string[];
  batch_id?: string;
  redeliver?: boolean;
  reason?: string;
}

interface Reply {
  lease_id?: string;
  last_op?: number;
}

interface Part {
  items: RestoredItem[];
  next: number | null;
  last_seq: number;
}

/** What the mirror needs of `Client.conversation(key)`. */
export interface ConversationLike {
  append(item: any): Promise<unknown>;
  takeConsumer(how?: { lease_id?: string }): Promise<Reply>;
  releaseConsumer(leaseId: string): Promise<unknown>;
  mirror(what: any): Promise<Reply>;
  show(options?: { after?: number }): Promise<any>;
  changes(options?: { after?: number; timeoutMs?: number; signal?: AbortSignal }): Promise<any>;
}

interface LocalItem {
  id: string;
  kind: string;
  agentId?: string | null;
  conversationId?: string | null;
}

/** The queue, as far as the mirror needs it. Not held: a queue that nobody has any more ends its mirror. */
interface Queue {
  arrived(items: RestoredItem[]): boolean;
  readonly items: readonly LocalItem[];
}

export interface MirrorOptions {
  limits: { max_items: number; hard_max_items: number };
  redeliver: boolean;
  onState?: ((state: MirrorState, error?: unknown) => void) | undefined;
}

const OPERATIONS_MAX = 10_000;
const BYTES_MAX = 16 * 1024 * 1024;
const AT_ONCE = 500;
const BYTES_AT_ONCE = 1024 * 1024;
const RENEW_MS = 10_000;
const AGAIN_MIN_MS = 100;
const AGAIN_MAX_MS = 5_000;

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? "");
}

/** The same call will never be taken. */
function isRefused(error: unknown): boolean {
  const status = Number((error as { status?: unknown } | null)?.status);
  return status >= 400 && status < 500 && status !== 401 && status !== 403 && status !== 408 && status !== 429;
}

export class Mirror {
  /** What was on the server when it was opened, in order. */
  restored: RestoredItem[] = [];
  private readonly keys = new Map<string, string>();
  private readonly instance = globalThis.crypto.randomUUID();
  private pending: { operation: Operation; bytes: number }[] = [];
  private pendingBytes = 0;
  private sent = 0;
  private nextOperation = 1;
  private after = 0;
  private state: "live" | "behind" | "detached" | "closed" = "live";
  private queue: WeakRef<Queue> | undefined;
  private isPumping = false;
  private failures = 0;
  private lastHeard = performance.now();
  private renewal: NodeJS.Timeout | undefined;
  private retry: NodeJS.Timeout | undefined;
  private readonly ended = new AbortController();
  private waiters: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  /** What the server has, as far as it answered; for catching up after having been behind. */
  private readonly onServer = new Set<string>();
  /** Plain appends, once the lease is lost. */
  private appends: WireItem[] = [];

  private constructor(
    private readonly conversation: ConversationLike,
    private readonly options: MirrorOptions,
    private leaseId: string,
  ) {}

  static async open(conversation: ConversationLike, options: MirrorOptions): Promise<Mirror> {
    const { lease_id: lease } = await conversation.takeConsumer();
    const mirror = new Mirror(conversation, options, lease as string);
    try {
      for (let after: number | null = 0; after !== null; ) {
        const part: Part = await conversation.show({ after });
        mirror.restored.push(...part.items);
        mirror.after = part.items.reduce((most, { id }) => Math.max(most, Number(id.slice(2))), mirror.after);
        after = part.next;
      }
    } catch (error) {
      await conversation.releaseConsumer(mirror.leaseId).catch(() => undefined);
      throw error;
    }
    // What is to be handed out again comes first.
    mirror.restored.sort((a, b) => Number(b.batch_id !== null) - Number(a.batch_id !== null));
    return mirror;
  }

  get isHeld(): boolean {
    return this.state === "live" || this.state === "behind";
  }

  start(queue: WeakRef<Queue>): void {
    this.queue = queue;
    this.restored = [];
    this.renewal = setInterval(() => void this.renew(), RENEW_MS);
    this.renewal.unref();
    void this.listen();
  }

  // ---- what the queue has done

  /** The server has this item under that key already. */
  known(id: string, key: string): void {
    this.keys.set(id, key);
    this.onServer.add(key);
  }

  enqueued(item: LocalItem): void {
    const wire = this.wire(item);
    if (this.isHeld) this.push({ op: "enqueue", item: wire });
    else if (this.state === "detached") this.appendPlainly(wire);
  }

  dequeued(ids: string[], batchId: string): void {
    const waits = this.options.redeliver ? { redeliver: true } : {};
    this.push({ op: "dequeue", item_keys: this.forget(ids), batch_id: batchId, ...waits });
  }

  ack(batchId: string): void {
    this.push({ op: "ack", batch_id: batchId });
  }

  removed(op: "remove" | "drop" | "clear", ids: string[], reason?: string): void {
    this.push({ op, item_keys: this.forget(ids), ...(reason === undefined ? {} : { reason }) });
  }

  async flushed(): Promise<void> {
    if (this.isIdle()) return;
    await new Promise<void>((resolve, reject) => this.waiters.push({ resolve, reject }));
  }

  async close(timeoutMs: number): Promise<void> {
    if (this.state === "closed") return;
    const isHeld = this.isHeld;
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`the server was not told within ${timeoutMs} ms`)), timeoutMs);
    });
    try {
      await Promise.race([this.flushed(), tooLate]);
      if (isHeld) await Promise.race([this.conversation.releaseConsumer(this.leaseId), tooLate]);
    } finally {
      clearTimeout(timer);
      tooLate.catch(() => undefined);
      this.end();
    }
  }

  // ---- inside

  private end(): void {
    this.state = "closed";
    clearInterval(this.renewal);
    clearTimeout(this.retry);
    this.ended.abort();
    for (const { reject } of this.waiters.splice(0)) reject(new Error("the queue was closed before the server was told"));
  }

  private tellState(state: MirrorState, error?: unknown): void {
    try {
      this.options.onState?.(state, error);
    } catch {
      // As for the callbacks of the queue.
    }
  }

  private wire(item: LocalItem): WireItem {
    const { id, kind, agentId, conversationId, ...body } = item as LocalItem & Record<string, unknown>;
    const key = `${this.instance}:${id}`;
    this.keys.set(id, key);
    return { item_key: key, kind, agent_id: agentId ?? null, conversation_id: conversationId ?? null, body };
  }

  /** The keys of items that leave. */
  private forget(ids: string[]): string[] {
    const keys = ids.map((id) => this.keys.get(id)).filter((key) => key !== undefined);
    for (const id of ids) this.keys.delete(id);
    return keys;
  }

  private isIdle(): boolean {
    return this.pending.length === 0 && this.appends.length === 0 && this.state !== "behind" && !this.isPumping;
  }

  private push(operation: Operation): void {
    if (!this.isHeld) return;
    if (this.state === "behind") return this.pump();  // what there is by then is told later
    this.add(operation);
    if (this.pending.length > OPERATIONS_MAX || this.pendingBytes > BYTES_MAX) {
      this.state = "behind";
      this.setPending(this.pending.slice(0, this.sent));
      this.tellState("behind");
    }
    this.pump();
  }

  private add(operation: Operation): void {
    const bytes = JSON.stringify(operation).length;
    this.pending.push({ operation, bytes });
    this.pendingBytes += bytes;
  }

  private setPending(pending: { operation: Operation; bytes: number }[]): void {
    this.pending = pending;
    this.pendingBytes = pending.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Sends until all is told. */
  private pump(): void {
    if (this.isPumping || this.retry !== undefined || this.state === "closed") return;
    this.isPumping = true;
    // In a turn of its own: what is done in one go is sent together.
    queueMicrotask(() => {
      this.work()
        .catch((error: unknown) => this.failed(error))
        .finally(() => {
          this.isPumping = false;
          if (this.isIdle()) for (const { resolve } of this.waiters.splice(0)) resolve();
          else if (this.retry === undefined && this.state !== "closed") this.pump();
        });
    });
  }

  private async work(): Promise<void> {
    if (this.state === "detached") return this.sendAppends();
    if (this.pending.length === 0) {
      if (this.state === "behind") this.catchUp();
      return;
    }
    // A batch whose answer is unknown is sent again as it was.
    const n = this.sent > 0 ? this.sent : this.batchSize();
    this.sent = n;
    const operations = this.pending.slice(0, n).map(({ operation }) => operation);
    try {
      await this.send(operations);
    } catch (error) {
      if (!isRefused(error) || codeOf(error) === "stale_lease") throw error;
      await this.sendEach(operations);
    }
    this.heard();
    this.nextOperation += n;
    this.sent = 0;
    this.setPending(this.pending.slice(n));
    for (const operation of operations) this.note(operation);
  }

  private batchSize(): number {
    let n = 0;
    for (let bytes = 0; n < this.pending.length && n < AT_ONCE && (n === 0 || bytes < BYTES_AT_ONCE); n += 1) bytes += this.pending[n]?.bytes ?? 0;
    return n;
  }

  private send(operations: Operation[], from = this.nextOperation): Promise<unknown> {
    return this.conversation.mirror({ lease_id: this.leaseId, from_op: from, ops: operations, ...this.options.limits });
  }

  /** One that is refused must not hold up the others: nothing is sent in its place. */
  private async sendEach(operations: Operation[]): Promise<void> {
    for (const [i, operation] of operations.entries()) {
      try {
        await this.send([operation], this.nextOperation + i);
      } catch (error) {
        if (!isRefused(error) || codeOf(error) === "stale_lease") throw error;
        await this.send([{ op: "remove", item_keys: [] }], this.nextOperation + i);
        this.tellState("rejected", error);
      }
    }
  }

  private note(operation: Operation): void {
    if (operation.item) this.onServer.add(operation.item.item_key);
    for (const key of operation.item_keys ?? []) this.onServer.delete(key);
  }

  private heard(): void {
    this.lastHeard = performance.now();
    this.failures = 0;
  }

  /** After having been behind: how what the server has becomes what is here. */
  private catchUp(): void {
    const items = this.queue?.deref()?.items ?? [];
    const here = new Set(items.map(({ id }) => this.keys.get(id)));
    const gone = [...this.onServer].filter((key) => !here.has(key));
    this.state = "live";
    if (gone.length > 0) this.add({ op: "dequeue", item_keys: gone });
    for (const item of items) {
      const key = this.keys.get(item.id);
      if (key === undefined || !this.onServer.has(key)) this.add({ op: "enqueue", item: this.wire(item) });
    }
    this.tellState("live");
  }

  private failed(error: unknown): void {
    if (this.state === "closed") return;
    if (codeOf(error) === "stale_lease") return this.detach(error);
    this.failures += 1;
    const pauseMs = Math.min(AGAIN_MAX_MS, AGAIN_MIN_MS * 2 ** Math.min(this.failures, 10)) * (0.5 + Math.random() / 2);
    this.retry = setTimeout(() => {
      this.retry = undefined;
      this.pump();
    }, pauseMs);
    this.retry.unref();
  }

  /** Somebody else consumes. What was enqueued here and not told yet is appended, so that it is not lost. */
  private detach(error: unknown): void {
    if (!this.isHeld) return;
    const untold = this.pending.map(({ operation }) => operation.item).filter((item) => item !== undefined);
    const taken = new Set(this.pending.flatMap(({ operation }) => operation.item_keys ?? []));
    this.state = "detached";
    this.sent = 0;
    this.setPending([]);
    this.ended.abort();
    clearInterval(this.renewal);
    for (const item of untold) if (!taken.has(item.item_key)) this.appendPlainly(item);
    this.tellState("detached", error);
  }

  private appendPlainly(item: WireItem): void {
    if (this.appends.length >= OPERATIONS_MAX) {
      this.tellState("behind");
      return;
    }
    this.appends.push(item);
    this.pump();
  }

  private async sendAppends(): Promise<void> {
    for (let item = this.appends[0]; item !== undefined; item = this.appends[0]) {
      try {
        await this.conversation.append(item);
      } catch (error) {
        if (!isRefused(error)) throw error;
        this.tellState("rejected", error);
      }
      this.appends.shift();
    }
  }

  private async renew(): Promise<void> {
    if (!this.isHeld) return;
    if (this.queue?.deref() === undefined) {
      // Nobody has the queue any more: others may consume at once.
      await this.close(RENEW_MS).catch(() => undefined);
      return;
    }
    if (performance.now() - this.lastHeard < RENEW_MS / 2) return;
    try {
      await this.conversation.takeConsumer({ lease_id: this.leaseId });
      this.heard();
    } catch (error) {
      if (codeOf(error) === "stale_lease") this.detach(error);
    }
  }

  /** What others append comes behind what is here. */
  private async listen(): Promise<void> {
    const { signal } = this.ended;
    while (!signal.aborted) {
      try {
        const part: Part = await this.conversation.changes({ after: this.after, timeoutMs: 20_000, signal });
        const queue = this.queue?.deref();
        if (signal.aborted || queue === undefined) return;
        this.after = part.items.reduce((most, { id }) => Math.max(most, Number(id.slice(2))), this.after);
        if (!queue.arrived(part.items)) await this.roomFor(queue);
      } catch {
        if (!signal.aborted) await this.rest(1_000);
      }
    }
  }

  private async roomFor(queue: Queue): Promise<void> {
    while (!this.ended.signal.aborted && !queue.arrived([])) await this.rest(100);
  }

  private rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const { signal } = this.ended;
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      timer.unref();
      signal.addEventListener("abort", wake, { once: true });
    });
  }
}

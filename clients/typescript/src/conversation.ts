/** A conversation queue by its name: each method is one call, safe to repeat, and decided in the store. */

import { randomUUID } from "node:crypto";
import type { Calls, CallOptions } from "./calls.js";
import { writeJson } from "./json.js";
import type {
  AppendItem,
  ConsumeItems,
  Conversation as ConversationPart,
  ConversationReply,
  DequeueItems,
  MirrorItems,
  TakeConsumer,
} from "./wire.js";

export interface PartOptions {
  /** Only items after this number. */
  after?: number;
  limit?: number;
  signal?: AbortSignal;
}

export interface WaitForItems extends PartOptions {
  /** How long to wait at most; 25 s unless set. */
  timeoutMs?: number;
}

export class Conversation {
  /** For the runtimes of this package. Nothing is asked yet. */
  constructor(
    private readonly calls: Calls,
    readonly key: string,
    readonly owner?: string,
  ) {}

  /** Appends an item. Without an `item_key` of its own it gets one, so that a repeat adds nothing. */
  append(item: Omit<AppendItem, "item_key"> & { item_key?: string }): Promise<ConversationReply> {
    return this.post("items", { item_key: randomUUID(), ...item });
  }

  /** The items of the next turn, or none. With a `batch_key` a lost answer can be asked for again. */
  dequeue(how: DequeueItems = {}): Promise<ConversationReply> {
    return this.post("dequeue", { batch_key: randomUUID(), ...how });
  }

  /** The first items, whatever they are. */
  consume(how: ConsumeItems): Promise<ConversationReply> {
    return this.post("consume", { batch_key: randomUUID(), ...how });
  }

  ack(batchId: string): Promise<ConversationReply> {
    return this.post("ack", { batch_id: batchId });
  }

  clear(reason: string): Promise<ConversationReply> {
    return this.post("clear", { reason });
  }

  remove(id: string): Promise<ConversationReply> {
    return this.json("DELETE", this.path(`items/${encodeURIComponent(id)}`), { repeat: "again" });
  }

  takeConsumer(how: TakeConsumer = {}): Promise<ConversationReply> {
    return this.post("consumer", how.lease_id ? how : { take_key: randomUUID(), ...how });
  }

  releaseConsumer(leaseId: string): Promise<ConversationReply> {
    return this.json("DELETE", this.path("consumer", { lease_id: leaseId }), { repeat: "again" });
  }

  mirror(what: MirrorItems): Promise<ConversationReply> {
    return this.post("mirror", what);
  }

  /** A part of it: the items after a number. Throws NotFound if it is not there. */
  show(options: PartOptions = {}): Promise<ConversationPart> {
    const { signal, ...query } = options;
    return this.json("GET", this.path("", query), { repeat: "again", signal });
  }

  /** Waits for items that others append. */
  changes(options: WaitForItems = {}): Promise<ConversationPart> {
    const { signal, timeoutMs = 25_000, ...query } = options;
    const waitMs = Math.min(timeoutMs, this.calls.pollMs);
    return this.json("GET", this.path("changes", { ...query, timeout: `${waitMs}ms` }), { repeat: "again", signal, waitMs });
  }

  private path(rest: string, query: Record<string, string | number | undefined> = {}): string {
    const parameters = new URLSearchParams(this.owner === undefined ? {} : { owner: this.owner });
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) parameters.set(name, String(value));
    }
    const text = parameters.toString();
    return `/v1/conversations/${encodeURIComponent(this.key)}${rest && "/"}${rest}${text && "?"}${text}`;
  }

  private post(verb: string, body: object): Promise<ConversationReply> {
    const text = writeJson(body, this.calls.options.bigints, `the ${verb} of conversation ${this.key}`);
    return this.json("POST", this.path(verb), { repeat: "again", body: text });
  }

  private async json<T>(method: string, path: string, options: CallOptions): Promise<T> {
    return (await this.calls.json(method, path, options)) as T;
  }
}

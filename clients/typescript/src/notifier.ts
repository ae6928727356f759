/**
 * The notifier: a sweeper over the event log that tells conversations of subagents that have ended. Any number of processes may run one. What it
 * sends is kept once for each task and generation, so none of them has to know of the others, and each may die at any point.
 */

import { randomUUID } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { backoffMs, pause } from "./calls.js";
import type { Client } from "./client.js";
import { DroverError, NotFound, QueueFull, RequestConflict, Unavailable } from "./errors.js";
import { hasEnded } from "./handle.js";
import { NOTIFY_TAG, type Notification, notificationOf } from "./notification.js";
import { type Context, TaskError } from "./run.js";
import { checkName } from "./task_type.js";
import type { Task } from "./wire.js";
import { Worker, type WorkerOptions } from "./worker.js";

const NOTIFICATION_TYPE = "task_notification";
const MARK_EVERY_MS = 5_000;

/** Where notifications go. It keeps one with a key that it has seen once only. */
export interface Outbox {
  put(notification: Notification, signal?: AbortSignal): Promise<void>;
}

/** The queue in which the notifications of a conversation wait. */
export function queueOf(conversation: string): string {
  return checkName(`conversation.${conversation}`, "the name of a conversation");
}

/** Each notification is a task in the queue of its conversation. Its key is the request id, which makes it one however often it is sent. */
export class QueueOutbox implements Outbox {
  constructor(private readonly client: Client) {}

  async put(notification: Notification, signal?: AbortSignal): Promise<void> {
    const { conversation, key } = notification;
    const options = { queue: queueOf(conversation), request_id: key, max_attempts: 1_000, max_stalls: 1_000, ...(signal ? { signal } : {}) };
    try {
      await this.client.enqueue(NOTIFICATION_TYPE, notification, options);
    } catch (error) {
      // Told before, in other words: a label of the output file may have changed, the end has not.
      if (!(error instanceof RequestConflict)) throw error;
    }
  }
}

/** How far a notifier has read the event log. Losing it costs a look at all subagents that are kept. */
export interface Mark {
  load(): Promise<number | undefined>;
  save(seq: number): Promise<void>;
}

export function fileMark(path: string): Mark {
  return {
    async load() {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return "";
        throw error;
      });
      return /^\d+\n$/.test(text) ? Number(text) : undefined;
    },
    async save(seq) {
      const next = `${path}.${randomUUID()}`;
      await writeFile(next, `${seq}\n`, { mode: 0o600 });
      await rename(next, path);
    },
  };
}

export interface NotifierOptions {
  outbox?: Outbox;
  mark?: Mark;
  /** What it does not do at once: a full queue, a server that does not answer. */
  log?: (text: string) => void;
}

export class Notifier {
  private readonly outbox: Outbox;
  private readonly mark: Mark | undefined;
  private readonly log: (text: string) => void;
  private savedAt = 0;

  /** The client's token has the role producer, of the owner whose subagents these are, or operator. */
  constructor(
    private readonly client: Client,
    options: NotifierOptions = {},
  ) {
    this.outbox = options.outbox ?? new QueueOutbox(client);
    this.mark = options.mark;
    this.log = options.log ?? ((text) => process.stderr.write(`drover notifier: ${text}\n`));
  }

  /** Tells of every end, until the signal is aborted. Throws what does not pass by itself, such as a token that was revoked. */
  async run({ signal }: { signal: AbortSignal }): Promise<void> {
    try {
      const after = (await this.mark?.load()) ?? (await this.catchUp(signal));
      for await (const event of this.client.events({ after, signal })) {
        if (event.kind === "gap") await this.save(await this.catchUp(signal));
        else {
          if (event.task_id && event.state && hasEnded(event.state)) await this.look(event.task_id, signal);
          if (performance.now() - this.savedAt > MARK_EVERY_MS) await this.save(event.seq);
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Tells of all ends that are kept. Returns the number of the last event before that. */
  async catchUp(signal?: AbortSignal): Promise<number> {
    const { seq } = await this.client.call<{ seq: number }>("GET", "/v1/events/last");
    const ended = this.client.list({ tag: NOTIFY_TAG, state: ["completed", "failed", "cancelled"], ...(signal ? { signal } : {}) });
    for await (const task of ended) await this.tell(task, signal);
    return seq;
  }

  /** An end that was retried meanwhile is not told: the next one is. */
  private async look(taskId: string, signal: AbortSignal): Promise<void> {
    try {
      await this.tell(await this.client.task(taskId).get(), signal);
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
    }
  }

  /** However long it takes: a notification is never dropped. */
  private async tell(task: Task, signal?: AbortSignal): Promise<void> {
    const notification = notificationOf(task);
    if (!notification) return;
    for (let failures = 0; ; ) {
      try {
        return await this.outbox.put(notification, signal);
      } catch (error) {
        const mayPass = error instanceof QueueFull || error instanceof Unavailable || (error instanceof DroverError && error.status === 429);
        if (!mayPass || signal?.aborted) throw error;
        failures += 1;
        if (failures % 10 === 1) this.log(`${notification.conversation} has not been told of task ${task.id} yet: ${error.message}`);
        await pause(backoffMs(failures, error.retryAfterMs), signal);
      }
    }
  }

  private async save(seq: number): Promise<void> {
    await this.mark?.save(seq);
    this.savedAt = performance.now();
  }
}

export interface ConversationOfOwner {
  conversation: string;
  /** The owner of the conversation. What others send to it is refused. */
  owner: string;
}

/**
 * Hands the notifications of a conversation to `handler`, one after the other. One is done when the handler has returned; if the process dies
 * before that, it comes again, with the same key. The client's token needs the role worker or operator. Ends as a worker does.
 */
export function notificationWorker(
  client: Client,
  { conversation, owner }: ConversationOfOwner,
  handler: (notification: Notification, signal: AbortSignal) => void | Promise<void>,
  options: Omit<WorkerOptions, "concurrency"> = {},
): Worker {
  const worker = new Worker(client, { ...options, concurrency: 1 });
  const hand = async (notification: Notification, { task, signal }: Context): Promise<null> => {
    if (task.owner !== owner) throw new TaskError("invalid", `the conversation ${conversation} is not ${task.owner}'s`);
    await handler(notification, signal);
    return null;
  };
  return worker.handle<Notification, null>(NOTIFICATION_TYPE, hand, { queue: queueOf(conversation) });
}

/**
 * A handler that puts notifications into the conversation's queue, from where its host gets them with the messages. A repeat has the same key
 * and adds nothing. While the queue is full it waits. The client's token needs the role producer, of the conversation's owner, or operator.
 */
export function intoConversation(client: Client): (notification: Notification, signal: AbortSignal) => Promise<void> {
  return async ({ key, conversation, item: { kind, agentId, conversationId, ...body } }, signal) => {
    const item = { item_key: key, kind, agent_id: agentId ?? null, conversation_id: conversationId ?? null, body };
    for (let failures = 1; (await client.conversation(conversation).append(item)).refused; failures += 1) {
      await pause(backoffMs(failures), signal);
    }
  };
}

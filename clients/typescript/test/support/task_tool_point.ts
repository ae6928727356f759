/** A part of the Task tool in a process of its own that goes as far as one point, says so, and waits there to be killed. */

import { fileURLToPath } from "node:url";
import { Client, Worker } from "drover-client";
import { intoConversation, type Mark, type Notification, Notifier, notificationWorker, QueueOutbox, TaskTool } from "drover-client/task-tool";
import { QueueRuntime } from "drover-client/queue-runtime";

export type Point =
  | "before the answer to the call"
  | "after the answer to the call"
  | "in the run"
  | "before the notification"
  | "after the notification"
  | "before the conversation is told"
  | "after the conversation was told"
  | "in the turn";

export interface PointOrders {
  point: Point;
  url: string;
  token: string;
  conversation: string;
  type: string;
  folder: string;
  /** Events up to here are of the past. */
  after: number;
}

/** Notifiers look at one life, not at all that were before. */
export const markAt = (after: number): Mark => ({ load: async () => after, save: async () => undefined });

export const call = (type: string) => ({ subagent_type: type, prompt: "p", description: "d", tool_call_id: type, persist: true as const });

function arrive(): Promise<never> {
  process.stdout.write("there\n");
  return new Promise(() => setInterval(() => undefined, 60_000));
}

async function goTo({ point, url, token, conversation, type, folder, after }: PointOrders): Promise<unknown> {
  const client = new Client({ url, token });
  const { signal } = new AbortController();
  const tool = (through: Client): TaskTool => new TaskTool({ client: through, conversation, scratchDir: `${folder}/scratch`, runNow: async () => undefined });
  const outbox = new QueueOutbox(client);
  const told = intoConversation(client);
  const settings = { conversation, owner: "default" };
  const quick = { leaseMs: 1_000, heartbeatMs: 100 };
  switch (point) {
    case "before the answer to the call": {
      // The server has the call; nobody here hears its answer.
      const deaf = new Client({ url, token, fetch: async (target, init) => (await fetch(target, init), arrive()) });
      return tool(deaf).run(call(type));
    }
    case "after the answer to the call":
      await tool(client).run(call(type));
      return arrive();
    case "in the run":
      return new Worker(client, quick).handle(type, arrive).run();
    case "before the notification":
      return new Notifier(client, { mark: markAt(after), outbox: { put: arrive } }).run({ signal });
    case "after the notification":
      return new Notifier(client, { mark: markAt(after), outbox: { put: async (one: Notification) => (await outbox.put(one), arrive()) } }).run({ signal });
    case "before the conversation is told":
      return notificationWorker(client, settings, arrive, quick).run();
    case "after the conversation was told":
      return notificationWorker(client, settings, async (one, stop) => (await told(one, stop), arrive()), quick).run();
    case "in the turn": {
      const handle = client.conversation(conversation);
      const take = handle.takeConsumer.bind(handle);
      handle.takeConsumer = async (how) => {
        const reply = await take(how);
        process.stdout.write(`lease ${reply.lease_id}\n`);
        return reply;
      };
      const queue = await QueueRuntime.open({ client: { conversation: () => handle }, conversation, redeliver: true });
      queue.tryDequeue(null);
      await queue.flushed();
      return arrive();
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await goTo(JSON.parse(process.argv[2] as string) as PointOrders);

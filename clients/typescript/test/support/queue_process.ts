/** A host of a mirrored queue, to be killed: opens it, does what it is told, says how far it is, and lives on. */

import { Client } from "drover-client";
import { QueueRuntime } from "drover-client/queue-runtime";

interface Orders {
  url: string;
  token: string;
  conversation: string;
  redeliver?: boolean;
  messages: string[];
  dequeue?: boolean;
  more?: string[];
}

const orders = JSON.parse(process.argv[2] as string) as Orders;
const client = new Client({ url: orders.url, token: orders.token });
const handle = client.conversation(orders.conversation);
const take = handle.takeConsumer.bind(handle);
handle.takeConsumer = async (how) => {
  const reply = await take(how);
  console.log(`lease ${reply.lease_id}`);
  return reply;
};
const queue = await QueueRuntime.open({ client: { conversation: () => handle }, conversation: orders.conversation, redeliver: orders.redeliver ?? false });
const say = (texts: string[]): void => texts.forEach((content) => void queue.enqueue({ kind: "message", source: "user", content }));
say(orders.messages);
if (orders.dequeue) queue.tryDequeue(null);
say(orders.more ?? []);
await queue.flushed();
console.log("flushed");
setInterval(() => undefined, 1_000);

/**
 * A host of a mirrored queue that never rests, to be killed at any moment. It says what it found, what it has taken (before the server can know),
 * and what the server has confirmed.
 */

import { Client } from "drover-client";
import { type QueueItem, QueueRuntime } from "drover-client/queue-runtime";

export interface MirrorOrders {
  url: string;
  token: string;
  conversation: string;
  /** Its items are PREFIX-1, PREFIX-2, … */
  prefix: string;
}

const { url, token, conversation, prefix } = JSON.parse(process.argv[2] as string) as MirrorOrders;
const say = (what: string, items: readonly (string | QueueItem)[]): void => {
  process.stdout.write(`${[what, ...items.map((item) => (typeof item === "string" ? item : String((item as { content: unknown }).content)))].join(" ")}\n`);
};
const handle = new Client({ url, token }).conversation(conversation);
const take = handle.takeConsumer.bind(handle);
handle.takeConsumer = async (how) => {
  const reply = await take(how);
  say("lease", [reply.lease_id as string]);
  return reply;
};
const queue = await QueueRuntime.open({
  client: { conversation: () => handle },
  conversation,
  maxItems: 5_000,
  onRestored: (items) => say("found", items),
});
for (let i = 1; ; i += 4) {
  const made = [0, 1, 2, 3].map((n) => `${prefix}-${i + n}`);
  for (const content of made) queue.enqueue({ kind: "message", source: "user", content });
  if (i % 5 === 0) say("took", queue.consumeItems(3)?.items ?? []);
  await queue.flushed();
  say("confirmed", made);
}

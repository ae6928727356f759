/** A worker in a process of its own, for tests that stop or kill it. Its orders come as JSON in argv; it prints what happens, line by line. */

import { setTimeout as after } from "node:timers/promises";
import { Client, Worker, type WorkerOptions } from "drover-client";
import { aborted, block } from "./wait.js";

export interface Orders {
  url: string;
  token: string;
  type: string;
  options: WorkerOptions;
  /** What the handler does: waits for its abort, blocks the event loop, ends at once, or takes some milliseconds. */
  handler: "until_aborted" | "block" | "at_once" | "soon";
}

const orders = JSON.parse(process.argv[2] as string) as Orders;
const say = (what: string): void => void process.stdout.write(`${what}\n`);

const worker = new Worker(new Client({ url: orders.url, token: orders.token }), orders.options);
worker.handle(orders.type, async (_payload, context) => {
  say(`started ${context.task.id}`);
  context.draining.addEventListener("abort", () => say("draining"));
  if (orders.handler === "at_once") return "done";
  if (orders.handler === "soon") return after(Math.random() * 60, "done");
  if (orders.handler === "block") block(60_000);
  const reason = (await aborted(context.signal)) as { kind: string };
  say(`aborted ${reason.kind}`);
  throw reason;
});
say("ready");
const report = await worker.run();
say(`report ${JSON.stringify(report)}`);
process.exit(0);

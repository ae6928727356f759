/**
 * The Task tool whose parts are killed at each point of a subagent's life: its conversation has exactly one notification of it, and hands it out
 * until a turn is done. DROVER_POINT_KILLS says how often each point is tried.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { type Client, Worker } from "drover-client";
import { intoConversation, Notifier, notificationWorker, TaskTool } from "drover-client/task-tool";
import { QueueRuntime } from "drover-client/queue-runtime";
import { WorkerProcess } from "./support/child.js";
import { onEveryStore, type Place } from "./support/suite.js";
import { markAt, type Point, type PointOrders } from "./support/task_tool_point.js";
import { eventually } from "./support/wait.js";

const kills = Number(process.env["DROVER_POINT_KILLS"] ?? 2);
const AT_ONCE = 4;
const BOUND_MS = 60_000;
const POINTS: Point[] = [
  "before the answer to the call",
  "after the answer to the call",
  "in the run",
  "before the notification",
  "after the notification",
  "before the conversation is told",
  "after the conversation was told",
  "in the turn",
];

/** One subagent, and the parts of the host, each of which is started when its time has come. */
class Life {
  private readonly stopping = new AbortController();
  private readonly running: Promise<unknown>[] = [];
  readonly client: Client;

  constructor(
    private readonly place: Place,
    private readonly name: string,
    private readonly point: Point,
    private readonly token: string,
    readonly after: number,
  ) {
    this.client = place.server.client({ token });
  }

  async killAt(point: Point): Promise<void> {
    if (point !== this.point) return;
    const orders: PointOrders = { point, url: this.place.server.url, token: this.token, conversation: this.name, type: this.name, folder: this.place.server.folder, after: this.after };
    const program = fileURLToPath(new URL("./support/task_tool_point.js", import.meta.url));
    const child = new WorkerProcess(spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: ["ignore", "pipe", "inherit"] }));
    await eventually(() => child.lines.includes("there"), point, BOUND_MS);
    await child.close();
    const lease = child.lines.find((line) => line.startsWith("lease "));
    if (lease) await this.client.conversation(this.name).releaseConsumer(lease.slice(6));
  }

  start(running: Promise<unknown>): void {
    this.running.push(running);
  }

  work(worker: Worker): void {
    this.stopping.signal.addEventListener("abort", () => void worker.stop());
    this.start(worker.run({ signals: false }));
  }

  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  async end(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.running);
  }
}

async function live(place: Place, point: Point, name: string, token: string): Promise<void> {
  const { seq } = await place.server.client({ token }).call<{ seq: number }>("GET", "/v1/events/last");
  const life = new Life(place, name, point, token, seq);
  const { client } = life;
  const kill = (at: Point): Promise<void> => life.killAt(at);
  const tool = new TaskTool({ client, conversation: name, scratchDir: `${place.server.folder}/scratch`, runNow: async () => undefined });
  await kill("before the answer to the call");
  await kill("after the answer to the call");
  const { task_id } = await tool.run({ subagent_type: name, prompt: "p", description: "d", tool_call_id: name, persist: true });
  await kill("in the run");
  life.work(new Worker(client).handle(name, () => "done"));
  await client.task(task_id).result({ timeoutMs: BOUND_MS });
  await kill("before the notification");
  await kill("after the notification");
  life.start(new Notifier(client, { mark: markAt(life.after) }).run({ signal: life.signal }));
  await kill("before the conversation is told");
  await kill("after the conversation was told");
  life.work(notificationWorker(client, { conversation: name, owner: "default" }, intoConversation(client)));
  const kept = (): Promise<number> => client.conversation(name).show().then(({ items }) => items.length, () => 0);
  await eventually(kept, "the conversation is told", BOUND_MS);
  await kill("in the turn");
  // Whatever is on its way has come when the queue of notifications is empty.
  const isQuiet = async (): Promise<boolean> => {
    const { waiting, running } = await client.call<{ waiting: number; running: number }>("POST", "/v1/backlog", { serves: [{ queue: `conversation.${name}` }] }, { repeatable: true });
    return waiting + running === 0;
  };
  await eventually(isQuiet, "all notifications have been told", BOUND_MS);
  const queue = await QueueRuntime.open({ client, conversation: name, redeliver: true });
  const batch = queue.tryDequeue(null);
  assert.equal(batch?.items.length, 1, `${point}: one notification`);
  queue.ack(batch?.batchId as string);
  assert.equal(queue.tryDequeue(null), null, `${point}: and no more`);
  await queue.close(BOUND_MS);
  assert.equal(await kept(), 0);
  await life.end();
  await tool.close();
}

onEveryStore("the Task tool killed at a point", (place) => {
  for (const point of POINTS) {
    it(`${point}: ${kills} times`, { timeout: 60_000 + kills * 30_000 }, async () => {
      const token = place.server.token("admin");
      const names = Array.from({ length: kills }, (_, i) => `${point.replaceAll(" ", "-")}-${i}`);
      const lives = async (): Promise<void> => {
        for (let name = names.shift(); name !== undefined; name = names.shift()) await live(place, point, name, token);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, lives));
    });
  }
});

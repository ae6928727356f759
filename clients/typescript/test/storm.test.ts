/**
 * Workers and server are killed at random under load: no task is lost, and each ends once. DROVER_STORM_KILLS and DROVER_STORM_TASKS make it
 * longer; DROVER_STORM_SEED repeats one.
 */

import assert from "node:assert/strict";
import { it } from "node:test";
import type { Client, wire } from "drover-client";
import { WorkerProcess } from "./support/child.js";
import type { TestServer } from "./support/server.js";
import { onEveryStore } from "./support/suite.js";
import { eventually } from "./support/wait.js";

const kills = Number(process.env["DROVER_STORM_KILLS"] ?? 6);
const tasks = Number(process.env["DROVER_STORM_TASKS"] ?? 600);
const seed = Number(process.env["DROVER_STORM_SEED"] ?? Date.now() % 1_000_000);
const WORKERS = 3;

/** Mulberry32: small, and the same everywhere. */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function startWorker(server: TestServer, token: string): WorkerProcess {
  const options = { concurrency: 20, leaseMs: 3_000, heartbeatMs: 500 };
  return WorkerProcess.start({ url: server.url, token, type: "storm", options, handler: "soon" });
}

/** How often each task has completed, and how many runs were lost, from the event log. */
async function readEvents(client: Client): Promise<{ completions: Map<string, number>; stalls: number }> {
  const completions = new Map<string, number>();
  let stalls = 0;
  for (let after = 0; ; ) {
    const page = await client.call<wire.ListEventsAnswer>("GET", `/v1/events?after=${after}&limit=1000`);
    for (const { name, task_id } of page.events) {
      if (name === "task.stalled") stalls += 1;
      if (name === "task.completed" && task_id) completions.set(task_id, (completions.get(task_id) ?? 0) + 1);
    }
    if (page.events.length === 0) return { completions, stalls };
    after = page.next;
  }
}

onEveryStore("a storm", (place) => {
  it(`of ${kills} kills loses none of ${tasks} tasks (seed ${seed})`, { timeout: 60_000 + kills * 10_000 }, async (context) => {
    const { server } = place;
    const random = randomFrom(seed);
    const client = server.client();
    const token = server.token("worker");
    const workers = Array.from({ length: WORKERS }, () => startWorker(server, token));
    const batch = Math.ceil(tasks / (kills + 1));
    const ids: string[] = [];
    const enqueue = async (): Promise<void> => {
      const n = Math.min(batch, tasks - ids.length);
      const made = await client.enqueueMany(Array.from({ length: n }, () => ({ type: "storm", max_stalls: 1_000, max_attempts: 1_000 })));
      ids.push(...made.map(({ id }) => id));
    };
    try {
      for (let kill = 0; kill < kills; kill += 1) {
        const isOfServer = random() < 0.3;
        const victim = Math.floor(random() * WORKERS);
        const before = workers[victim] as WorkerProcess;
        await before.says("ready");
        const began = before.lines.length;
        const enqueuing = enqueue();
        if (isOfServer) {
          await server.down("SIGKILL");
          await server.up();
        } else {
          // In the middle of its work, unless the others were faster.
          await eventually(() => before.lines.length > began + 3, "it works", 1_000).catch(() => undefined);
          await before.close();
          workers[victim] = startWorker(server, token);
        }
        await enqueuing;
      }
      while (ids.length < tasks) await enqueue();
      const isDone = async (): Promise<boolean> => {
        const { waiting, running } = await client.call<wire.Backlog>("POST", "/v1/backlog", { serves: [{ queue: "storm" }] }, { repeatable: true });
        return waiting + running === 0;
      };
      await eventually(isDone, "all tasks have ended", 60_000 + kills * 1_000);
      const { completions, stalls } = await readEvents(client);
      assert.equal(ids.length, tasks);
      assert.deepEqual(ids.filter((id) => completions.get(id) !== 1), []);
      assert.equal(completions.size, tasks);
      assert.ok(stalls > 0, "no run was interrupted: the storm proves nothing");
      context.diagnostic(`${stalls} runs were interrupted`);
    } finally {
      await Promise.all(workers.map((worker) => worker.close()));
    }
  });
});

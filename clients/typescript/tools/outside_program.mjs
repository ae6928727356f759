/** Run outside the tree, by each runtime: what a user's first program does, and what runtimes differ in. */

import assert from "node:assert/strict";
import { Client, TaskFailed, taskType, Worker } from "drover-client";

const double = taskType("double", { max_attempts: 1 });
const client = new Client();
const worker = new Worker(client, { concurrency: 20, leaseMs: 3_000, heartbeatMs: 200 })
  .handle(double, (n) => n * 2)
  .handle("blocking", (_payload, { signal }) => {
    // Two leases long, neither timers nor answers are served: only a thread of its own can renew.
    for (const end = performance.now() + 6_000; performance.now() < end; );
    return signal.aborted;
  })
  .handle("endless", (_payload, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))))
  .handle("broken", () => {
    throw new Error("no");
  });
const working = worker.run({ signals: false });

const handles = await client.enqueueMany(Array.from({ length: 200 }, (_, n) => double.with(n)));
assert.deepEqual(await Promise.all(handles.map((handle) => handle.result({ timeoutMs: 30_000 }))), handles.map((_, n) => n * 2));

const blocking = await client.enqueue("blocking");
assert.equal(await blocking.result({ timeoutMs: 30_000 }), false);
assert.equal((await blocking.get()).run, 1);

const endless = await client.enqueue("endless");
for await (const event of client.events({ after: 0, task: endless.id })) {
  if (event.state === "running") break;
}
await endless.cancel();
assert.equal((await endless.ended({ timeoutMs: 30_000 })).state, "cancelled");

const broken = await client.enqueue("broken", null, { max_attempts: 1 });
await assert.rejects(broken.result({ timeoutMs: 30_000 }), TaskFailed);

const socket = new Client({ url: process.env.DROVER_SOCKET });
assert.equal((await socket.server()).role, "operator");
const fetching = new Client({ fetch: (url, init) => fetch(url, init) });
assert.equal(await fetching.task(blocking.id).result(), false);

await worker.stop();
const report = await working;
assert.deepEqual([report.completed, report.failed, report.cancelled, report.lost], [201, 1, 1, 0]);
for (const one of [client, socket, fetching]) one.close();
console.log("ok");
process.exit(0);

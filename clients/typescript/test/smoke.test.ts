/** The shortest proof that the package works: a typed task from end to end on each store. Part of `./dev test`. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TaskError, TaskFailed, taskType, Worker } from "drover-client";
import { type StoreKind, stores, TestServer } from "./support/server.js";

interface Size {
  width: number;
}
const double = taskType<Size, Size>("double", { max_attempts: 1 });
const refuse = taskType<undefined, void>("refuse");

async function endToEnd(kind: StoreKind): Promise<void> {
  const server = await TestServer.start(kind);
  try {
    const client = server.client();
    const worker = new Worker(client, { concurrency: 10 })
      .handle(double, ({ width }) => ({ width: width * 2 }))
      .handle(refuse, () => {
        throw new TaskError("invalid", "no");
      });
    const working = worker.run({ signals: false });
    const handle = await client.enqueue(double, { width: 21 });
    assert.deepEqual(await handle.result({ timeoutMs: 10_000 }), { width: 42 });
    const refused = await client.enqueue(refuse);
    await assert.rejects(refused.result({ timeoutMs: 10_000 }), (error) => error instanceof TaskFailed && error.task.error?.class === "invalid");
    const many = await client.enqueueMany(Array.from({ length: 200 }, (_, width) => double.with({ width })));
    const results = await Promise.all(many.map((one) => one.result({ timeoutMs: 10_000 })));
    assert.deepEqual(results[199], { width: 398 });
    await worker.stop();
    const report = await working;
    assert.deepEqual([report.completed, report.failed, report.lost], [201, 1, 0]);
  } finally {
    await server.close();
  }
}

describe("smoke", () => {
  for (const kind of stores) it(`runs typed tasks on ${kind}`, { timeout: 20_000 }, () => endToEnd(kind));
});

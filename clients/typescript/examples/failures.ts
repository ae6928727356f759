/** What a handler throws decides what happens next. */

import { Client, TaskError, TaskFailed, taskType, Worker } from "drover-client";

const call = taskType<{ url: string }, string>("call", { max_attempts: 3, retry: "fixed:10ms" });
const client = new Client();

const worker = new Worker(client).handle(call, ({ url }, { task, earlierRuns }) => {
  if (url === "busy") {
    // Does not count as an attempt: the provider is busy, the task is not wrong.
    if (earlierRuns.length < 2) throw new TaskError("rate_limited", "429 from the provider", { retryAfterMs: 20 });
    return `called after ${earlierRuns.length} earlier runs`;
  }
  if (url === "flaky") {
    // Any other error is `agent_error`: tried again until max_attempts.
    if (task.attempts < 2) throw new Error("connection reset");
    return "called at the second attempt";
  }
  throw new TaskError("invalid", `no such address: ${url}`); // not tried again
});
const working = worker.run();

for (const url of ["busy", "flaky", "nowhere"]) {
  const handle = await client.enqueue(call, { url });
  try {
    console.log(`${url}: ${await handle.result({ timeoutMs: 60_000 })}`);
  } catch (error) {
    if (!(error instanceof TaskFailed)) throw error;
    console.log(`${url}: failed as ${error.task.error?.class}: ${error.task.error?.message}`);
  }
}

await worker.stop();
await working;

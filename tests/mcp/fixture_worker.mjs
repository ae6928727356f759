/** The handlers behind the fixture tools: ordinary tasks of an ordinary worker. `node fixture_worker.mjs CLIENT_FOLDER`; DROVER_STORE and DROVER_TOKEN. */

import { setTimeout as after } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const { Client, TaskError, Worker } = await import(pathToFileURL(`${process.argv[2]}/dist/index.js`).href);

async function stepwise(_payload, context) {
  for (const percent of [0, 50, 100]) {
    await context.progress(percent);
    await after(150);
  }
  return "done";
}

function fail(message) {
  throw new TaskError("invalid", message);
}

const worker = new Worker(new Client(), { concurrency: 20 })
  .handle("test_simple_text", () => "This is a simple text response for testing.")
  .handle("test_error_handling", () => fail("This tool intentionally returns an error for testing"))
  .handle("test_tool_with_progress", stepwise)
  .handle("greet", ({ name }) => `Hello, ${name ?? "World"}!`)
  .handle("slow_compute", ({ seconds }, { signal }) => after((seconds ?? 1) * 1_000, "computed", { signal }))
  .handle("failing_job", () => fail("the job failed"))
  .handle("protocol_error_job", () => fail("a protocol error"));
console.log("ready");
await worker.run();

/** docs/guide/from-bullmq.md: the program of bench/bullmq_before.mjs with Drover. */

import { Client, TaskError, TaskFailed, taskType, Worker } from "drover-client";

const client = new Client();
const fetchCity = taskType<string, { city: string; letters: number }>("fetch", { max_attempts: 3, retry: "exponential:100ms,2,60s" });
const report = taskType<undefined, number>("report");

const worker = new Worker(client, { concurrency: 5 })
  .handle(fetchCity, async (city, context) => {
    if (city === "Atlantis") throw new TaskError("invalid", "no such city");
    if (city === "Oslo" && context.earlierRuns.length === 0) throw new Error("try again");
    return { city, letters: city.length };
  })
  .handle(report, async (_payload, context) => {
    const found = await context.parents();
    return found.reduce((sum, { result }) => sum + (result as { letters: number }).letters, 0);
  });
const working = worker.run();

const cities = ["Rome", "Oslo", "Lima"];
const tasks = cities.map((city) => fetchCity.with(city, { ref: city }));
const handles = await client.enqueueMany([...tasks, report.with(undefined, { depends_on: cities.map((city) => `@${city}`) })]);
console.log(await handles.at(-1)?.result({ timeoutMs: 60_000 }));
const atlantis = await client.enqueue(fetchCity, "Atlantis", { priority: "high" });
try {
  await atlantis.result({ timeoutMs: 60_000 });
} catch (error) {
  if (error instanceof TaskFailed) console.log("failed:", error.task.error?.message);
}
await worker.stop();
await working;

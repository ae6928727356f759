/** docs/guide/from-bullmq.md: three jobs in parallel, one of which fails once, a job that joins them, and one that cannot succeed. */

import { FlowProducer, Queue, QueueEvents, UnrecoverableError, Worker } from "bullmq";

const connection = { host: "127.0.0.1", port: Number(process.env.REDIS_PORT) };
const retries = { attempts: 3, backoff: { type: "exponential", delay: 100 } };

const fetchWorker = new Worker("fetch", async (job) => {
  if (job.data === "Atlantis") throw new UnrecoverableError("no such city");
  if (job.data === "Oslo" && job.attemptsMade === 0) throw new Error("try again");
  return { city: job.data, letters: job.data.length };
}, { connection, concurrency: 5 });
const reportWorker = new Worker("report", async (job) => {
  const found = Object.values(await job.getChildrenValues());
  return found.reduce((sum, { letters }) => sum + letters, 0);
}, { connection });

const reportEvents = new QueueEvents("report", { connection });
const fetchEvents = new QueueEvents("fetch", { connection });
await Promise.all([reportEvents.waitUntilReady(), fetchEvents.waitUntilReady()]);
const flows = new FlowProducer({ connection });
const children = ["Rome", "Oslo", "Lima"].map((city) => ({ name: "fetch", queueName: "fetch", data: city, opts: retries }));
const { job } = await flows.add({ name: "report", queueName: "report", data: null, children });
console.log(await job.waitUntilFinished(reportEvents, 60_000));
const queue = new Queue("fetch", { connection });
const atlantis = await queue.add("fetch", "Atlantis", { ...retries, priority: 1 });
try {
  await atlantis.waitUntilFinished(fetchEvents, 60_000);
} catch (error) {
  console.log("failed:", error.message);
}
await Promise.all([fetchWorker, reportWorker, reportEvents, fetchEvents, flows, queue].map((one) => one.close()));

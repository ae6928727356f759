// bee-queue: a small queue on Redis. Results are not kept by default, and are not here.
import Queue from "bee-queue";
import { latencies, marker, payload, run } from "./peer.mjs";

const kConcurrency = 100;

async function open(path, isWorker) {
  const queue = new Queue("bench", { redis: { path }, isWorker, getEvents: false, sendEvents: false, storeJobs: false });
  await queue.ready();
  return queue;
}

run({
  enqueue: async (path, count) => {
    const queue = await open(path, false);
    return async () => {
      for (let i = 0; i < count; i++) await queue.createJob(payload).save();
    };
  },
  bulk: async (path, count) => {
    const queue = await open(path, false);
    return async () => {
      for (let done = 0; done < count; done += 1000) {
        const group = Array.from({ length: Math.min(1000, count - done) }, () => queue.createJob(payload));
        const errors = await queue.saveAll(group);
        if (errors.size > 0) throw errors.values().next().value;
      }
    };
  },
  drain: async (path, count) => {
    const queue = await open(path, true);
    return () =>
      new Promise((resolve) => {
        let left = count;
        queue.on("succeeded", () => --left === 0 && resolve());
        queue.process(kConcurrency, async () => 1);
      });
  },
  latency: async (path, count) => {
    const queue = await open(path, true);
    const { next, mark } = marker();
    queue.process(1, async () => mark());
    return latencies(count, () => queue.createJob(payload).save(), next);
  },
});

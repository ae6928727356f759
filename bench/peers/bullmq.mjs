// BullMQ: the queue on Redis with priorities, retries and results that Drover is most often compared with.
import { Queue, Worker } from "bullmq";
import { latencies, marker, payload, run } from "./peer.mjs";

const kConcurrency = 100;

async function openQueue(path) {
  const queue = new Queue("bench", { connection: { path } });
  await queue.waitUntilReady();
  return queue;
}

async function openWorker(path, handler, concurrency) {
  const connection = { path, maxRetriesPerRequest: null };
  const worker = new Worker("bench", handler, { connection, concurrency, autorun: false });
  await worker.waitUntilReady();
  return worker;
}

run({
  enqueue: async (path, count) => {
    const queue = await openQueue(path);
    return async () => {
      for (let i = 0; i < count; i++) await queue.add("bench", payload);
    };
  },
  bulk: async (path, count) => {
    const queue = await openQueue(path);
    return async () => {
      for (let done = 0; done < count; done += 1000) {
        await queue.addBulk(
          Array.from({ length: Math.min(1000, count - done) }, () => ({ name: "bench", data: payload })),
        );
      }
    };
  },
  drain: async (path, count) => {
    const worker = await openWorker(path, async () => 1, kConcurrency);
    return () =>
      new Promise((resolve) => {
        let left = count;
        worker.on("completed", () => --left === 0 && resolve());
        worker.run();
      });
  },
  latency: async (path, count) => {
    const queue = await openQueue(path);
    const { next, mark } = marker();
    const worker = await openWorker(path, async () => mark(), 1);
    worker.run();
    return latencies(count, () => queue.add("bench", payload), next);
  },
});

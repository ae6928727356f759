/** A long task that can stop at any time: it saves how far it is, and the next run goes on from there. */

import { Client, taskType, Worker } from "drover-client";

const copy = taskType<{ files: number }, string>("copy");
const client = new Client();

function makeWorker(): Worker {
  return new Worker(client).handle(copy, async ({ files }, context) => {
    const from = (context.checkpointValue as number | undefined) ?? 0;
    console.log(`starts at file ${from}`);
    for (let file = from; file < files; file += 1) {
      await copyOne(file);
      await context.checkpoint(file + 1);
      await context.progress((100 * (file + 1)) / files);
      if (file === 1) void first.stop(); // as SIGTERM does, when a new version is deployed
      context.draining.throwIfAborted();
    }
    return `${files} files`;
  });
}

async function copyOne(file: number): Promise<void> {
  console.log(`copies file ${file}`);
}

const handle = await client.enqueue(copy, { files: 4 });
const first = makeWorker();
await first.run();

const second = makeWorker();
const working = second.run();
console.log(await handle.result({ timeoutMs: 60_000 }));
console.log(`${(await handle.get()).attempts} attempt`);
await second.stop();
await working;

/** A task that spawns children, gives its slot back while they run, and uses their results. */

import { Client, taskType, Worker } from "drover-client";

const count = taskType<{ page: string }, { words: number }>("count");
const report = taskType<{ pages: string[] }, { words: number }>("report");
const client = new Client();

const worker = new Worker(client, { concurrency: 1 })
  .handle(count, ({ page }) => ({ words: page.split(" ").length }))
  .handle(report, async ({ pages }, context) => {
    const counted = await context.parents();
    if (counted.length === 0) {
      // The key makes a rerun get the same children instead of more.
      await context.spawn(pages.map((page) => count.with({ page })), "pages");
      context.waitChildren();
      return { words: 0 }; // not used: the task runs again when its children are done
    }
    const words = counted.map(({ result }) => (result as { words: number }).words);
    return { words: words.reduce((sum, some) => sum + some, 0) };
  });
const working = worker.run();

const handle = await client.enqueue(report, { pages: ["one two", "three", "four five six"] });
console.log(`${(await handle.result({ timeoutMs: 60_000 })).words} words`);

await worker.stop();
const { completed, suspended } = await working;
console.log(`${completed} runs completed, ${suspended} waited for children`);

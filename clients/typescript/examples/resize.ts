/** A typed task from end to end: declare it, work on it, wait for its result. */

import { Client, taskType, Worker } from "drover-client";

interface Resize {
  image: string;
  width: number;
}
interface Image {
  image: string;
  bytes: number;
}
const resize = taskType<Resize, Image>("resize", { max_attempts: 3, timeout: "1m" });

const client = new Client(); // DROVER_STORE and DROVER_TOKEN say where, and who we are

const worker = new Worker(client, { concurrency: 8 }).handle(resize, async ({ image, width }, context) => {
  await context.progress(50, `resizing ${image}`);
  return { image: image.replace(".png", `-${width}.png`), bytes: width * 100 };
});
const working = worker.run();

const handle = await client.enqueue(resize, { image: "cat.png", width: 640 });
const { image, bytes } = await handle.result({ timeoutMs: 60_000 });
console.log(image, bytes);

await worker.stop();
console.log(await working);

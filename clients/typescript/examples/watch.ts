/** Follows what happens to one task, live. */

import { Client, Worker } from "drover-client";

const client = new Client();
const handle = await client.enqueue("greet", { name: "Ada" });

const worker = new Worker(client).handle("greet", ({ name }: { name: string }, context) => {
  void context.progress(50, "thinking of a greeting");
  return `Hello, ${name}!`;
});
const working = worker.run();

for await (const event of client.events({ after: 0, task: handle.id })) {
  if (event.kind === "gap") throw new Error("events are missing");
  console.log(`${event.name}${event.state ? ` (${event.state})` : ""}`);
  if (event.state === "completed") break;
}
console.log(await handle.result());

await worker.stop();
await working;

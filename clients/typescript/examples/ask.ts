/** A handler that asks a person, and holds no slot while nobody answers. */

import { Client, taskType, Worker } from "drover-client";

const deploy = taskType<{ version: string }, string>("deploy");
const client = new Client();

const worker = new Worker(client).handle(deploy, async ({ version }, context) => {
  const answer = await context.ask<string>(`Deploy ${version} to production?`, { options: ["yes", "no"], waitMs: 100 });
  return answer === "yes" ? `${version} is deployed` : `${version} stays where it is`;
});
const working = worker.run();

const handle = await client.enqueue(deploy, { version: "1.4" });
while ((await handle.get()).state !== "blocked") await new Promise((resolve) => setTimeout(resolve, 50));
// A person would run `drover question answer`, or use the dashboard.
for await (const { id, text } of client.questions({ task: handle.id, state: "open" })) {
  console.log(text);
  await client.question(id).answer("yes");
}
console.log(await handle.result({ timeoutMs: 60_000 }));

await worker.stop();
const { completed, suspended } = await working;
console.log(`${suspended} suspended, ${completed} completed`);
